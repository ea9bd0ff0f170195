"""Elementwise arithmetic on integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from rlx.ir import Op, TensorType, Traits
from rlx.ops.numerics.division import scaled_quotients
from rlx.ops.numerics.fixed_point import INT32_MAX, Rescale, Rounding
from rlx.ops.q.common import (
    PairOp,
    check_activation,
    check_clamp,
    check_rescale,
    check_zero_point,
    to_int8,
    to_width,
)
from rlx.ops.q.prepared.table import prepare_binary, prepare_unary
from rlx.ops.shapes import broadcast_shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array
    from rlx.ir.op import Evaluator
    from rlx.ops.numerics.fixed_point import Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class _QBinary(PairOp):
    """Base of ops of two operands of one element type; shapes broadcast as in NumPy."""

    traits: ClassVar[Traits] = Traits(elementwise=True, monotone=True, clamps=True)

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operands' element type and their broadcast shape."""
        x, y = operands
        self.check_pair(x, y)
        return (TensorType(broadcast_shapes(self, x, y), x.dtype),)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return the form that looks up every pair of int8 values."""
        del constants
        return prepare_binary(self)

    def scaled(self, x: Int64, like: Array) -> Array:
        """Return ``x`` in the scale of the result and the element type of ``like``."""
        return to_width(self.rescale.apply(x), self.zero_point, self.low, self.high, like)

    def _subtract_zero_points(self, operands: tuple[Array, ...]) -> tuple[Int64, Int64]:
        """Return both operands as int64 with their zero points subtracted."""
        x, y = operands
        return x.astype(np.int64) - self.x_zero_point, y.astype(np.int64) - self.y_zero_point


@dataclass(frozen=True, slots=True, kw_only=True)
class _QScaledBinary(_QBinary):
    """Base of ops that scale both operands to a common scale."""

    x_rescale: Rescale
    y_rescale: Rescale
    left_shift: int = 20

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return int8 of the broadcast shape."""
        check_rescale(self, self.x_rescale, 1)
        check_rescale(self, self.y_rescale, 1)
        factors = (*self.x_rescale.real, *self.y_rescale.real)
        if max(factors) > 1:
            raise self.refuse(
                f"operands must be scaled by at most 1, not by {factors[0]} and {factors[1]}"
            )
        if not 0 <= self.left_shift <= 20:
            raise self.refuse(f"expected a left shift in [0, 20], got {self.left_shift}")
        return _QBinary.infer(self, *operands)

    def scaled_operands(self, operands: tuple[Array, ...]) -> tuple[Int64, Int64]:
        """Return both operands in the common scale, int64 within int32's range."""
        x, y = self._subtract_zero_points(operands)
        return (
            self.x_rescale.apply(x << self.left_shift),
            self.y_rescale.apply(y << self.left_shift),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QAdd(_QScaledBinary):
    """Sum of quantized values of different scales.

    ``y = clamp(rescale(x_rescale((x - x_zero_point) << left_shift)
    + y_rescale((y - y_zero_point) << left_shift)) + zero_point)``

    Operands: ``x`` and ``y``, both int8 or both int16, shapes broadcast. Result: their element
    type. Zero points of int16 are 0.

    Attributes:
        x_zero_point: Zero point of the first operand.
        y_zero_point: Zero point of the second operand.
        x_rescale: One factor, at most 1: from the first scale to the common one.
        y_rescale: One factor, at most 1: from the second scale to the common one.
        left_shift: Bits of headroom given to both before scaling.
        rescale: One factor: from the common scale to the result's.
        zero_point: Zero point of the result.
        low: Minimum of the result.
        high: Maximum of the result.

    Source: tflite-micro ``reference_integer_ops::Add``.
    """

    name: ClassVar[str] = "q.add"
    takes_int16: ClassVar[bool] = True

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized sums."""
        x, y = self.scaled_operands(operands)
        return (self.scaled(x + y, operands[0]),)


@dataclass(frozen=True, slots=True, kw_only=True)
class QSub(QAdd):
    """Difference of quantized values: ``q.add`` with the second operand negated.

    Operands, result and attributes: as ``q.add``.

    Source: tflite-micro ``reference_ops::Sub`` for int8.
    """

    name: ClassVar[str] = "q.sub"

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized differences."""
        x, y = self.scaled_operands(operands)
        return (self.scaled(x - y, operands[0]),)


@dataclass(frozen=True, slots=True, kw_only=True)
class QSquaredDifference(_QScaledBinary):
    """Square of the difference of quantized values of different scales.

    ``d = x_rescale((x - x_zero_point) << left_shift) - y_rescale((y - y_zero_point)
    << left_shift)``, ``y = clamp(rescale(d * d) + zero_point)``

    Operands and result: as ``q.add``.

    Attributes:
        x_zero_point: Zero point of the first operand.
        y_zero_point: Zero point of the second operand.
        x_rescale: One factor, at most 1: from the first scale to the common one.
        y_rescale: One factor, at most 1: from the second scale to the common one.
        left_shift: Bits of headroom given to both before scaling, such that squares fit int32.
        rescale: One factor: from the square of the common scale to the result's scale.
        zero_point: Zero point of the result.
        low: Minimum of the result.
        high: Maximum of the result.

    Source: tflite-micro ``SquaredDifference``.
    """

    name: ClassVar[str] = "q.squared_difference"
    traits: ClassVar[Traits] = Traits(elementwise=True, clamps=True)

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return int8 of the broadcast shape."""
        result = _QScaledBinary.infer(self, *operands)
        largest = sum(int(np.abs(values).max()) for values in self.scaled_operands((_INT8, _INT8)))
        if largest**2 > INT32_MAX:
            raise self.refuse(f"differences up to {largest} have squares that do not fit int32")
        return result

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized squares."""
        x, y = self.scaled_operands(operands)
        squares = np.square(x - y)
        return (to_int8(self.rescale.apply(squares), self.zero_point, self.low, self.high),)


_INT8: Final = np.arange(-128, 128).astype(np.int8)


@dataclass(frozen=True, slots=True, kw_only=True)
class QMul(_QBinary):
    """Product of quantized values.

    ``y = clamp(rescale((x - x_zero_point) * (y - y_zero_point)) + zero_point)``

    Operands: ``x`` and ``y``, both int8 or both int16, shapes broadcast. Result: their element
    type. Zero points of int16 are 0.

    Attributes:
        x_zero_point: Zero point of the first operand.
        y_zero_point: Zero point of the second operand.
        rescale: One factor: product of the operands' scales over the result's scale.
        zero_point: Zero point of the result.
        low: Minimum of the result.
        high: Maximum of the result.

    Source: tflite-micro ``reference_integer_ops::Mul``.
    """

    name: ClassVar[str] = "q.mul"
    takes_int16: ClassVar[bool] = True

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized products."""
        x, y = self._subtract_zero_points(operands)
        return (self.scaled(x * y, operands[0]),)


@dataclass(frozen=True, slots=True, kw_only=True)
class QDiv(_QBinary):
    """Quotient of quantized values, by a reciprocal in fixed point.

    ``z = clamp(rescale((x - x_zero_point) / (y - y_zero_point)) + zero_point)``

    Operands: ``x`` int8, ``y`` int8, shapes broadcast. Result: int8. A divisor of zero returns the
    maximum of the result for a positive dividend, its minimum for a negative one, and the zero
    point for zero, as real division has no result.

    Attributes:
        x_zero_point: Zero point of the first operand.
        y_zero_point: Zero point of the second operand.
        rescale: One factor below 2^23, rounded twice: scale of the first operand over the product
            of the other scales.
        zero_point: Zero point of the result.
        low: Minimum of the result.
        high: Maximum of the result.

    Source: tflite-micro ``reference_ops::Div`` for int8.
    """

    name: ClassVar[str] = "q.div"
    traits: ClassVar[Traits] = Traits(elementwise=True, clamps=True)

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return int8 of the broadcast shape."""
        result = _QBinary.infer(self, *operands)
        if self.rescale.rounding is not Rounding.DOUBLE or self.rescale.shift[0] > 23:
            raise self.refuse(
                f"expected a factor below 2^23 that is rounded twice, got {self.rescale}"
            )
        return result

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized quotients."""
        x, y = self._subtract_zero_points(operands)
        (multiplier,), (shift,) = self.rescale.multiplier, self.rescale.shift
        quotients = scaled_quotients(np.where(y < 0, -x, x), np.abs(y), multiplier, shift)
        return (to_int8(quotients, self.zero_point, self.low, self.high),)

    def table(self) -> Array:
        """Return the quotients of all pairs of values from -128 on, int8[256, 256]."""
        return self.evaluate(_INT8[:, np.newaxis], _INT8)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class QRequantize(Op):
    """Change of scale and zero point: ``y = clamp(rescale(x - x_zero_point) + zero_point)``.

    Operand: ``x`` int8[*] or int16[*]. Result: the same type. Zero points of int16 are 0.

    Attributes:
        x_zero_point: Zero point of ``x``.
        rescale: One factor: scale of ``x`` over scale of the result.
        zero_point: Zero point of the result.
        low: Minimum of the result.
        high: Maximum of the result.

    Source: tflite-micro ``reference_ops::Requantize``.
    """

    name: ClassVar[str] = "q.requantize"
    traits: ClassVar[Traits] = Traits(elementwise=True, monotone=True, clamps=True)
    x_zero_point: int
    rescale: Rescale
    zero_point: int
    low: int = -128
    high: int = 127

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the same element type and shape."""
        (x,) = operands
        check_activation(self, "input", x)
        check_rescale(self, self.rescale, 1)
        check_zero_point(self, self.x_zero_point, self.zero_point, dtype=x.dtype)
        check_clamp(self, self.low, self.high, x.dtype)
        return (TensorType(x.shape, x.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the values in the new scale."""
        (x,) = operands
        scaled = self.rescale.apply(x.astype(np.int64) - self.x_zero_point)
        return (to_width(scaled, self.zero_point, self.low, self.high, x),)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return the form that looks up every int8 value."""
        del constants
        return prepare_unary(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class QClamp(Op):
    """Elementwise ``y = min(max(x, low), high)``: quantized ReLU, ReLU6 and the like.

    Operand: ``x`` int8[*] or int16[*]. Result: the same type.

    Attributes:
        low: Smallest value let through.
        high: Largest value let through.
    """

    name: ClassVar[str] = "q.clamp"
    traits: ClassVar[Traits] = Traits(elementwise=True, monotone=True, clamps=True)
    low: int = -128
    high: int = 127

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's type."""
        (x,) = operands
        check_activation(self, "input", x)
        check_clamp(self, self.low, self.high, x.dtype)
        return (x,)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the clamped values."""
        (x,) = operands
        return (np.asarray(np.clip(x, self.low, self.high), x.dtype),)
