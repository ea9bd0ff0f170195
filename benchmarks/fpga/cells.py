"""Cells of the designs by Yosys, each on its own device."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.fpga.folds import digest, folds_of
from benchmarks.fpga.points import CHECKED_POINTS, RESULTS, TIMEOUT_S, points
from benchmarks.fpga.points import KEY as POINT
from rlx_fpga.packaging.synthesis import RESOURCES
from rlx_sim.synthesis.build import FPGA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benchmarks.fpga.points import Point

STORED = RESULTS / "fpga_cells.jsonl"
"""Results with which ``python -m benchmarks --check`` compares."""

KEY = (*POINT, "tool")

COSTS = ("lut", "ff", "dsp", "bram")
"""Entries of a row that must not grow."""


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for the smallest point."""
    yield from _rows(CHECKED_POINTS[:1])


def measure_thoroughly() -> Iterator[dict[str, Any]]:
    """Yield a row for each point: some take a quarter of an hour."""
    yield from _rows(points())


def _rows(points: Iterable[Point]) -> Iterator[dict[str, Any]]:
    for point in points:
        yield row(point)


def row(point: Point) -> dict[str, Any]:
    """Return the cells of one design, and the entries that identify it."""
    with tempfile.TemporaryDirectory(prefix="rlx-benchmark-") as work:
        folder = Path(work) / "net"
        report = point.emit(folder)
        build = FPGA.build(folder, device=point.device, seeds=0, timeout_s=TIMEOUT_S)
    cells = {row["resource"]: row["synthesis"] for row in build.resources}
    folds = folds_of(point.module(), point.options)
    return {
        **point.key,
        "design": digest(folds),
        "folds": folds,
        "interval": report["interval"],
        "tool": f"yosys {build.tools['yosys']}",
        **{resource: cells[resource] for resource in RESOURCES},
    }
