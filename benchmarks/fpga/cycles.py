"""Cycles of the designs under Verilator, every output compared with the reference's."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.fpga.folds import digest, folds_of
from benchmarks.fpga.points import CHECKED_POINTS, RESULTS, TIMEOUT_S, points
from benchmarks.fpga.points import KEY as POINT
from rlx.support.files.golden import read_golden
from rlx_sim.hardware.fpga import VerilatorHarness
from rlx_sim.protocol import compare

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benchmarks.fpga.points import Point

STORED = RESULTS / "fpga_cycles.jsonl"
"""Results with which ``python -m benchmarks --check`` compares."""

KEY = POINT
COSTS = ("interval", "latency")
"""Entries of a row that must not grow."""


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for each small point."""
    yield from _rows(point for point in points() if point in CHECKED_POINTS)


def measure_thoroughly() -> Iterator[dict[str, Any]]:
    """Yield a row for each point: some take minutes to compile."""
    yield from _rows(points())


def _rows(points: Iterable[Point]) -> Iterator[dict[str, Any]]:
    for point in points:
        yield row(point)


def row(point: Point) -> dict[str, Any]:
    """Return the cycles of one design.

    Raises:
        AssertionError: Its outputs differ from the reference's.
    """
    with tempfile.TemporaryDirectory(prefix="rlx-benchmark-") as work:
        folder = Path(work) / "net"
        report = point.emit(folder)
        golden = read_golden(folder)
        simulation = VerilatorHarness().simulate(folder, golden, timeout_s=TIMEOUT_S)
    if compare("verilator", simulation, golden):
        raise AssertionError(f"{point} does not compute the reference's bits")
    return {
        **point.key,
        "design": digest(folds_of(point.module(), point.options)),
        "interval": simulation.interval,
        "latency": simulation.latency,
        "predicted": report["interval"],
    }
