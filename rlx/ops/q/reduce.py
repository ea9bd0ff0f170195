"""Reductions of integers over axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Along, DType, Op, TensorType, Traits
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q.common import (
    check_activation,
    check_clamp,
    check_int8,
    check_rescale,
    check_zero_point,
    to_width,
)
from rlx.ops.shapes import normalize_axes, normalize_axis

if TYPE_CHECKING:
    from rlx.ir import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class QMean(Op):
    """Mean over axes, with a change of scale.

    ``y = clamp(rescale(sum(x - x_zero_point)) + zero_point)``: dividing by the number of elements
    is part of the scaling (see ``Rescale.divided``).

    Operand: ``x`` int8[*] or int16[*]. Result: the same element type, reduced axes kept as 1 or
    dropped. Zero points of int16 are 0.

    Attributes:
        axes: Axes that are averaged; negative ones count from the end.
        keep_dims: Whether reduced axes stay as dimensions of 1.
        x_zero_point: Zero point of ``x``.
        rescale: One factor: scale of ``x`` over scale of the result and number of elements.
        zero_point: Zero point of the result.
        low: Minimum of the result.
        high: Maximum of the result.

    Source: tflite-micro ``reference_ops::QuantizedMeanOrSum``.
    """

    name: ClassVar[str] = "q.mean"
    traits: ClassVar[Traits] = Traits(clamps=True, along=Along.AXES)
    axes: tuple[int, ...]
    keep_dims: bool = False
    x_zero_point: int
    rescale: Rescale
    zero_point: int
    low: int = -128
    high: int = 127

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's element type and the reduced shape."""
        (x,) = operands
        check_activation(self, "input", x)
        check_rescale(self, self.rescale, 1)
        check_zero_point(self, self.x_zero_point, self.zero_point, dtype=x.dtype)
        check_clamp(self, self.low, self.high, x.dtype)
        axes = normalize_axes(self, self.axes, x.rank)
        if not axes:
            raise self.refuse("needs at least one axis")
        kept_shape = [1 if a in axes else n for a, n in enumerate(x.shape)]
        reduced_shape = [n for a, n in enumerate(x.shape) if a not in axes]
        return (TensorType(tuple(kept_shape if self.keep_dims else reduced_shape), x.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized means."""
        (x,) = operands
        sums = np.sum(x, axis=self.axes, keepdims=self.keep_dims, dtype=np.int64)
        count = x.size // sums.size
        scaled = self.rescale.apply(np.asarray(sums - count * self.x_zero_point))
        return (to_width(scaled, self.zero_point, self.low, self.high, x),)


@dataclass(frozen=True, slots=True, kw_only=True)
class QArgmax(Op):
    """Index of the maximum along an axis; the first one where several are equal.

    Operand: ``x`` int8[*]. Result: int32 without that axis.

    Attributes:
        axis: The axis; negative counts from the end.
    """

    name: ClassVar[str] = "q.argmax"
    traits: ClassVar[Traits] = Traits(along=Along.AXIS)
    axis: int = -1

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return int32 of the shape without the axis."""
        (x,) = operands
        check_int8(self, "input", x)
        axis = normalize_axis(self, self.axis, x.rank)
        return (TensorType((*x.shape[:axis], *x.shape[axis + 1 :]), DType.I32),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the indices."""
        (x,) = operands
        return (np.asarray(np.argmax(x, axis=self.axis), np.int32),)
