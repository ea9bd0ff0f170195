"""Largest and smallest elements along axes, as pools of images.

Tests: tests/unit/passes/quantize/test_convert.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Protocol

from rlx.ir import QuantParams
from rlx.ops.q.pool import QMaxPool2d
from rlx.ops.q.shape import QReshape, QTranspose
from rlx.ops.q.table import QTable
from rlx.ops.q.window import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Op, Value

_NEGATE: Final = QTable(table=tuple(range(127, -129, -1)), function="neg")


class Emit(Protocol):
    """Appends an op to a graph and returns its only result."""

    def __call__(self, op: Op, *operands: Value, quant: QuantParams | None = None) -> Value:
        """Return the result of ``op``, with ``quant`` if the op does not know it."""


def largest(emit: Emit, x: Value, axes: Sequence[int], *, keep_dims: bool) -> Value:
    """Return ``x.max(axes)``: a pool whose window holds all reduced elements.

    Axes before the reduced ones are the batch of the image, those after them its channels; a kept
    axis between reduced ones moves behind them first.
    """
    shape, quant = x.type.static_shape, x.type.quant
    reduced = sorted({axis % len(shape) for axis in axes})
    source = _before_transpose(x, reduced)
    if source is not None:
        pooled = largest(emit, *source, keep_dims=False)
        kept_shape = tuple(1 if a in reduced else n for a, n in enumerate(shape))
        return reshape(emit, pooled, kept_shape) if keep_dims else pooled
    result = [
        1 if a in reduced else n for a, n in enumerate(shape) if keep_dims or a not in reduced
    ]
    if reduced:
        front = tuple(range(reduced[0]))
        back = tuple(a for a in range(reduced[0], len(shape)) if a not in reduced)
        order = (*front, *reduced, *back)
        if order != tuple(range(len(shape))):
            x = emit(QTranspose(axes=order), x, quant=quant)
        rows, *columns = (shape[a] for a in reduced)
        kernel = (rows, math.prod(columns))
        batch, channels = (math.prod(shape[a] for a in some) for some in (front, back))
        x = reshape(emit, x, (batch, *kernel, channels))
        x = emit(QMaxPool2d(window=Window(kernel=kernel)), x, quant=quant)
    return reshape(emit, x, tuple(result))


def smallest(emit: Emit, x: Value, axes: Sequence[int], *, keep_dims: bool) -> Value:
    """Return ``x.min(axes)``: the maximum of the negated values, negated."""
    reduced = [axis % x.type.rank for axis in axes]
    source, source_axes = _before_transpose(x, reduced) or (x, reduced)
    shape = tuple(1 if a in reduced else n for a, n in enumerate(x.type.static_shape))
    pooled = largest(emit, negate(emit, source), source_axes, keep_dims=False)
    smallest_elements = negate(emit, pooled)
    return reshape(emit, smallest_elements, shape) if keep_dims else smallest_elements


def _before_transpose(x: Value, axes: Sequence[int]) -> tuple[Value, Sequence[int]] | None:
    """Return a value that ``x`` is the transpose of, and its axes that are ``axes`` of ``x``.

    None where there is none, or the other axes are in another order there.
    """
    op = x.node.op
    if not isinstance(op, QTranspose):
        return None
    others = [axis for place, axis in enumerate(op.axes) if place not in axes]
    if others != sorted(others):
        return None
    return x.node.operands[0], [op.axes[axis] for axis in axes]


def negate(emit: Emit, x: Value) -> Value:
    """Return -1 - x, int8 values that represent the negated ones: their order is opposite."""
    quant = x.type.quant
    if quant is not None:
        quant = QuantParams(quant.scale, (-1 - quant.zero_point[0],))
    return emit(_NEGATE, x, quant=quant)


def reshape(emit: Emit, x: Value, shape: tuple[int, ...]) -> Value:
    """Return a value in another shape."""
    return x if x.type.shape == shape else emit(QReshape(shape=shape), x, quant=x.type.quant)
