"""Differences between the reports of two versions of a network.

Tests: tests/unit/reports/test_report.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rlx.metrics.layer_match import matched_runs
from rlx.reports.model import Changes, Figure, LayerChange, shape_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx.reports.model import Layer, Port
    from rlx.reports.report import Report

_COMPARED: Final = {
    "op": "op",
    "shape": "shape",
    "quant": "scale",
    "attributes": "attributes",
    "weights": "weights",
    "kernel": "kernel",
    "predicted": "time",
    "flash": "flash",
    "ram": "RAM",
}
"""Attributes of a layer that are compared, each with the word for it."""


def changes_of(old: Report, new: Report) -> Changes:
    """Return the differences of ``new`` from ``old``."""
    return Changes(
        figures=tuple(_figures(old, new)),
        ports=tuple(_ports("input", old.inputs, new.inputs)) +
        tuple(_ports("output", old.outputs, new.outputs)),
        layers=tuple(_layers(old.layers, new.layers)),
    )  # fmt: skip


def _figures(old: Report, new: Report) -> Iterator[tuple[Figure, Figure]]:
    """Yield figures of the same name: measured ones where both were, else predicted, assumed."""
    before = {figure.name: figure for figure in old.figures}
    for figure in new.figures:
        other = before.get(figure.name)
        if other is None:
            continue
        if other.measured is not None and figure.measured is not None:
            yield other, figure
        elif other.predicted is not None and figure.predicted is not None:
            yield _predicted(other), _predicted(figure)
        elif other.assumed is not None and figure.assumed is not None:
            yield _assumed(other), _assumed(figure)


def _predicted(figure: Figure) -> Figure:
    return Figure(
        name=figure.name, unit=figure.unit, predicted=figure.predicted, limit=figure.limit
    )


def _assumed(figure: Figure) -> Figure:
    return Figure(name=figure.name, unit=figure.unit, assumed=figure.assumed)


def _ports(kind: str, old: Sequence[Port], new: Sequence[Port]) -> Iterator[str]:
    for number in range(max(len(old), len(new))):
        before = _port_text(old[number]) if number < len(old) else "none"
        after = _port_text(new[number]) if number < len(new) else "none"
        if before != after:
            yield f"{kind} {number}: {before} → {after}"


def _port_text(port: Port) -> str:
    quant = "" if port.quant is None else f", scale {port.quant[0]:.6g}, zero {port.quant[1]}"
    return f"{port.name} {port.dtype} {shape_text(port.shape)}{quant}"


def _layers(old: Sequence[Layer], new: Sequence[Layer]) -> Iterator[LayerChange]:
    """Yield every layer, in order; layers of the same op are matched as a text is."""
    for before, after in matched_runs(old, new, lambda layer: (layer.op, layer.source)):
        pairs = min(len(before), len(after))
        for old_layer, new_layer in zip(before, after, strict=False):
            yield from _pair(old_layer, new_layer)
        for old_layer in before[pairs:]:
            yield LayerChange(name=old_layer.name, old=old_layer, new=None)
        for added in after[pairs:]:
            yield LayerChange(name=added.name, old=None, new=added)


def _pair(old: Layer, new: Layer) -> Iterator[LayerChange]:
    if old.op != new.op:
        yield LayerChange(name=old.name, old=old, new=None)
        yield LayerChange(name=new.name, old=None, new=new)
        return
    first, second = _comparable(old, new), _comparable(new, old)
    changed = [
        word for name, word in _COMPARED.items() if getattr(first, name) != getattr(second, name)
    ]
    yield LayerChange(name=new.name, old=old, new=new, changed=tuple(changed))


def _comparable(layer: Layer, other: Layer) -> Layer:
    """Return the layer without a picture of its weights if the other is of a folder without."""
    if layer.weights is None or other.weights is None or other.weights.picture is not None:
        return layer
    return replace(layer, weights=replace(layer.weights, picture=None))
