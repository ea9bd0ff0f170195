"""Runs of simulators in parts: ranges of frames, which several workers simulate.

The ranges depend on the number of frames alone, so results do not depend on the number of workers.
A task holds the built program and the files that it reads: other machines need neither the folder
nor a compiler.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.support.files.scratch import work_folder
from rlx.support.parallel import Task
from rlx.support.steps import advance
from rlx_sim.firmware.host_c import HostC
from rlx_sim.protocol import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from rlx.support.files.golden import Golden
    from rlx.support.parallel import Workers
    from rlx_sim.firmware.firmware import Firmware
    from rlx_sim.firmware.qemu import Qemu
    from rlx_sim.firmware.unicorn_runner import Unicorn
    from rlx_sim.hardware.stream import StreamBench

    T = TypeVar("T")

MAX_PARTS: Final = 32

MIN_HOST_FRAMES: Final = 64
"""Frames of a part that runs on a processor itself."""

MIN_EMULATED_FRAMES: Final = 16
"""Frames of a part that runs on an emulated core."""

MIN_STREAMED_FRAMES: Final = 64
"""Frames of a part that a core gets one after the other, so that it works through many."""


@dataclass(frozen=True, slots=True)
class ProgramPart:
    """Part of a run of emitted C.

    Attributes:
        simulator: The simulator.
        program: Content of the program, or of the firmware's file.
        firmware: The firmware, its file aside; None for a program of this machine.
        vectors: The frames.
        timeout_s: Wall-clock limit.
    """

    simulator: HostC | Qemu | Unicorn
    program: bytes
    firmware: Firmware | None
    vectors: Golden
    timeout_s: float


@dataclass(frozen=True, slots=True)
class StreamPart:
    """Part of a run of a core in its C++ harness, without stalls.

    Attributes:
        bench: The simulator, its files aside.
        program: Content of its program.
        files: Content of the files that it reads, by relative path.
        vectors: The frames.
        timeout_s: Wall-clock limit.
    """

    bench: StreamBench
    program: bytes
    files: dict[str, bytes]
    vectors: Golden
    timeout_s: float


def run_program(
    simulator: HostC | Qemu | Unicorn,
    program: Path | Firmware,
    vectors: Golden,
    pool: Workers,
    *,
    timeout_s: float,
) -> Simulation:
    """Run a built program of ``simulator`` over all frames, in parts.

    Raises:
        SimulationError: The program stopped early, or violated its interface.
        TimeLimitError: A part took longer than ``timeout_s``.
        WorkerError: A part ended its workers.
    """
    host = isinstance(simulator, HostC)
    firmware = None if isinstance(program, Path) else program
    content = (program if isinstance(program, Path) else program.elf).read_bytes()

    def part(vectors: Golden) -> ProgramPart:
        return ProgramPart(simulator, content, firmware, vectors, timeout_s)

    smallest = MIN_HOST_FRAMES if host else MIN_EMULATED_FRAMES
    return _merged(pool, _simulate_program, simulator.name, part, vectors, smallest)


def run_stream(
    name: str, bench: StreamBench, vectors: Golden, pool: Workers, *, timeout_s: float
) -> Simulation:
    """Run a core over all frames without stalls, in parts; errors as of :func:`run_program`.

    Latency and interval are those of the first part.
    """
    content = bench.program.read_bytes()
    files = {name: (bench.folder / name).read_bytes() for name in bench.files}

    def part(vectors: Golden) -> StreamPart:
        return StreamPart(bench, content, files, vectors, timeout_s)

    return _merged(pool, _simulate_stream, name, part, vectors, MIN_STREAMED_FRAMES)


def frame_ranges(frames: int, smallest: int) -> list[tuple[int, int]]:
    """Return start and stop of parts, at most ``MAX_PARTS``, of at least ``smallest`` frames."""
    count = max(1, min(MAX_PARTS, frames // smallest))
    return list(pairwise(frames * index // count for index in range(count + 1)))


def _merged(
    pool: Workers,
    function: Callable[[T], Simulation],
    name: str,
    part: Callable[[Golden], T],
    vectors: Golden,
    smallest: int,
) -> Simulation:
    """Run the parts of a simulation, and report how many frames are done."""
    ranges = frame_ranges(vectors.frames, smallest)
    tasks = [
        Task(f"{name}, frames {start} to {stop - 1}", part(vectors.part(start, stop)))
        for start, stop in ranges
    ]
    finished = 0

    def count(index: int) -> None:
        nonlocal finished
        start, stop = ranges[index]
        finished += stop - start
        advance(finished, vectors.frames)

    return joined(pool.results(function, tasks, count))


def joined(parts: Sequence[Simulation]) -> Simulation:
    """Return the results of a run in parts as those of one run."""
    counts = [part.instructions for part in parts]
    stacks = [part.stack_bytes for part in parts if part.stack_bytes is not None]
    return Simulation(
        outputs=tuple(map(np.concatenate, zip(*(p.outputs for p in parts), strict=True))),
        instructions=None if None in counts else tuple(n for part in counts for n in part or ()),
        stack_bytes=max(stacks, default=None),
        latency=parts[0].latency,
        interval=parts[0].interval,
        log=parts[0].log,
    )


def _simulate_program(part: ProgramPart) -> Simulation:
    with work_folder("part") as work:
        path = _written(work / "program", part.program)
        if isinstance(part.simulator, HostC):
            return part.simulator.run(path, part.vectors, work, timeout_s=part.timeout_s)
        assert part.firmware is not None
        firmware = replace(part.firmware, elf=path)
        return part.simulator.run(firmware, part.vectors, work, timeout_s=part.timeout_s)


def _simulate_stream(part: StreamPart) -> Simulation:
    with work_folder("part") as work:
        for name, content in part.files.items():
            _written(work / name, content)
        bench = replace(part.bench, program=_written(work / "program", part.program), folder=work)
        run = bench.run(part.vectors.inputs, timeout_s=part.timeout_s)
    return Simulation(run.outputs, latency=run.latency, interval=run.interval, log=run.log)


def _written(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o700)
    return path
