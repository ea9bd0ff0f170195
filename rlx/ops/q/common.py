"""Checks and bases that the integer ops share.

Tests: tests/unit/ops/q/test_arith.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import numpy.typing as npt

from rlx.ir import DType, Op
from rlx.ops.numerics.fixed_point import Rescale, Rounding

if TYPE_CHECKING:
    from rlx.ir import Array, TensorType
    from rlx.ops.numerics.fixed_point import Int64

INT8_MIN = -128
INT8_MAX = 127
INT16_MIN = -32768
INT16_MAX = 32767

CODE_RANGE: Final = {
    DType.I8: (INT8_MIN, INT8_MAX),
    DType.U8: (0, 255),
    DType.I16: (INT16_MIN, INT16_MAX),
}
"""Minimum and maximum of the element types that activations have."""


def check_activation(op: Op, what: str, type_: TensorType, *, rank: int | None = None) -> None:
    """Raise ShapeError unless ``type_`` is int8 or int16 (and of the given rank)."""
    if type_.dtype not in (DType.I8, DType.I16):
        raise op.refuse(f"{what} must be i8 or i16, got {type_}")
    if rank is not None and type_.rank != rank:
        raise op.refuse(f"{what} must have {rank} dimensions, got {type_}")


def check_int8(op: Op, what: str, type_: TensorType, *, rank: int | None = None) -> None:
    """Raise ShapeError unless ``type_`` is int8 (and of the given rank)."""
    if type_.dtype is not DType.I8:
        raise op.refuse(f"{what} must be i8, got {type_}")
    if rank is not None and type_.rank != rank:
        raise op.refuse(f"{what} must have {rank} dimensions, got {type_}")


def check_int16(op: Op, what: str, type_: TensorType, *, rank: int | None = None) -> None:
    """Raise ShapeError unless ``type_`` is int16 (and of the given rank)."""
    if type_.dtype is not DType.I16:
        raise op.refuse(f"{what} must be i16, got {type_}")
    if rank is not None and type_.rank != rank:
        raise op.refuse(f"{what} must have {rank} dimensions, got {type_}")


def check_weights(op: Op, type_: TensorType, *, rank: int) -> None:
    """Raise ShapeError unless ``type_`` is int8, int4 or int2 of the given rank."""
    if type_.dtype not in (DType.I8, DType.I4, DType.I2) or type_.rank != rank:
        raise op.refuse(f"weights must be i8, i4 or i2 with {rank} dimensions, got {type_}")


def check_bias(op: Op, type_: TensorType, channels: int, *, wide: bool = False) -> None:
    """Raise ShapeError unless ``type_`` is int32 with one element for each channel.

    Args:
        op: The op.
        type_: Type of its bias.
        channels: Number of channels.
        wide: Whether the sums are int64, and the bias with them.
    """
    dtype = DType.I64 if wide else DType.I32
    if type_.dtype is not dtype or type_.shape != (channels,):
        raise op.refuse(f"bias must be {dtype.value}[{channels}], got {type_}")


def check_layer_rescale(op: Op, rescale: Rescale, channels: int, dtype: DType) -> None:
    """Raise ShapeError unless a layer may scale its sums of int8 or int16 values so."""
    check_rescale(op, rescale, channels, in_float32=dtype is DType.I8)
    if dtype is DType.I16 and not (rescale.is_wide or rescale.rounding is Rounding.DOUBLE):
        raise op.refuse(
            "sums of int16 values are scaled by multipliers of 15 bits or rounded twice,"
            f" got {rescale}"
        )


def check_rescale(op: Op, rescale: Rescale, channels: int, *, in_float32: bool = False) -> None:
    """Raise ShapeError unless there is one factor, or one for each channel.

    Args:
        op: The op.
        rescale: Its factors.
        channels: Number of channels.
        in_float32: Whether products may be rounded to float32, as those of layers.
    """
    if rescale.rounding is Rounding.FLOAT32 and not in_float32:
        raise op.refuse("only convolutions and dense layers have factors in float32")
    if rescale.channels not in (1, channels):
        raise op.refuse(f"rescale must have 1 or {channels} factors, got {rescale.channels}")


def check_clamp(op: Op, low: int, high: int, dtype: DType = DType.I8) -> None:
    """Raise ShapeError unless the bounds are ordered values of ``dtype``."""
    minimum, maximum = CODE_RANGE[dtype]
    if not minimum <= low <= high <= maximum:
        raise op.refuse(
            f"bounds must satisfy {minimum} <= low <= high <= {maximum},"
            f" not low {low} and high {high}"
        )


def check_zero_point(op: Op, *zero_points: int, dtype: DType = DType.I8) -> None:
    """Raise ShapeError unless every zero point fits int8; that of int16 values is 0."""
    low, high = CODE_RANGE[DType.I8] if dtype is DType.I8 else (0, 0)
    for zero_point in zero_points:
        if not low <= zero_point <= high:
            raise op.refuse(f"expected a zero point in [{low}, {high}], got {zero_point}")


def check_pad_value(op: Op, value: int, dtype: DType) -> None:
    """Raise ShapeError unless ``value`` fits ``dtype``."""
    low, high = CODE_RANGE[dtype]
    if not low <= value <= high:
        raise op.refuse(f"expected a value in [{low}, {high}], got {value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOp(Op):
    """Base of ops that compute from two operands and scale the result to their type."""

    operand_count: ClassVar[int | tuple[int, int | None]] = 2
    takes_int16: ClassVar[bool] = False
    x_zero_point: int
    y_zero_point: int
    rescale: Rescale
    zero_point: int
    low: int = INT8_MIN
    high: int = INT8_MAX

    def check_pair(self, x: TensorType, y: TensorType) -> None:
        """Raise ShapeError unless the operands and attributes are those of such an op."""
        check = check_activation if self.takes_int16 else check_int8
        check(self, "first operand", x)
        check(self, "second operand", y)
        if x.dtype is not y.dtype:
            raise self.refuse(f"operands must have one element type, got {x} and {y}")
        check_rescale(self, self.rescale, 1)
        zero_points = self.x_zero_point, self.y_zero_point, self.zero_point
        check_zero_point(self, *zero_points, dtype=x.dtype)
        check_clamp(self, self.low, self.high, x.dtype)


def to_int8(x: Int64, zero_point: int, low: int, high: int) -> npt.NDArray[np.int8]:
    """Return ``clamp(x + zero_point, low, high)`` as int8."""
    clamped: npt.NDArray[np.int8] = np.asarray(np.clip(x + zero_point, low, high), np.int8)
    return clamped


def to_width(x: Int64, zero_point: int, low: int, high: int, like: Array) -> Array:
    """Return ``clamp(x + zero_point, low, high)`` in the element type of ``like``."""
    return np.asarray(np.clip(x + zero_point, low, high), like.dtype)


def to_int16(x: Int64) -> npt.NDArray[np.int16]:
    """Return ``x`` clamped to int16."""
    clamped: npt.NDArray[np.int16] = np.asarray(np.clip(x, INT16_MIN, INT16_MAX), np.int16)
    return clamped
