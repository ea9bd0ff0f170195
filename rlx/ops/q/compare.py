"""Elementwise ops that compare: maximum, minimum, and PReLU, which compares with zero."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import DType, Op, TensorType, Traits
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q.common import check_clamp, check_int8, check_rescale, check_zero_point, to_int8
from rlx.ops.q.prepared.table import prepare_by_channel
from rlx.ops.shapes import broadcast_shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array
    from rlx.ir.op import Evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class _QExtreme(Op):
    """Base of both extremes: two int8 operands of one quantization, shapes broadcast."""

    operand_count: ClassVar[int | tuple[int, int | None]] = 2
    traits: ClassVar[Traits] = Traits(elementwise=True, monotone=True, moves_only=True)

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return int8 of the broadcast shape with the operands' quantization."""
        x, y = operands
        check_int8(self, "first operand", x)
        check_int8(self, "second operand", y)
        if x.quant is not None and y.quant is not None and x.quant != y.quant:
            raise self.refuse(f"operands must share one quantization, got {x} and {y}")
        return (TensorType(broadcast_shapes(self, x, y), DType.I8, x.quant or y.quant),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the larger or smaller value of each pair."""
        return (np.asarray(self.function(*operands)),)

    @staticmethod
    @abstractmethod
    def function(x: Array, y: Array) -> Array:
        """Return one of each pair of values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QMaximum(_QExtreme):
    """Larger of two quantized values: ``z = max(x, y)``.

    Operands: ``x`` int8, ``y`` int8 of the same quantization, shapes broadcast. Result: int8 of
    that quantization.

    Source: tflite-micro ``maximum_minimum.cc``, ``MaximumOp``.
    """

    name: ClassVar[str] = "q.maximum"

    @staticmethod
    def function(x: Array, y: Array) -> Array:
        """Return the larger values."""
        larger: Array = np.maximum(x, y)
        return larger


@dataclass(frozen=True, slots=True, kw_only=True)
class QMinimum(_QExtreme):
    """Smaller of two quantized values: ``z = min(x, y)``.

    Operands: ``x`` int8, ``y`` int8 of the same quantization, shapes broadcast. Result: int8 of
    that quantization.

    Source: tflite-micro ``maximum_minimum.cc``, ``MinimumOp``.
    """

    name: ClassVar[str] = "q.minimum"

    @staticmethod
    def function(x: Array, y: Array) -> Array:
        """Return the smaller values."""
        smaller: Array = np.minimum(x, y)
        return smaller


@dataclass(frozen=True, slots=True, kw_only=True)
class QPrelu(Op):
    """Parametric ReLU: values below zero are multiplied by the slope of their channel.

    ``z = clamp(rescale(x - x_zero_point) + zero_point)`` where ``x >= x_zero_point``, else
    ``z = clamp(slope_rescale((x - x_zero_point) * (y - y_zero_point)) + zero_point)``

    Operands: ``x`` int8[*, C], slopes ``y`` int8[C]. Result: int8[*, C].

    Attributes:
        x_zero_point: Zero point of ``x``.
        y_zero_point: Zero point of the slopes.
        rescale: One factor: scale of ``x`` over the result's scale.
        slope_rescale: One factor: product of the scales of ``x`` and ``y`` over the result's.
        zero_point: Zero point of the result.
        low: Minimum of the result.
        high: Maximum of the result.

    Source: tflite-micro ``prelu_common.cc``, ``reference_ops::BroadcastPrelu4DSlow``.
    """

    name: ClassVar[str] = "q.prelu"
    operand_count: ClassVar[int | tuple[int, int | None]] = 2
    traits: ClassVar[Traits] = Traits(elementwise=True, clamps=True)
    x_zero_point: int
    y_zero_point: int
    rescale: Rescale
    slope_rescale: Rescale
    zero_point: int
    low: int = -128
    high: int = 127

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return int8 of the first operand's shape."""
        x, y = operands
        check_int8(self, "input", x)
        check_int8(self, "slopes", y, rank=1)
        if y.shape != x.shape[-1:]:
            raise self.refuse(f"slopes must be one for each channel of {x}, got {y}")
        check_rescale(self, self.rescale, 1)
        check_rescale(self, self.slope_rescale, 1)
        check_zero_point(self, self.x_zero_point, self.y_zero_point, self.zero_point)
        check_clamp(self, self.low, self.high)
        return (TensorType(x.shape, DType.I8),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the values, negative ones multiplied by their channel's slope."""
        x, slopes = (array.astype(np.int64) for array in operands)
        centred = x - self.x_zero_point
        below = self.slope_rescale.apply(centred * (slopes - self.y_zero_point))
        scaled = np.where(centred >= 0, self.rescale.apply(centred), below)
        return (to_int8(scaled, self.zero_point, self.low, self.high),)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return the form that looks up every value if the slopes are constant."""
        slopes = constants[1]
        return self.evaluate if slopes is None else prepare_by_channel(self, slopes)
