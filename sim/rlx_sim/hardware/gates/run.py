"""Runs a mapped netlist on golden vectors, with and without pauses, and compares every output.

The netlist replaces the design in its own C++ harness under Verilator, so beats, protocol and
cycles are checked as for the source.

Tests: tests/sim/hardware/gates/test_netlists.py
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rlx.support.files.scratch import work_folder
from rlx.support.parallel import IN_PROCESS
from rlx.support.steps import length_text
from rlx.support.text.units import counted
from rlx_sim.hardware.gates.models import FAMILIES
from rlx_sim.hardware.gates.netlist import read_netlist
from rlx_sim.hardware.gates.verilog import netlist_verilog
from rlx_sim.hardware.plain import plain_folder
from rlx_sim.hardware.stream import StreamBench
from rlx_sim.parts import run_stream
from rlx_sim.protocol import Simulation, compare
from rlx_sim.seconds import Seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rlx.support.files.golden import Golden
    from rlx.support.parallel import Workers
    from rlx.support.steps import Steps
    from rlx_fpga.devices import FpgaDevice
    from rlx_sim.hardware.stream import Stalls, StreamRun
    from rlx_sim.protocol import Mismatch

MAX_SECONDS: Final = 240.0
"""Time of a simulation that ``rlx build`` makes by default, as predicted."""

STALLED_FRAMES: Final = 2
"""Frames of the run with pauses."""

BUILD_FRAMES: Final = 4
"""Frames that ``rlx build`` simulates without pauses."""

_SECONDS: Final = (12.0, 0.006, 12e-9)
"""Processor time of a simulation, of each cell, and of each cell in each cycle.

Verilator 5.48 and g++ 12 without optimization, of netlists of 1,700 to 23,000 cells.
"""

_OPTIONS: Final = ("--output-split", "4000", "-Wno-lint", "-Wno-style")
"""Small files compile on all processors; mismatched widths are normal in a netlist."""


@dataclass(frozen=True, slots=True)
class NetlistRun:
    """Results of the simulation of a netlist.

    Attributes:
        device: Device that the design was mapped to.
        cells: Instances in the netlist.
        inputs: Frames without pauses.
        wrong: The first mismatch of each wrong frame, of both runs.
        latency: Cycles from the first input to the last output beat.
        interval: Cycles between the last two frames; None for one frame.
        stalled: Frames with pauses, after a reset in mid-frame.
    """

    device: FpgaDevice
    cells: int
    inputs: int
    wrong: tuple[Mismatch, ...]
    latency: int | None
    interval: int | None
    stalled: int

    @property
    def name(self) -> str:
        """Name of the platform in tables."""
        return platform(self.device)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each of the two runs."""
        figures = {"latency": self.latency, "interval": self.interval}
        return [
            {"simulation": self.name, **self._equal(self.name, self.inputs), **figures},
            {
                "simulation": _stalled(self.name),
                **self._equal(_stalled(self.name), self.stalled),
                **dict.fromkeys(figures),
            },
        ]

    def as_json(self) -> dict[str, Any]:
        """Return the results as one JSON object."""
        return {
            "device": self.device.name,
            "cells": self.cells,
            **self._equal(self.name, self.inputs),
            "latency": self.latency,
            "interval": self.interval,
            "stalled": self._equal(_stalled(self.name), self.stalled),
        }

    def mismatches(self) -> list[dict[str, Any]]:
        """Return the mismatches as JSON objects."""
        return [asdict(one) for one in self.wrong]

    def _equal(self, name: str, frames: int) -> dict[str, int]:
        wrong = sum(one.simulator == name for one in self.wrong)
        return {"inputs": frames, "equal": frames - wrong}


def platform(device: FpgaDevice) -> str:
    """Return the name of a netlist for a device in tables, as ``netlist, ECP5``."""
    return f"netlist, {FAMILIES.get(device.family, device.family)}"


def _stalled(name: str) -> str:
    return f"{name}, pauses and a reset"


def not_simulated(
    report: Mapping[str, Any], synthesis: Mapping[str, Any], device: FpgaDevice
) -> str:
    """Return the reason why a netlist is not simulated by default; empty if it is.

    Args:
        report: ``report.json`` of the design.
        synthesis: Figures of the synthesis, with its counts of cells.
        device: Device that it was mapped to.
    """
    if device.family not in FAMILIES:
        return f"Yosys has no models of the cells of {device.name}"
    cells, interval = sum(synthesis["cells"].values()), report.get("interval") or 0
    once, each, each_cycle = _SECONDS
    cycles = interval * (BUILD_FRAMES + 3 * STALLED_FRAMES)
    seconds = once + cells * (each + cycles * each_cycle)
    if seconds <= MAX_SECONDS:
        return ""
    return (
        f"{cells:,} cells over {cycles:,} cycles would take {length_text(seconds)};"
        " --simulate does it anyway"
    )


def run_netlist(
    folder: Path,
    netlist: Path,
    interface: Mapping[str, Any],
    device: FpgaDevice,
    vectors: Golden,
    *,
    stalls: Stalls,
    timeout_s: float,
    notify: Steps,
    seconds: Seconds | None = None,
    pool: Workers = IN_PROCESS,
) -> NetlistRun:
    """Simulate a netlist in the harness of its design.

    Args:
        folder: The emitted design.
        netlist: File of ``rlx_fpga.packaging.synthesis.synthesize``.
        interface: Ports of the design, as in ``report.json``.
        device: Device that it was mapped to.
        vectors: Inputs and the reference's outputs.
        stalls: Disturbance of the second run.
        timeout_s: Wall-clock limit of each step.
        notify: Called with a description of each step.
        seconds: Gets the time of each part.
        pool: Runs the frames without stalls, in parts.

    Raises:
        SimulationError: A cell lacks a model, the netlist does not compile, got stuck, or
            violated the stream protocol.
        ToolMissingError: Verilator or Yosys' libraries are not there.
        TimeLimitError: It took too long.
    """
    seconds = seconds or Seconds("netlist")
    module = read_netlist(netlist, interface["top"])
    name = platform(device)
    few = vectors.first(STALLED_FRAMES)
    ports = {**interface, "memories": []}  # they are in the netlist
    with plain_folder(folder) as plain, work_folder("netlist") as work:
        source = work.absolute() / "netlist.v"
        source.write_text(netlist_verilog(module, device.family), encoding="utf-8")
        notify(f"{name}: build, {len(module.cells):,} cells")
        with seconds.part("compile"):
            bench = _bench(
                ports, [str(source), "tb/harness.cpp"], plain, work, timeout_s, notify.detail
            )
        with seconds.part("simulate"):
            notify(f"{name}: {counted(vectors.frames, 'frame')}")
            first = run_stream(name, bench, vectors, pool, timeout_s=timeout_s)
            notify(f"{name}: {counted(few.frames, 'frame')}, pauses and a reset")
            second = _simulation(bench.run(few.inputs, stalls=stalls, timeout_s=timeout_s))
    wrong = (*compare(name, first, vectors), *compare(_stalled(name), second, few))
    return NetlistRun(
        device, len(module.cells), vectors.frames, wrong, first.latency, first.interval, few.frames
    )


def _bench(
    ports: Mapping[str, Any],
    files: list[str],
    folder: Path,
    work: Path,
    timeout_s: float,
    show: Callable[[str], None],
) -> StreamBench:
    return StreamBench.build(
        ports, files, folder=folder, output=work / "build", options=_OPTIONS, optimization="-O0",
        timeout_s=timeout_s, show=show,
    )  # fmt: skip


def _simulation(run: StreamRun) -> Simulation:
    return Simulation(run.outputs, cycles=run.cycles, latency=run.latency, interval=run.interval)
