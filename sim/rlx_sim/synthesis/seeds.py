"""Place and route of one netlist with several seeds, which several workers take.

Tests: tests/sim/synthesis/test_build.py
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rlx.support.files.scratch import work_folder
from rlx.support.parallel import IN_PROCESS, Task
from rlx.support.steps import advance
from rlx_sim.synthesis.nextpnr import RoutedDesign, place_and_route

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.support.parallel import Workers
    from rlx.support.steps import Steps
    from rlx_fpga.devices import FpgaDevice


@dataclass(frozen=True, slots=True)
class SeedTask:
    """Place and route with one seed.

    Attributes:
        netlist: Content of the netlist's file.
        device: Device that it is placed in.
        seed: Seed of the placement.
        target_mhz: Clock that nextpnr optimizes for.
        locations: File for the placed netlist; None for none.
        timeout_s: Wall-clock limit.
    """

    netlist: bytes
    device: FpgaDevice
    seed: int
    target_mhz: float
    locations: str | None
    timeout_s: float


@dataclass(frozen=True, slots=True)
class SeedResult:
    """Results of one seed.

    Attributes:
        routed: The placed and routed design.
        files: Content of the files that nextpnr wrote, by name.
    """

    routed: RoutedDesign
    files: dict[str, bytes]


def route_seeds(
    work: Path,
    device: FpgaDevice,
    seeds: int,
    pool: Workers,
    notify: Steps,
    *,
    target_mhz: float,
    locations: str | None,
    timeout_s: float,
) -> list[RoutedDesign]:
    """Place and route ``<device>.json`` of ``work`` with the seeds from 1 on.

    Args:
        work: Folder of the netlist; reports and logs are written to it.
        device: Device that the netlist is placed in.
        seeds: Number of seeds.
        pool: Takes the seeds.
        notify: Called with a description of each step.
        target_mhz: Clock that nextpnr optimizes for.
        locations: File in ``work`` for the netlist that the first seed places; None for none.
        timeout_s: Wall-clock limit of each seed.

    Raises:
        DoesNotFitError: The device has too few cells of a kind.
        RlxError: nextpnr is missing, failed or took too long; or a seed ended its workers.
    """
    netlist = (work / f"{device.name}.json").read_bytes()
    tasks = [
        SeedTask(netlist, device, seed, target_mhz, locations if seed == 1 else None, timeout_s)
        for seed in range(1, seeds + 1)
    ]
    results = _here(tasks, notify) if pool is IN_PROCESS else _elsewhere(tasks, pool, notify)
    for result in results:
        for name, content in result.files.items():
            (work / name).write_bytes(content)
    return [result.routed for result in results]


def _here(tasks: list[SeedTask], notify: Steps) -> list[SeedResult]:
    results = []
    for task in tasks:
        notify(f"{task.device.pnr[0]}: seed {task.seed} of {len(tasks)}")
        results.append(_routed(task, notify.detail))
    return results


def _elsewhere(tasks: list[SeedTask], pool: Workers, notify: Steps) -> list[SeedResult]:
    name, finished = tasks[0].device.pnr[0], 0
    notify(f"{name}: {len(tasks)} seeds")

    def count(index: int) -> None:
        nonlocal finished
        del index
        finished += 1
        advance(finished, len(tasks))

    named = [Task(f"{name}, seed {task.seed}", task) for task in tasks]
    return pool.results(_routed, named, count)


def _routed(task: SeedTask, show: Callable[[str], None] | None = None) -> SeedResult:
    with work_folder("seed") as work:
        netlist = work / f"{task.device.name}.json"
        netlist.write_bytes(task.netlist)
        routed = place_and_route(
            work,
            task.device,
            seed=task.seed,
            target_mhz=task.target_mhz,
            locations=None if task.locations is None else Path(task.locations),
            timeout_s=task.timeout_s,
            show=show,
        )
        files = {path.name: path.read_bytes() for path in work.iterdir() if path != netlist}
    return SeedResult(routed, files)
