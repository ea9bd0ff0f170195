"""Checks and bases that the integer ops share.

Tests: tests/unit/ops/q/test_arith.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from rlx.ir import DType, Op
from rlx.ops.numerics.fixed_point import Rescale, Rounding

if TYPE_CHECKING:
    from rlx.ir import TensorType
    from rlx.ops.numerics.fixed_point import Int64

INT8_MIN = -128
INT8_MAX = 127
INT16_MIN = -32768
INT16_MAX = 32767


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


def check_bias(op: Op, type_: TensorType, channels: int) -> None:
    """Raise ShapeError unless ``type_`` is int32 with one element for each channel."""
    if type_.dtype is not DType.I32 or type_.shape != (channels,):
        raise op.refuse(f"bias must be i32[{channels}], got {type_}")


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


def check_clamp(op: Op, low: int, high: int) -> None:
    """Raise ShapeError unless the bounds are ordered int8 values."""
    if not INT8_MIN <= low <= high <= INT8_MAX:
        raise op.refuse(
            f"bounds must satisfy -128 <= low <= high <= 127, not low {low} and high {high}"
        )


def check_zero_point(op: Op, *zero_points: int) -> None:
    """Raise ShapeError unless every zero point fits int8."""
    for zero_point in zero_points:
        if not INT8_MIN <= zero_point <= INT8_MAX:
            raise op.refuse(f"expected a zero point in [-128, 127], got {zero_point}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOp(Op):
    """Base of ops that compute from two int8 operands and scale the result to int8."""

    operand_count: ClassVar[int | tuple[int, int | None]] = 2
    x_zero_point: int
    y_zero_point: int
    rescale: Rescale
    zero_point: int
    low: int = INT8_MIN
    high: int = INT8_MAX

    def check_pair(self, x: TensorType, y: TensorType) -> None:
        """Raise ShapeError unless the operands and attributes are those of such an op."""
        check_int8(self, "first operand", x)
        check_int8(self, "second operand", y)
        check_rescale(self, self.rescale, 1)
        check_zero_point(self, self.x_zero_point, self.y_zero_point, self.zero_point)
        check_clamp(self, self.low, self.high)


def to_int8(x: Int64, zero_point: int, low: int, high: int) -> npt.NDArray[np.int8]:
    """Return ``clamp(x + zero_point, low, high)`` as int8."""
    clamped: npt.NDArray[np.int8] = np.asarray(np.clip(x + zero_point, low, high), np.int8)
    return clamped


def to_int16(x: Int64) -> npt.NDArray[np.int16]:
    """Return ``x`` clamped to int16."""
    clamped: npt.NDArray[np.int16] = np.asarray(np.clip(x, INT16_MIN, INT16_MAX), np.int16)
    return clamped
