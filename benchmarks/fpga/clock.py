"""Maximum clock of the designs by nextpnr, median over seeds."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.fpga.folds import digest, folds_of
from benchmarks.fpga.points import KEY as POINT
from benchmarks.fpga.points import RESULTS, TIMEOUT_S, points
from rlx_fpga.devices import device
from rlx_sim.synthesis.build import FPGA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.fpga.points import Point

STORED = RESULTS / "fpga_clock.jsonl"
"""Results of place and route."""

KEY = (*POINT, "tool")
COSTS: tuple[str, ...] = ()
"""Empty: a lower clock is not a cost that grows, and results vary with the seed."""

SEEDS = 3


def measure() -> Iterator[dict[str, Any]]:
    """Yield nothing: place and route takes too long for every check."""
    yield from ()


def measure_thoroughly() -> Iterator[dict[str, Any]]:
    """Yield a row for each point of a device that nextpnr supports: minutes for each seed."""
    for point in points():
        if device(point.device).pnr:
            yield row(point)


def row(point: Point, seeds: int = SEEDS) -> dict[str, Any]:
    """Return the clock of one design."""
    with tempfile.TemporaryDirectory(prefix="rlx-benchmark-") as work:
        folder = Path(work) / "net"
        report = point.emit(folder)
        build = FPGA.build(folder, device=point.device, seeds=seeds, timeout_s=TIMEOUT_S)
    assert build.fmax_mhz is not None
    tool = device(point.device).pnr[0]
    return {
        **point.key,
        "tool": f"{tool} {build.tools[tool]}",
        "design": digest(folds_of(point.module(), point.options)),
        "interval": report["interval"],
        "fmax_mhz": round(build.fmax_mhz, 1),
        "seeds": [round(one.fmax_mhz, 1) for one in build.routed],
    }
