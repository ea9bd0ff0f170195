"""Tensor types: shape, element type and, for quantized values, quantization parameters."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt

from rlx.ir.dims import Dim

Array: TypeAlias = npt.NDArray[np.generic]


class DType(enum.Enum):
    """Element type of a tensor. The value is its name in printed IR."""

    F64 = "f64"
    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"
    F8E4M3 = "f8e4m3"
    F8E5M2 = "f8e5m2"
    I64 = "i64"
    I32 = "i32"
    I16 = "i16"
    I8 = "i8"
    I4 = "i4"
    I2 = "i2"
    U64 = "u64"
    U32 = "u32"
    U16 = "u16"
    U8 = "u8"
    BOOL = "bool"
    C64 = "c64"

    # Asked for every value in every pass: found once for each member.
    @cached_property
    def numpy(self) -> np.dtype[np.generic]:
        """NumPy's type for one element (sub-byte integers take one byte each in memory)."""
        return _NUMPY[self]

    @cached_property
    def bits(self) -> int:
        """Bits of one element where it is stored packed."""
        return _BITS.get(self, self.numpy.itemsize * 8)

    @cached_property
    def is_float(self) -> bool:
        """Whether elements are real and floating-point."""
        return self.value.startswith(("f", "bf"))

    @cached_property
    def is_integer(self) -> bool:
        """Whether elements are signed or unsigned integers."""
        return self.value[0] in "iu"

    @staticmethod
    def of(array: npt.NDArray[np.generic] | np.dtype[np.generic]) -> DType:
        """Return the element type of a NumPy array or dtype.

        Raises:
            ValueError: NumPy's type has no counterpart.
        """
        dtype = array if isinstance(array, np.dtype) else array.dtype
        try:
            return _FROM_NUMPY[dtype]
        except KeyError:
            known = ", ".join(d.value for d in DType)
            raise ValueError(f"no element type for numpy {dtype}; known: {known}") from None


_NUMPY: dict[DType, np.dtype[np.generic]] = {
    DType.F64: np.dtype(np.float64),
    DType.F32: np.dtype(np.float32),
    DType.F16: np.dtype(np.float16),
    DType.BF16: np.dtype(ml_dtypes.bfloat16),
    DType.F8E4M3: np.dtype(ml_dtypes.float8_e4m3fn),
    DType.F8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    DType.I64: np.dtype(np.int64),
    DType.I32: np.dtype(np.int32),
    DType.I16: np.dtype(np.int16),
    DType.I8: np.dtype(np.int8),
    DType.I4: np.dtype(ml_dtypes.int4),
    DType.I2: np.dtype(ml_dtypes.int2),
    DType.U64: np.dtype(np.uint64),
    DType.U32: np.dtype(np.uint32),
    DType.U16: np.dtype(np.uint16),
    DType.U8: np.dtype(np.uint8),
    DType.BOOL: np.dtype(np.bool_),
    DType.C64: np.dtype(np.complex64),
}
_FROM_NUMPY = {dtype: key for key, dtype in _NUMPY.items()}
_BITS = {DType.I4: 4, DType.I2: 2}


Shape: TypeAlias = tuple[int | Dim, ...]


@dataclass(frozen=True, slots=True)
class QuantParams:
    """Quantization parameters: ``real = scale * (quantized - zero_point)``.

    Attributes:
        scale: One positive scale for the tensor, or one for each index of ``axis``.
        zero_point: As many zero points as scales.
        axis: The axis that the scales belong to, None for one scale.
    """

    scale: tuple[float, ...]
    zero_point: tuple[int, ...] = (0,)
    axis: int | None = None

    def __post_init__(self) -> None:
        if len(self.scale) != len(self.zero_point):
            raise ValueError(f"{len(self.scale)} scales but {len(self.zero_point)} zero points")
        if self.axis is None and len(self.scale) != 1:
            raise ValueError(f"{len(self.scale)} scales need an axis")
        if not all(s > 0 and math.isfinite(s) for s in self.scale):
            raise ValueError("every scale must be positive and finite")

    @staticmethod
    def per_tensor(scale: float, zero_point: int = 0) -> QuantParams:
        """Return parameters with one scale and zero point for the whole tensor."""
        return QuantParams((float(scale),), (int(zero_point),))

    def __str__(self) -> str:
        if self.axis is None:
            return f"q({self.scale[0]!r}, {self.zero_point[0]})"
        pairs = ", ".join(f"{s!r}:{z}" for s, z in zip(self.scale, self.zero_point, strict=True))
        return f"q(axis={self.axis}, {pairs})"


@dataclass(frozen=True, slots=True)
class TensorType:
    """Shape and element type of a value; for quantized values also scale and zero point."""

    shape: Shape
    dtype: DType
    quant: QuantParams | None = None

    def __post_init__(self) -> None:
        if set(map(type, self.shape)) - _DIMENSIONS:
            object.__setattr__(self, "shape", _dimensions(self.shape))

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every dimension is an integer."""
        return Dim not in map(type, self.shape)

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The shape as integers.

        Raises:
            ValueError: A dimension is still a symbol.
        """
        if Dim in map(type, self.shape):
            raise ValueError(f"{self} still has symbolic dimensions; bind them first")
        return cast("tuple[int, ...]", self.shape)

    @property
    def size(self) -> int:
        """Number of elements (static shapes only)."""
        return math.prod(self.static_shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor stored packed (static shapes only)."""
        return (self.size * self.dtype.bits + 7) // 8

    def with_shape(self, shape: Shape) -> TensorType:
        """Return the same type with another shape."""
        return TensorType(shape, self.dtype, self.quant)

    def with_quant(self, quant: QuantParams | None) -> TensorType:
        """Return the same type with other quantization parameters."""
        return self if quant is self.quant else TensorType(self.shape, self.dtype, quant)

    def __str__(self) -> str:
        text = f"{self.dtype.value}[{', '.join(map(str, self.shape))}]"
        return f"{text} {self.quant}" if self.quant else text


_DIMENSIONS = {int, Dim}


def _dimensions(shape: Shape) -> Shape:
    """Return a shape with NumPy's integers as int.

    Raises:
        TypeError: An entry is neither an integer nor a symbol.
    """
    plain = tuple(int(d) if isinstance(d, np.integer) else d for d in shape)
    if isinstance(shape, str) or set(map(type, plain)) - _DIMENSIONS:
        raise TypeError(
            f"expected a shape of integers and Dim(name), got {shape!r}; "
            "write Dim('n') for a dimension that is bound later"
        )
    return plain


def i8(*shape: int | Dim, quant: QuantParams | None = None) -> TensorType:
    """Return the type of an int8 tensor.

    Example:
        >>> print(rlx.i8(1, 8, 8, 1))
        i8[1, 8, 8, 1]
    """
    return TensorType(_nonnegative(shape), DType.I8, quant)


def i32(*shape: int | Dim, quant: QuantParams | None = None) -> TensorType:
    """Return the type of an int32 tensor.

    Example:
        >>> print(rlx.i32(3))
        i32[3]
    """
    return TensorType(_nonnegative(shape), DType.I32, quant)


def f32(*shape: int | Dim) -> TensorType:
    """Return the type of a float32 tensor.

    Example:
        >>> print(rlx.f32(rlx.Dim("n"), 4))
        f32[n, 4]
    """
    return TensorType(_nonnegative(shape), DType.F32)


def _nonnegative(shape: Shape) -> Shape:
    """Return a shape that a user wrote.

    Raises:
        ValueError: A dimension is negative.
    """
    for size in shape:
        if isinstance(size, int) and size < 0:
            raise ValueError(
                f"a dimension must not be negative, got {size}; write Dim('n') for one that is"
                " bound later"
            )
    return shape
