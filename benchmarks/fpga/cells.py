"""Cells of the designs by Yosys, for Lattice ECP5 and Xilinx 7."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.fpga.points import RESULTS, SMALL, TIMEOUT_S, points
from rlx_fpga.devices import device
from rlx_fpga.synthesis import RESOURCES
from rlx_sim.build import FPGA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benchmarks.fpga.points import Point

STORED = RESULTS / "fpga_cells.jsonl"
"""Results that ``python -m benchmarks --check`` compares with."""

KEY = ("network", "budget", "family", "tool")
COSTS = ("lut", "ff", "dsp", "bram")
"""Entries of a row that must not grow."""

DEVICES = ("ecp5-85k", "artix7-100t")
"""What designs are mapped to: one device of each family."""


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for the smallest point."""
    yield from _rows(SMALL[:1], DEVICES[:1])


def measure_thoroughly() -> Iterator[dict[str, Any]]:
    """Yield a row for each point and family: some take a quarter of an hour."""
    yield from _rows(points(), DEVICES)


def _rows(wanted: Iterable[Point], devices: Iterable[str]) -> Iterator[dict[str, Any]]:
    for point in wanted:
        with tempfile.TemporaryDirectory(prefix="rlx-benchmark-") as place:
            folder = Path(place) / "net"
            report = point.emit(folder)
            for name in devices:
                yield row(point, folder, name, report)


def row(point: Point, folder: Path, name: str, report: dict[str, Any]) -> dict[str, Any]:
    """Return the cells of one design, and the interval that it was predicted to have."""
    build = FPGA.build(folder, device=name, seeds=0, timeout_s=TIMEOUT_S)
    found = {row["resource"]: row["synthesis"] for row in build.resources}
    return {
        **point.key,
        "family": device(name).family,
        "interval": report["interval"],
        "tool": f"yosys {build.tools['yosys']}",
        **{resource: found[resource] for resource in RESOURCES},
    }
