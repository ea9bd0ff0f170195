"""Layers on a page: a row of a table for each, and everything that is known.

Tests: tests/unit/reports/drawing/test_page.py
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.ir.graph import Constant, Param, Source
from rlx.ir.inspect import node_macs
from rlx.ir.printer import format_attributes, format_type, format_value
from rlx.reports.drawing.graph import layer_labels
from rlx.support.text.html import table, text
from rlx.support.text.names import shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from rlx.ir.graph import Graph, Node, Value
    from rlx.ir.types import QuantParams
    from rlx.support.text.html import Cell

_BINS: Final = 24
_BAR_WIDTH: Final = 8
"""Pixels of a bar of a histogram, with the gap after it."""
_HEIGHT: Final = 60
"""Pixels of the highest bar."""
_MAX_TEXT_CHARS: Final = 300
"""Characters of an attribute's text that a page shows."""


def layer_table(graph: Graph, labels: Mapping[Node, str] | None = None) -> str:
    """Return a table with a row for each layer, and their sums.

    Args:
        graph: The graph.
        labels: Label of each layer; None for :func:`layer_labels`.
    """
    labels = layer_labels(graph) if labels is None else labels
    nodes = [node for node in labels if not isinstance(node.op, Source)]
    rows = [_row(node, labels[node]) for node in nodes]
    macs = [row[3] for row in rows]
    constant_bytes = sum(
        node.types[0].nbytes for node in graph.nodes if isinstance(node.op, Constant)
    )
    whole = None if None in macs else sum(m for m in macs if isinstance(m, int))
    header = ("layer", "op", "result", "MACs", "constants, B")
    last = ("all", "", "", whole, constant_bytes)
    return table(header, rows, labels=[labels[node] for node in nodes], last=last if rows else ())


def _row(node: Node, label: str) -> tuple[Cell, ...]:
    types = ", ".join(format_type(t.with_quant(None)) for t in node.types)
    return (
        label, node.op.name, shorten(types), node_macs(node),
        sum(o.type.nbytes for o in node.operands if isinstance(o.node.op, Constant)),
    )  # fmt: skip


def layer_details(graph: Graph, labels: Mapping[Node, str] | None = None) -> dict[str, str]:
    """Return, by label, HTML with all that is known of each input and each layer.

    Attributes, types, quantization, where it comes from, and the range and a histogram of its
    constants.
    """
    labels = layer_labels(graph) if labels is None else labels
    return {label: _details(node, label, labels) for node, label in labels.items()}


def _details(node: Node, label: str, labels: Mapping[Node, str]) -> str:
    parts = [f"<h2>{text(label)}</h2>", _list({"op": node.op.name, **_facts(node)})]
    parts += [_result(position, node) for position in range(len(node.types))]
    if attributes := format_attributes(node.op):
        cut = {name: shorten(value, _MAX_TEXT_CHARS) for name, value in attributes.items()}
        parts += ["<h3>attributes</h3>", _list(cut)]
    for position, operand in enumerate(node.operands):
        parts.append(f"<h3>operand {position}</h3>{_operand(operand, labels)}")
    return "\n".join(parts)


def _facts(node: Node) -> dict[str, str]:
    macs = None if isinstance(node.op, Source) else node_macs(node)
    facts = {
        "name in the model": shorten(node.name, _MAX_TEXT_CHARS),
        "MACs": f"{macs:,}" if macs else "",
        "from": "; ".join(shorten(one, _MAX_TEXT_CHARS) for one in node.origin.places),
        "passes": ", ".join(node.origin.passes),
    }
    return {key: value for key, value in facts.items() if value}


def _result(position: int, node: Node) -> str:
    several = f" {position}" if len(node.types) > 1 else ""
    type_ = node.types[position]
    facts = {"type": format_type(type_.with_quant(None)), **_quant(type_.quant)}
    return f"<h3>result{several}</h3>{_list(facts)}"


def _operand(value: Value, labels: Mapping[Node, str]) -> str:
    """Return the source of an operand, and the statistics of a constant."""
    facts = {"type": format_type(value.type.with_quant(None)), **_quant(value.type.quant)}
    if isinstance(value.node.op, Constant):
        array = value.node.op.value
        return _list({"constant": value.name, **facts, **_empty(array, value.type.quant)}) + (
            _statistics(array)
        )
    if isinstance(value.node.op, Param):
        return _list({"parameter": value.name, **facts})
    source = labels.get(value.node, format_value(value))
    several = f", result {value.index}" if len(value.node.types) > 1 else ""
    return _list({"from layer": f"{source}{several}", **facts})


def _quant(quant: QuantParams | None) -> dict[str, str]:
    """Return scale and zero point, or their range where there are several."""
    if quant is None:
        return {}
    if quant.axis is None:
        return {"scale": f"{quant.scale[0]:.6g}", "zero point": str(quant.zero_point[0])}
    low, high = min(quant.scale), max(quant.scale)
    points = sorted(set(quant.zero_point))
    return {
        "scale": f"{low:.4g} to {high:.4g}, {len(quant.scale)} along axis {quant.axis}",
        "zero point": str(points[0]) if len(points) == 1 else f"{points[0]} to {points[-1]}",
    }


def _empty(array: npt.NDArray[Any], quant: QuantParams | None) -> dict[str, str]:
    """Return the number of channels that are all zero, where channels have scales of their own."""
    if quant is None or quant.axis is None or array.ndim < 2:
        return {}
    others = tuple(axis for axis in range(array.ndim) if axis != quant.axis)
    empty = int(np.count_nonzero(~(array != 0).any(axis=others)))
    return {"zero channels": f"{empty:,} of {array.shape[quant.axis]:,}"} if empty else {}


def _statistics(array: npt.NDArray[Any]) -> str:
    """Return range, mean, zeros and a histogram of a constant."""
    if not array.size or array.dtype.kind == "c":
        return ""
    numbers = array.astype(np.float64, copy=False)
    finite = numbers[np.isfinite(numbers)]
    facts = {"zeros": f"{np.count_nonzero(numbers == 0) / numbers.size:.1%}"}
    if finite.size:
        facts = {
            "range": f"{finite.min():.6g} to {finite.max():.6g}",
            "mean": f"{finite.mean():.4g}, standard deviation {finite.std():.4g}",
            **facts,
        }
    if finite.size < numbers.size:
        facts["not finite"] = f"{numbers.size - finite.size:,}"
    return _list(facts) + (_histogram(finite) if finite.size > 1 else "")


def _histogram(numbers: npt.NDArray[np.float64]) -> str:
    """Return a small bar chart of the frequencies of values."""
    with np.errstate(all="ignore"):
        low, high = float(numbers.min()), float(numbers.max())
        if not np.isfinite(high - low) or high - low < 1e-300:
            return ""
        bins = ((numbers - low) / (high - low) * _BINS).astype(np.int64)
    counts = np.bincount(np.minimum(bins, _BINS - 1), minlength=_BINS).tolist()
    most = max(counts)
    bars = "".join(
        f'<rect x="{k * _BAR_WIDTH}" y="{_HEIGHT - _HEIGHT * n / most:.1f}"'
        f' width="{_BAR_WIDTH - 1}" height="{_HEIGHT * n / most:.1f}"><title>{n:,} from'
        f" {low + (high - low) * k / _BINS:.4g}</title></rect>"
        for k, n in enumerate(counts)
        if n
    )
    width = _BINS * _BAR_WIDTH
    return (
        f'<svg class="rlx-histogram" width="{width}" height="{_HEIGHT + 16}" role="img">{bars}'
        f'<text x="0" y="{_HEIGHT + 13}">{low:.4g}</text>'
        f'<text x="{width}" y="{_HEIGHT + 13}" text-anchor="end">{high:.4g}</text></svg>'
    )


def _list(facts: Mapping[str, str]) -> str:
    rows = "".join(f"<dt>{escape(key)}</dt><dd>{text(value)}</dd>" for key, value in facts.items())
    return f"<dl>{rows}</dl>"
