"""Cells of the designs by Yosys, for Lattice ECP5 and Xilinx 7."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.fpga.points import RESULTS, SMALL, TIMEOUT_S, points
from rlx_fpga.synthesis import FAMILIES
from rlx_sim.yosys import synthesize_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benchmarks.fpga.points import Point

STORED = RESULTS / "fpga_cells.jsonl"
"""Results that ``python -m benchmarks --check`` compares with."""

KEY = ("network", "budget", "family", "tool")
COSTS = ("lut", "ff", "multiplier", "block_ram", "block_ram_18", "block_ram_36")
"""Entries of a row that must not grow."""


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for the smallest point."""
    yield from _rows(SMALL[:1], ("ecp5",))


def measure_thoroughly() -> Iterator[dict[str, Any]]:
    """Yield a row for each point and family: some take a quarter of an hour."""
    yield from _rows(points(), FAMILIES)


def _rows(wanted: Iterable[Point], families: Iterable[str]) -> Iterator[dict[str, Any]]:
    for point in wanted:
        with tempfile.TemporaryDirectory(prefix="rlx-benchmark-") as place:
            folder = Path(place) / "net"
            report = point.emit(folder)
            for family in families:
                yield row(point, folder, family, report)


def row(point: Point, folder: Path, family: str, report: dict[str, Any]) -> dict[str, Any]:
    """Return the cells of one design, and the interval that it was predicted to have."""
    cells = synthesize_folder(folder, [family], timeout_s=TIMEOUT_S)[family]
    return {
        **point.key,
        "family": family,
        "interval": report["interval"],
        **{name: value for name, value in cells.items() if name != "cells"},
    }
