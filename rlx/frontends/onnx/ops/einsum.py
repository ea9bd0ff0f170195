"""Einstein sums as products of two, one after the other.

Tests: tests/unit/frontends/onnx/ops/test_versions.py
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx.frontends.onnx.ops.registry import importer
from rlx.ops import nn, real

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real

# Labels of the axes of an ellipsis, numbered from the last one.
_ELLIPSIS = "."


@dataclass(frozen=True, slots=True)
class _Term:
    """A value and the label of each axis."""

    value: Real
    labels: tuple[str, ...]


@importer("Einsum")
def import_einsum(call: Call) -> Real:
    """``Einsum``."""
    terms, output_labels = _parse_equation(call)
    first, *rest = [_diagonal(call, t) for t in terms]
    for position, other in enumerate(rest, start=1):
        later = {label for t in rest[position:] for label in t.labels}
        first = _product(first, other, {*output_labels, *later})
    first = _sum_labels(first, set(output_labels))
    if set(first.labels) != set(output_labels):
        raise call.malformed(
            f"the result {''.join(output_labels)} names an axis that no operand has"
        )
    order = tuple(first.labels.index(label) for label in output_labels)
    return first.value if order == tuple(range(len(order))) else first.value.transpose(*order)


def _parse_equation(call: Call) -> tuple[list[_Term], tuple[str, ...]]:
    """Return the operands with their labels, and the labels of the result."""
    equation = call.text("equation").replace(" ", "")
    left, arrow, right = equation.partition("->")
    parts = left.split(",")
    if len(parts) != call.count:
        raise call.malformed(f"equation {equation!r} names {len(parts)} of {call.count} operands")
    terms = [
        _Term(x, _labels(call, part, x.ndim)) for part, x in zip(parts, call.values(), strict=True)
    ]
    dots = max((sum(a.startswith(_ELLIPSIS) for a in t.labels) for t in terms), default=0)
    if arrow:
        return terms, _labels(call, right, len(right.replace("...", "")) + dots)
    counts = Counter(a for t in terms for a in t.labels)
    ellipsis_ = tuple(f"{_ELLIPSIS}{i}" for i in range(dots, 0, -1))
    once = sorted(a for a, n in counts.items() if n == 1 and not a.startswith(_ELLIPSIS))
    return terms, (*ellipsis_, *once)


def _labels(call: Call, part: str, rank: int) -> tuple[str, ...]:
    """Return a label for each axis of an operand."""
    front, dots, back = part.partition("...")
    if not all(c.isalpha() for c in front + back):
        raise call.malformed(f"expected letters of axes, got {part!r}")
    missing = rank - len(front) - len(back)
    if missing < 0 or (missing and not dots):
        raise call.malformed(f"{part!r} does not fit {rank} dimensions")
    return (*front, *(f"{_ELLIPSIS}{i}" for i in range(missing, 0, -1)), *back)


def _diagonal(call: Call, term: _Term) -> _Term:
    """Return a term in which no label occurs twice."""
    for label, count in Counter(term.labels).items():
        for _ in range(count - 1):
            axes = [a for a, name in enumerate(term.labels) if name == label][:2]
            term = _one_diagonal(call, term, (axes[0], axes[1]))
    return term


def _one_diagonal(call: Call, term: _Term, axes: tuple[int, int]) -> _Term:
    """Return the elements with equal indices along two axes."""
    x = term.value
    size = x.shape[axes[0]]
    if not isinstance(size, int) or size != x.shape[axes[1]]:
        raise call.malformed(f"{x.type} has no diagonal along the axes {axes}")
    other_axes = [a for a in range(x.ndim) if a not in axes]
    transposed = x.transpose(*other_axes, *axes)
    flat = transposed.reshape(*transposed.shape[:-2], size * size)
    whole = (slice(None),) * len(other_axes)
    labels = (*(term.labels[a] for a in other_axes), term.labels[axes[0]])
    return _Term(flat[(*whole, slice(0, size * size, size + 1))], labels)


def _sum_labels(term: _Term, kept_labels: set[str]) -> _Term:
    """Return a term summed over the labels that nobody needs."""
    axes = tuple(a for a, label in enumerate(term.labels) if label not in kept_labels)
    if not axes:
        return term
    labels = tuple(label for label in term.labels if label in kept_labels)
    return _Term(term.value.apply(real.RealReduceSum(axes=axes)), labels)


def _product(x: _Term, y: _Term, kept_labels: set[str]) -> _Term:
    """Return the product of two terms, summed over the axes that only they have."""
    x, y = _without_ones(x, y), _without_ones(y, x)
    x = _sum_labels(x, {*kept_labels, *y.labels})
    y = _sum_labels(y, {*kept_labels, *x.labels})
    both = [label for label in x.labels if label in y.labels]
    contracted = [label for label in both if label not in kept_labels]
    batch = [label for label in both if label in kept_labels]
    value = x.value.apply(
        nn.NnDot(
            x_contract=_axes(x, contracted),
            y_contract=_axes(y, contracted),
            x_batch=_axes(x, batch),
            y_batch=_axes(y, batch),
        ),
        y.value,
    )
    free = [label for t in (x, y) for label in t.labels if label not in both]
    return _Term(value, (*batch, *free))


def _without_ones(x: _Term, other: _Term) -> _Term:
    """Return a term without axes of 1 that broadcast to a larger one of the other term."""
    sizes = dict(zip(other.labels, other.value.shape, strict=True))
    dropped_axes = [
        a for a, label in enumerate(x.labels)
        if x.value.shape[a] == 1 and sizes.get(label, 1) != 1
    ]  # fmt: skip
    if not dropped_axes:
        return x
    shape = [n for a, n in enumerate(x.value.shape) if a not in dropped_axes]
    labels = tuple(label for a, label in enumerate(x.labels) if a not in dropped_axes)
    return _Term(x.value.reshape(*shape), labels)


def _axes(term: _Term, labels: Sequence[str]) -> tuple[int, ...]:
    return tuple(term.labels.index(label) for label in labels)
