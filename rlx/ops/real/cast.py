"""Change of element type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import DType, Op, TensorType, Traits
from rlx.ops.real.common import check_unquantized, is_number, widen

if TYPE_CHECKING:
    from rlx.ir import Array

_INTEGER_RANGE = {
    dtype: (-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1)
    for dtype in (DType.I64, DType.I32, DType.I16, DType.I8, DType.I4, DType.I2)
} | {dtype: (0, (1 << dtype.bits) - 1) for dtype in (DType.U64, DType.U32, DType.U16, DType.U8)}


def integer_range(dtype: DType) -> tuple[int, int]:
    """Return the minimum and maximum of an integer type."""
    return _INTEGER_RANGE[dtype]


@dataclass(frozen=True, slots=True, kw_only=True)
class RealCast(Op):
    """The same values in another element type.

    Float to float rounds to the nearest, ties to even. Float to integer truncates towards zero,
    saturates, and makes 0 of NaN. Integer to integer keeps the low bits. To bool: whether the
    element is not 0. From bool: 0 or 1.

    Operand: ``x`` [*] of any real element type. Result: [*] of ``dtype``.

    Attributes:
        dtype: Element type of the result.
    """

    name: ClassVar[str] = "real.cast"
    traits: ClassVar[Traits] = Traits(elementwise=True)
    dtype: DType

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the same shape with the new element type."""
        (x,) = operands
        check_unquantized(self, x)
        if DType.C64 in (x.dtype, self.dtype):
            raise self.refuse(f"cannot convert {x} to {self.dtype.value}")
        return (TensorType(x.shape, self.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the converted elements."""
        (x,) = operands
        target = self.dtype.numpy
        if self.dtype is DType.BOOL:
            return (np.asarray(widen(x) != 0),)
        if self.dtype.is_integer and DType.of(x).is_float:
            return (float_to_integer(x, self.dtype),)
        if self.dtype.is_integer:
            return (_keep_low_bits(x, self.dtype),)
        with np.errstate(over="ignore", invalid="ignore"):
            return (np.asarray(x, dtype=target),)


def float_to_integer(x: Array, dtype: DType) -> Array:
    """Return ``x`` truncated towards zero and saturated; NaN becomes 0."""
    low, high = integer_range(dtype)
    wide = np.asarray(x, dtype=np.float64)
    whole = np.trunc(np.where(np.isnan(wide), 0.0, wide))
    # 2^63 - 1 and 2^64 - 1 are not exact in float64: compare first, convert only values that fit.
    fits = (whole >= low) & (whole < float(high + 1))
    converted = np.where(fits, whole, 0.0).astype(dtype.numpy)
    saturated = np.where(whole < 0, *np.array([low, high], _wide(dtype)))
    return np.where(fits, converted, saturated).astype(dtype.numpy)


def _wide(dtype: DType) -> type[np.int64 | np.uint64]:
    """Return NumPy's widest integers of the signedness of ``dtype``."""
    return np.uint64 if dtype.value.startswith("u") else np.int64


def _keep_low_bits(x: Array, dtype: DType) -> Array:
    """Return integers or booleans as ``dtype``, wrapped as two's complement does."""
    if dtype.bits >= 8:
        return np.asarray(x, dtype=dtype.numpy)
    half, modulus = 1 << (dtype.bits - 1), 1 << dtype.bits
    wrapped = (x.astype(np.int64) + half) % modulus - half
    return wrapped.astype(dtype.numpy)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealBitcast(Op):
    """The same bits, read as another element type of the same width.

    Operand: ``x`` [*] of floats of 8 bits or more, or quantized values, which become plain
    integers. Result: [*] of ``dtype``.

    Attributes:
        dtype: Element type of the result.
    """

    name: ClassVar[str] = "real.bitcast"
    traits: ClassVar[Traits] = Traits(elementwise=True)
    dtype: DType

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the same shape with the new element type."""
        (x,) = operands
        for dtype in (x.dtype, self.dtype):
            if not is_number(dtype) or dtype.bits != x.dtype.bits:
                raise self.refuse(f"cannot read the bits of {x} as {self.dtype.value}")
        return (TensorType(x.shape, self.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the same bits."""
        (x,) = operands
        return (np.ascontiguousarray(x).view(self.dtype.numpy).reshape(x.shape),)
