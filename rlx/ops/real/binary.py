"""Arithmetic of two tensors, element by element; shapes broadcast as in NumPy."""

from __future__ import annotations

import enum
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from rlx.ir import DType, Op, TensorType, Traits
from rlx.ops.real.common import (
    check_number,
    check_same,
    check_unquantized,
    narrow,
    widen,
)
from rlx.ops.shapes import broadcast_shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array
    from rlx.ir.op import Evaluator
    from rlx.ops.real.common import Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class RealBinary(Op):
    """Base of functions of two variables.

    Operands: ``x``, ``y`` of one element type, shapes broadcast. Result: that element type, of
    the broadcast shape. Integers wrap.
    """

    traits: ClassVar[Traits] = Traits(elementwise=True)
    operand_count: ClassVar[int | tuple[int, int | None]] = 2

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operands' element type with the broadcast shape."""
        self.check(*operands)
        return (TensorType(broadcast_shapes(self, *operands), operands[0].dtype),)

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the element types fit; integers do by default."""
        check_number(self, *operands)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the function of every pair of elements."""
        with np.errstate(all="ignore"):
            return self._compute(*operands)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return ``evaluate`` without its guard against warnings."""
        del constants
        return self._compute

    def _compute(self, *operands: Array) -> tuple[Array, ...]:
        x, y = operands
        return (narrow(self.function(widen(x), widen(y)), x.dtype),)

    @staticmethod
    @abstractmethod
    def function(x: Numbers, y: Numbers) -> Numbers:
        """Return the function of float32, float64 or integer arrays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealAdd(RealBinary):
    """``z = x + y``."""

    name: ClassVar[str] = "real.add"

    @staticmethod
    def function(x: Numbers, y: Numbers) -> Numbers:
        """Return the sum."""
        return np.add(x, y)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealSub(RealBinary):
    """``z = x - y``."""

    name: ClassVar[str] = "real.sub"

    @staticmethod
    def function(x: Numbers, y: Numbers) -> Numbers:
        """Return the difference."""
        return np.subtract(x, y)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealMul(RealBinary):
    """``z = x * y``."""

    name: ClassVar[str] = "real.mul"

    @staticmethod
    def function(x: Numbers, y: Numbers) -> Numbers:
        """Return the product."""
        return np.multiply(x, y)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealDiv(RealBinary):
    """``z = x / y``; of integers truncated towards zero, and 0 where ``y`` is 0."""

    name: ClassVar[str] = "real.div"

    @staticmethod
    def function(x: Numbers, y: Numbers) -> Numbers:
        """Return the quotient."""
        if x.dtype.kind == "f":
            return np.divide(x, y)
        below = np.floor_divide(x, y)
        inexact_negative = (np.remainder(x, y) != 0) & ((x < 0) != (y < 0))
        result: Numbers = np.add(below, inexact_negative, dtype=x.dtype)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class RealRemainder(RealBinary):
    """``z = x - floor(x / y) * y``: it has the sign of ``y``. Of integers 0 where ``y`` is 0."""

    name: ClassVar[str] = "real.remainder"

    @staticmethod
    def function(x: Numbers, y: Numbers) -> Numbers:
        """Return the remainder."""
        return np.remainder(x, y)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealPow(RealBinary):
    """``z = x^y``; NaN for a negative ``x`` and a broken ``y``.

    Integers wrap; with a negative ``y`` the power is ``1 / x^-y`` truncated, and 0 of 0.
    """

    name: ClassVar[str] = "real.pow"

    @staticmethod
    def function(x: Numbers, y: Numbers) -> Numbers:
        """Return the power."""
        if x.dtype.kind != "i":
            return np.power(x, y)
        # 1 and -1 are the only integers whose reciprocal is not truncated to 0.
        reciprocal = np.where(np.abs(x) == 1, np.power(x, y & 1), 0)
        result: Numbers = np.where(y < 0, reciprocal, np.power(x, np.maximum(y, 0)))
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class RealBits(RealBinary):
    """Base of functions of the bits of two integers: operands, result."""

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless both hold integers."""
        check_number(self, *operands)
        if not operands[0].dtype.is_integer:
            raise self.refuse(f"expected a tensor of integers, got {operands[0]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RealBitAnd(RealBits):
    """The bits that are set in ``x`` and in ``y``."""

    name: ClassVar[str] = "real.bit_and"

    @staticmethod
    def function(x: Numbers, y: Numbers) -> Numbers:
        """Return the common bits."""
        result: Numbers = np.bitwise_and(x, y)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class RealBitOr(RealBits):
    """The bits that are set in ``x`` or in ``y``."""

    name: ClassVar[str] = "real.bit_or"

    @staticmethod
    def function(x: Numbers, y: Numbers) -> Numbers:
        """Return the bits of both."""
        result: Numbers = np.bitwise_or(x, y)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class RealBitXor(RealBits):
    """The bits in which ``x`` and ``y`` differ."""

    name: ClassVar[str] = "real.bit_xor"

    @staticmethod
    def function(x: Numbers, y: Numbers) -> Numbers:
        """Return the differing bits."""
        result: Numbers = np.bitwise_xor(x, y)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class RealShiftLeft(RealBits):
    """``z = x * 2^y``, its low bits; 0 where ``y`` is not in [0, bits)."""

    name: ClassVar[str] = "real.shift_left"

    @staticmethod
    def function(x: Numbers, y: Numbers) -> Numbers:
        """Return the shifted bits."""
        fits = (y >= 0) & (y < 8 * x.dtype.itemsize)
        result: Numbers = np.where(fits, np.left_shift(x, np.where(fits, y, 0).astype(x.dtype)), 0)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class RealShiftRight(RealBits):
    """``z = floor(x / 2^y)``; 0, or -1 of a negative ``x``, where ``y`` is not in [0, bits)."""

    name: ClassVar[str] = "real.shift_right"

    @staticmethod
    def function(x: Numbers, y: Numbers) -> Numbers:
        """Return the shifted bits."""
        fits = (y >= 0) & (y < 8 * x.dtype.itemsize)
        beyond = np.where(x < 0, x.dtype.type(-1), 0) if x.dtype.kind == "i" else 0
        shifted = np.right_shift(x, np.where(fits, y, 0).astype(x.dtype))
        result: Numbers = np.where(fits, shifted, beyond)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class RealMaximum(RealBinary):
    """``z = max(x, y)``; NaN if one is NaN. Of booleans: x or y."""

    name: ClassVar[str] = "real.maximum"

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless both hold numbers or both booleans."""
        _check_ordered(self, *operands)

    @staticmethod
    def function(x: Numbers, y: Numbers) -> Numbers:
        """Return the greater one."""
        return np.maximum(x, y)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealMinimum(RealBinary):
    """``z = min(x, y)``; NaN if one is NaN. Of booleans: x and y."""

    name: ClassVar[str] = "real.minimum"

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless both hold numbers or both booleans."""
        _check_ordered(self, *operands)

    @staticmethod
    def function(x: Numbers, y: Numbers) -> Numbers:
        """Return the smaller one."""
        return np.minimum(x, y)


class Comparison(enum.Enum):
    """A relation of two numbers. The value is its name in printed IR."""

    EQUAL = "equal"
    NOT_EQUAL = "not_equal"
    LESS = "less"
    LESS_EQUAL = "less_equal"
    GREATER = "greater"
    GREATER_EQUAL = "greater_equal"


RELATIONS: Final = {
    Comparison.EQUAL: np.equal,
    Comparison.NOT_EQUAL: np.not_equal,
    Comparison.LESS: np.less,
    Comparison.LESS_EQUAL: np.less_equal,
    Comparison.GREATER: np.greater,
    Comparison.GREATER_EQUAL: np.greater_equal,
}
"""The function of NumPy for each relation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealCompare(Op):
    """Comparison, pair by pair; with NaN only ``not_equal`` holds.

    Operands: ``x``, ``y`` of one element type (booleans too), shapes broadcast. Result: bool of
    the broadcast shape.

    Attributes:
        relation: Relation that is tested.
    """

    name: ClassVar[str] = "real.compare"
    traits: ClassVar[Traits] = Traits(elementwise=True)
    operand_count: ClassVar[int | tuple[int, int | None]] = 2
    relation: Comparison

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return bool of the broadcast shape."""
        _check_ordered(self, *operands)
        return (TensorType(broadcast_shapes(self, *operands), DType.BOOL),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the booleans."""
        x, y = map(widen, operands)
        return (np.asarray(RELATIONS[self.relation](x, y)),)


def _check_ordered(op: Op, *types: TensorType) -> None:
    """Raise ShapeError unless all of ``types`` hold numbers, or all booleans."""
    check_same(op, *types)
    if types[0].dtype is not DType.BOOL:
        check_number(op, *types)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealWhere(Op):
    """``x`` where a condition holds, ``y`` elsewhere.

    Operands: ``condition`` bool, ``x``, ``y`` of one element type; shapes broadcast. Result: that
    element type, of the broadcast shape.
    """

    name: ClassVar[str] = "real.where"
    traits: ClassVar[Traits] = Traits(elementwise=True)
    operand_count: ClassVar[int | tuple[int, int | None]] = 3

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the choices' element type with the broadcast shape."""
        condition, x, y = operands
        if condition.dtype is not DType.BOOL:
            raise self.refuse(f"the condition must be bool, got {condition}")
        check_same(self, x, y)
        check_unquantized(self, x, y)
        return (TensorType(broadcast_shapes(self, *operands), x.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the chosen elements."""
        condition, x, y = operands
        return (np.where(condition, x, y),)
