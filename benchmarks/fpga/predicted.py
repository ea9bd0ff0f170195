"""Predicted figures of every design."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.fpga.folds import digest, folds_of
from benchmarks.fpga.points import KEY as POINT
from benchmarks.fpga.points import RESULTS, points
from rlx.driver import driver
from rlx.targets import target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.fpga.points import Point

STORED = RESULTS / "fpga_predicted.jsonl"
"""Results with which ``python -m benchmarks --check`` compares."""

KEY = POINT
COSTS = ("interval", "multipliers", "bram", "memory_bits")
"""Entries of a row that must not grow."""

ESTIMATES = ("latency", "fill", "lut", "ff", "dsp")
"""Further estimates that are stored; ``bram`` is one too."""

LAYER = ("name", "op", "macs", "pe", "simd", "cycles", "multipliers")
"""Entries of a layer that are stored."""


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for each point."""
    for point in points():
        yield row(point)


def row(point: Point) -> dict[str, Any]:
    """Return the prediction of one point, with a row for each layer."""
    fpga = target.load("fpga")
    lowered = driver.lower(point.module(), fpga, options=point.options)
    report = fpga.estimate(lowered.module, point.options)
    return {
        **point.key,
        "design": digest(folds_of(point.module(), point.options)),
        **{name: report[name] for name in (*COSTS, *ESTIMATES, "slowest")},
        "macs": sum(layer["macs"] for layer in report["layers"]),
        "busy": busy(report["layers"], report["interval"]),
        "layers": [{name: layer[name] for name in LAYER} for layer in report["layers"]],
    }


def busy(layers: list[dict[str, Any]], interval: int) -> float:
    """Return the share of the interval in which the multipliers of the slowest array are busy."""
    arrays = [layer for layer in layers if layer["macs"]]
    slowest = max(arrays, key=lambda layer: layer["cycles"])
    return round(slowest["macs"] / (slowest["pe"] * slowest["simd"] * interval), 4)
