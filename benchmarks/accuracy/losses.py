"""Accuracy that networks lose when quantized, on samples not used for calibration.

Each half of the samples is tested with ranges from the other half.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from benchmarks.accuracy.data import NETWORKS, ROOT
from rlx.calibration.quantize import quantize_graph
from rlx.calibration.settings import settings_of
from rlx.metrics.compare import compare_graphs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx.metrics.comparison_result import Comparison

STORED: Final = ROOT / "benchmarks" / "results" / "accuracy.jsonl"
KEY: Final = ("network", "weights")
COSTS: Final = {"errors": 4, "errors_of_auto": 10, "reconstruction_ratio": 0.001, "mean_bits": 1.0}
"""Figures that must not grow: wrong or different classes, loss of a reconstruction, bits. Sums of
floating-point numbers differ by the processor, and with them classes at the edge, and the widths
that ``auto`` chooses."""

WIDTHS: Final = {
    "TinyConv": ("8", "4", "2"),
    "VWW": ("8", "auto"),
    "KWS": ("8", "auto"),
    "IC": ("8", "auto"),
}
AUTO: Final[dict[str, dict[str, float]]] = {
    "VWW": {"max_drop": 0.01},
    "KWS": {"max_drop": 0.01},
    "IC": {"bits": 5.0},
}
"""Limits of ``auto``. IC is unlabelled, so its limit is on mean bits: a drop of 1 % of its samples
would be two classes that are not the float network's."""

_ANY: Final[dict[str, float]] = {"min_sqnr": -1e3, "min_agreement": 0.0}
"""Limits that every network keeps: the loss is measured, not limited."""

AUTO_SAMPLES: Final = 250
"""Calibration samples of ``auto``: weights of few bits are fitted to them."""


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for each available network and width of weights."""
    for network in NETWORKS:
        if network.file.is_file():
            for weights in WIDTHS.get(network.name, ("8",)):
                yield row(network.name, weights)


def row(name: str, weights: str) -> dict[str, Any]:
    """Return the losses of a network with weights of the given width."""
    network = next(n for n in NETWORKS if n.name == name)
    limit: dict[str, Any] = {}
    if weights == "auto":
        limit, network = AUTO[name], replace(network, calibration=AUTO_SAMPLES)
    graph, comparisons, bits = network.graph(), [], []
    for calib, test in network.folds():
        # The choice of widths does not use samples of the test.
        settings = settings_of(weights=weights, **limit, **_ANY)
        result = quantize_graph(graph, calib, settings=settings)
        comparisons.append(compare_graphs(graph, result.module.graph, test))
        bits.append(result.report.mean_bits)
    figures = _figures(comparisons)
    if weights == "auto":
        figures["errors_of_auto"] = figures.pop("errors")
    return {
        "network": name,
        "weights": weights,
        "mean_bits": round(sum(bits) / len(bits), 3),
        **figures,
    }


def _figures(parts: Sequence[Comparison]) -> dict[str, Any]:
    """Return the figures of both halves together."""
    samples = sum(part.samples for part in parts)
    figures: dict[str, Any] = {"samples": samples}

    def mean(values: Sequence[float]) -> float:
        weighted = zip(values, parts, strict=True)
        return sum(value * part.samples for value, part in weighted) / samples

    figures["sqnr_db"] = round(mean([part.output.sqnr_db for part in parts]), 2)
    if (rebuilt := [p.reconstruction for p in parts if p.reconstruction]) and len(rebuilt) == 2:
        before, after = (mean([pair[k] for pair in rebuilt]) for k in (0, 1))
        return {**figures, "reconstruction_ratio": round(after / before, 5)}
    figures["agreement"] = round(mean([part.agreement or 0.0 for part in parts]), 5)
    if top1 := [p.top1 for p in parts if p.top1]:
        before, after = (mean([pair[k] for pair in top1]) for k in (0, 1))
        figures |= {"float": round(before, 5), "integer": round(after, 5)}
        return {**figures, "errors": round(samples * (1 - after))}
    return {**figures, "errors": round(samples * (1 - figures["agreement"]))}
