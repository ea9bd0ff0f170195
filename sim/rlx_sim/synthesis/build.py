"""Builds an emitted hardware folder for its device and measures it (``rlx build``).

:data:`FPGA` is found through the entry-point group ``rlx.builders``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import DoesNotFitError, OutputError, SimulationError, ToolMissingError
from rlx.support.files.golden import read_golden
from rlx.support.files.outputs import read_manifest, write_folder
from rlx.support.files.scratch import work_folder
from rlx.support.parallel import IN_PROCESS
from rlx.support.steps import length_text, steps_of
from rlx_fpga.devices import DEFAULT_DEVICE
from rlx_fpga.devices import device as find_device
from rlx_fpga.packaging.netlist import counted_parts, instance_of
from rlx_fpga.packaging.synthesis import MAX_LINES, RESOURCES, synthesize
from rlx_sim.hardware.emitted_report import read_report
from rlx_sim.hardware.fpga import STALLED, design_sources
from rlx_sim.hardware.gates.models import FAMILIES
from rlx_sim.hardware.gates.run import BUILD_FRAMES, not_simulated, run_netlist
from rlx_sim.hardware.layers import layer_rows, rest_of
from rlx_sim.synthesis.nextpnr import find_nextpnr, placed
from rlx_sim.synthesis.placement import placement_svg, read_placed
from rlx_sim.synthesis.seeds import route_seeds
from rlx_sim.view import build_view

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rlx.support.files.outputs import Manifest
    from rlx.support.parallel import Workers
    from rlx.support.steps import Steps
    from rlx.support.text.tables import View
    from rlx_fpga.devices import FpgaDevice
    from rlx_sim.hardware.gates.run import NetlistRun
    from rlx_sim.synthesis.nextpnr import RoutedDesign

    Progress = Callable[[str], None]

TIMEOUT_S: Final = 3600.0
DEFAULT_SEEDS: Final = 3
DEFAULT_TARGET_MHZ: Final = 100.0
"""Target clock of place and route by default."""

SECONDS_PER_LUT: Final = {"ecp5": (0.0042, 0.024), "ice40": (0.0074, 0.0107)}
"""By family, the time that Yosys, and each seed of nextpnr, takes for a predicted LUT.

Processor time of the YoWASP wheels of Yosys 0.70 and nextpnr 0.11 for ``examples/digits``. ECP5: 14
and 76 s for 3,907 LUTs (engine), 38 and over 204 s for 8,781 (dataflow, harder to route).
iCE40: 19 and 27 s for 2,529 (engine).
"""

PICTURE: Final = "placement.svg"
"""Picture of a placement, in the folder that is kept."""

_LOCATIONS: Final = "placed_netlist.json"


@dataclass(frozen=True, slots=True)
class HardwareBuild:
    """Results of synthesis, place and route of a design.

    Attributes:
        device: The device that it was built for.
        top: Module whose cells were counted.
        cells: Cells by type, as Yosys counts them.
        resources: For each resource ``resource``, ``estimate`` (of the report), ``synthesis``,
            ``placed`` (nextpnr; with the four-pin wrapper) and ``available`` in the device.
        layers: For each layer ``layer``, ``op``, ``node`` (of the model), ``estimate`` and
            ``synthesis``, cells by resource; see ``rlx_sim.hardware.layers``.
        routed: Result of each seed; empty for a device without open-source place and route.
        interval: Cycles for each frame, from the report.
        problems: Resources or clock beyond the device or the limits.
        notes: Steps that were left out, with the tool for each, and warnings of Yosys.
        tools: Name and version of each tool used.
        placement: Name of the picture of the first placement, in the folder that is kept.
        netlist: Simulation of the mapped netlist; None if it was left out.
    """

    device: FpgaDevice
    top: str
    cells: Mapping[str, int]
    resources: Sequence[Mapping[str, Any]]
    routed: Sequence[RoutedDesign]
    interval: int | None
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    layers: Sequence[Mapping[str, Any]] = ()
    tools: Mapping[str, str] = field(default_factory=dict)
    placement: str | None = None
    netlist: NetlistRun | None = None

    @property
    def fmax_mhz(self) -> float | None:
        """Median over the seeds of the maximum clock; None without placement."""
        return _fmax(self.routed)

    def as_json(self) -> dict[str, Any]:
        """Return the results as one JSON object."""
        fmax = self.fmax_mhz
        frames = None if fmax is None or not self.interval else 1e6 * fmax / self.interval
        return {
            "target": FPGA.target,
            "device": self.device.name,
            "part": self.device.part,
            "top": self.top,
            "fmax_mhz": None if fmax is None else round(fmax, 2),
            "interval": self.interval,
            "frames_per_second": None if frames is None else round(frames, 1),
            "resources": [dict(row) for row in self.resources],
            "layers": [dict(row) for row in self.layers],
            "seeds": [
                {
                    "seed": one.seed,
                    "fmax_mhz": round(one.fmax_mhz, 2),
                    "longest": None if one.longest is None else one.longest.to_json(),
                }
                for one in self.routed
            ],
            "cells": dict(self.cells),
            "placement": self.placement,
            "netlist": None if self.netlist is None else self.netlist.as_json(),
            "problems": list(self.problems),
            "notes": list(self.notes),
            "tools": dict(sorted(self.tools.items())),
        }

    def view(self) -> View:
        """Return the view of the results; see ``rlx.targets.builder.view_of``."""
        return build_view(self.as_json())


class FpgaBuilder:
    """Synthesizes with Yosys, places and routes with nextpnr where the device has one."""

    target: Final = "fpga"

    def build(
        self,
        folder: Path,
        *,
        device: str | None = None,
        seeds: int = DEFAULT_SEEDS,
        clock_mhz: float | None = None,
        timeout_s: float = TIMEOUT_S,
        keep: Path | None = None,
        simulate: bool | None = None,
        progress: Progress | None = None,
        pool: Workers = IN_PROCESS,
    ) -> HardwareBuild:
        """Build the design in ``folder``; nothing is written into it.

        Args:
            folder: An output folder of ``rlx emit --target fpga``.
            device: Name of a device; None for the one that the folder was emitted for.
            seeds: Runs of place and route, from seed 1 on; 0 for synthesis only.
            clock_mhz: Target clock; a median below it is a problem. None for a target of
                :data:`DEFAULT_TARGET_MHZ` that may be missed.
            timeout_s: Wall-clock limit of each run of a tool.
            keep: Folder for netlist, reports, logs, a picture of the placement and ``build.json``,
                written at the end; an earlier one of rlx is replaced. None to delete them.
            simulate: Whether the mapped netlist is simulated on golden vectors; None if
                Verilator is there, and that takes at most
                :data:`rlx_sim.hardware.gates.run.MAX_SECONDS`, as predicted.
            progress: Called with a description of each step.
            pool: Takes the seeds.

        Raises:
            OutputError: The folder is not complete or of another target.
            UsageError: The device is unknown.
            ToolMissingError: Yosys or nextpnr is not installed.
            SimulationError: A tool failed, or the outputs of the netlist differ from those of the
                reference.
            TimeLimitError: A run took too long.
        """
        notify = steps_of(progress)
        _check_keep(keep, folder)
        manifest = _manifest(folder, self.target)
        name = device or str(manifest.producer.options.get("device", DEFAULT_DEVICE))
        target_device, report = find_device(name), read_report(folder)
        if target_device.pnr and seeds:
            find_nextpnr(target_device.pnr[0])  # fail before the synthesis, not after it
        with work_folder("build") as work:
            notify.expect(*_expected(target_device, report.get("lut", 0), seeds))
            synthesis = _synthesize_design(
                folder,
                report,
                target_device,
                work,
                timeout_s,
                notify,
                netlist=simulate is not False,
            )
            simulation = _simulate_netlist(
                folder, work, report, synthesis, target_device, simulate, timeout_s, notify
            )
            routed, problems = _route_seeds(
                synthesis,
                work,
                target_device,
                seeds,
                clock_mhz,
                timeout_s,
                notify,
                pool,
                drawn=keep is not None,
            )
            build = _summary(target_device, report, synthesis, routed, problems, simulation)
            if keep is not None:
                build = _with_picture(work, build, report)
                write_folder(keep, _kept(work, build), producer=manifest.producer, force=True)
        return build


FPGA: Final = FpgaBuilder()
"""Builder of ``fpga`` folders."""


def _expected(device: FpgaDevice, luts: int, seeds: int) -> tuple[float, str]:
    """Return the seconds that a build takes, 0 for families without measurements, and advice."""
    if device.family not in SECONDS_PER_LUT:
        return 0.0, ""
    synthesis, routing = (luts * seconds for seconds in SECONDS_PER_LUT[device.family])
    advice = "longer if the machine has other work"
    if seeds > 1:
        advice = f"{advice}; --seeds 1 takes {length_text(synthesis + routing)}"
    return synthesis + seeds * routing, advice


def _check_keep(keep: Path | None, folder: Path) -> None:
    """Refuse to replace the design with the results."""
    if keep is not None and keep.resolve() == folder.resolve():
        raise OutputError(
            "is the folder of the design, which the results would replace",
            where=str(keep),
            hint="choose another folder with -o",
        )


def _manifest(folder: Path, target: str) -> Manifest:
    manifest = read_manifest(folder)
    if manifest.producer.target != target:
        raise OutputError(
            f"was emitted for {manifest.producer.target}, not for {target}",
            where=str(folder),
            hint=f"emit the model again with --target {target}",
        )
    return manifest


def _available(device: FpgaDevice) -> dict[str, int]:
    return {"lut": device.lut, "ff": device.ff, "dsp": device.dsp, "bram": device.bram}


def _synthesize_design(
    folder: Path,
    report: Mapping[str, Any],
    device: FpgaDevice,
    work: Path,
    timeout_s: float,
    notify: Steps,
    *,
    netlist: bool,
) -> dict[str, Any]:
    """Map the design to ``device``; the netlists are left in ``work``."""
    notify(f"yosys: {device.name}")
    design = report["interface"]
    return synthesize(
        design_sources(folder), design["sources"], design["top"], device,
        layers=counted_parts(report, design), netlist=netlist, keep=work, timeout_s=timeout_s,
        show=notify.detail,
    )  # fmt: skip


def _simulate_netlist(
    folder: Path,
    work: Path,
    report: Mapping[str, Any],
    synthesis: Mapping[str, Any],
    device: FpgaDevice,
    simulate: bool | None,
    timeout_s: float,
    notify: Steps,
) -> tuple[NetlistRun | None, list[str]]:
    """Simulate the netlist in ``work``; return the results, or the reason for skipping it.

    Raises:
        SimulationError: The netlist differs from the reference.
    """
    if simulate is False:
        return None, []
    if not (folder / "golden").is_dir():
        return None, ["the netlist was not simulated: the folder holds no golden vectors"]
    reason = not_simulated(report, synthesis, device)
    if reason and not (simulate and device.family in FAMILIES):
        return None, [f"the netlist was not simulated: {reason}"]
    try:
        run = run_netlist(
            folder, work / f"{device.name}_netlist.json", report["interface"], device,
            read_golden(folder).first(BUILD_FRAMES), stalls=STALLED, timeout_s=timeout_s,
            notify=notify,
        )  # fmt: skip
    except ToolMissingError as e:
        if simulate:
            raise
        return None, [f"the netlist was not simulated: {e.message}: {e.hint}"]
    if run.wrong:
        first = run.wrong[0]
        raise SimulationError(
            f"the netlist for {device.name} differs from the reference:"
            f" {len(run.wrong)} of {run.inputs + run.stalled} frames differ, first frame"
            f" {first.frame}, output {first.output}, element {first.element}: expected"
            f" {first.expected}, got {first.actual}",
            where=run.name,
            hint="try another version of Yosys; see the runs: rlx verify FOLDER --netlist",
        )
    return run, []


def _overflows(synthesis: Mapping[str, Any], device: FpgaDevice) -> list[str]:
    """Return a line for each resource of which synthesis needs more than the device has."""
    return [
        f"{synthesis[name]} {name.upper()} needed, {device.name} has {available}"
        for name, available in _available(device).items()
        if synthesis[name] > available
    ]


def _route_seeds(
    synthesis: Mapping[str, Any],
    work: Path,
    device: FpgaDevice,
    seeds: int,
    clock_mhz: float | None,
    timeout_s: float,
    notify: Steps,
    pool: Workers,
    *,
    drawn: bool,
) -> tuple[list[RoutedDesign], list[str]]:
    """Place and route once for each seed; return the results, and the problems of the design.

    A design with more cells than the device is not placed.
    The netlist that the first one places is left in ``work`` if it is to be ``drawn``.
    """
    problems = _overflows(synthesis, device)
    if problems or not device.pnr or not seeds:
        return [], problems
    try:
        runs = route_seeds(
            work, device, seeds, pool, notify,
            target_mhz=DEFAULT_TARGET_MHZ if clock_mhz is None else clock_mhz,
            locations=_LOCATIONS if drawn else None, timeout_s=timeout_s,
        )  # fmt: skip
    except DoesNotFitError as e:
        return [], [e.message]
    return runs, _too_slow(runs, clock_mhz)


def _with_picture(work: Path, build: HardwareBuild, report: Mapping[str, Any]) -> HardwareBuild:
    """Replace the netlist that the first seed placed by a picture of it."""
    placed_netlist = work / _LOCATIONS
    if not build.routed or not placed_netlist.is_file():
        return build
    first, design = build.routed[0], report["interface"]
    title = f"{build.top} on {build.device.name}, seed {first.seed}: {first.fmax_mhz:.1f} MHz"
    (work / PICTURE).write_text(
        placement_svg(
            read_placed(placed_netlist),
            build.device,
            title=title,
            layers=counted_parts(report, design),
            rest=rest_of(report),
            captions={instance_of(row): row["name"] for row in report["layers"]},
        ),
        encoding="utf-8",
    )
    placed_netlist.unlink()
    return replace(build, placement=PICTURE)


def _fmax(routed: Sequence[RoutedDesign]) -> float | None:
    return median(one.fmax_mhz for one in routed) if routed else None


def _too_slow(routed: Sequence[RoutedDesign], clock_mhz: float | None) -> list[str]:
    fmax = _fmax(routed)
    if fmax is None or clock_mhz is None or fmax >= clock_mhz:
        return []
    return [f"expected {clock_mhz:g} MHz, reached {fmax:.2f} MHz (median of the seeds)"]


def _kept(work: Path, build: HardwareBuild) -> dict[str, bytes | str]:
    """Return the files that the tools wrote, and the result."""
    files: dict[str, bytes | str] = {path.name: path.read_bytes() for path in work.iterdir()}
    return files | {"build.json": json.dumps(build.as_json(), indent=2, sort_keys=True) + "\n"}


def _summary(
    device: FpgaDevice,
    report: Mapping[str, Any],
    synthesis: Mapping[str, Any],
    routed: Sequence[RoutedDesign],
    problems: Sequence[str],
    simulation: tuple[NetlistRun | None, Sequence[str]],
) -> HardwareBuild:
    """Return the results; ``simulation`` is that of the netlist, and why it was left out."""
    tool, _, version = str(synthesis["tool"]).partition(" ")
    tools = {tool: version}
    if routed:
        tools[device.pnr[0]] = find_nextpnr(device.pnr[0]).version
    return HardwareBuild(
        device=device,
        top=report["interface"]["top"],
        cells=synthesis["cells"],
        resources=_rows(device, report, synthesis, routed),
        routed=routed,
        interval=report.get("interval"),
        problems=tuple(problems),
        notes=(
            *simulation[1],
            *(f"yosys: {line}" for line in synthesis.get("warnings", ())[:MAX_LINES]),
            *(() if device.pnr else (_vendor_note(device),)),
        ),
        layers=layer_rows(report, synthesis, device.family),
        netlist=simulation[0],
        tools=tools,
    )


def _vendor_note(device: FpgaDevice) -> str:
    """Return the way to continue without open-source place and route."""
    return (
        f"place and route for {device.name} needs the vendor's tool: emit for the device"
        f" (--device {device.name}), then vivado -mode batch -source synth/vivado.tcl"
    )


def _rows(
    device: FpgaDevice,
    report: Mapping[str, Any],
    synthesis: Mapping[str, Any],
    routed: Sequence[RoutedDesign],
) -> list[dict[str, Any]]:
    """Return a row for each resource."""
    after = placed(routed[0].used, device.family) if routed else {}
    estimates = {"dsp": report.get("multipliers"), **report}
    available = _available(device)
    rows = [
        {
            "resource": name,
            "estimate": estimates.get(name),
            "synthesis": synthesis[name],
            "placed": after.get(name),
            "available": available.get(name),
        }
        for name in RESOURCES
    ]
    return [*rows, *_large_memories(device, report, synthesis)]


def _large_memories(
    device: FpgaDevice, report: Mapping[str, Any], synthesis: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the row of large memories, if the device has some."""
    if not device.spram:
        return []
    return [
        {
            "resource": "spram",
            "estimate": report.get("spram", 0),
            "synthesis": synthesis["cells"].get(device.spram_cell, 0),
            "placed": None,
            "available": device.spram,
        }
    ]
