"""Conversion between floats and quantized values."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import DType, Op, QuantParams, TensorType, Traits
from rlx.ops.real.cast import float_to_integer, integer_range
from rlx.ops.real.common import check_float, check_unquantized, widen
from rlx.ops.shapes import normalize_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array
    from rlx.ops.real.common import Numbers


class Ties(enum.Enum):
    """Rounding of a value between two integers.

    To the nearest integer, and halves ``AWAY`` from zero, as C's ``roundf`` and TensorFlow Lite;
    ``EVEN`` to the even one, as ONNX; ``ODD`` to the odd one, which is even once an odd zero point
    is added: for formats that add it before they round, as QONNX; ``TOWARD`` zero. Or ``FLOOR``:
    every value down, and ``CEIL``: every value up.
    """

    AWAY = "away"
    EVEN = "even"
    ODD = "odd"
    TOWARD = "toward"
    FLOOR = "floor"
    CEIL = "ceil"

    def round(self, x: Numbers) -> Numbers:
        """Return values rounded to integers."""
        if self is Ties.FLOOR:
            return np.floor(x)
        if self is Ties.CEIL:
            return np.ceil(x)
        if self in (Ties.EVEN, Ties.ODD):
            # In float64 a sum with 1 is exact where the value can have a half.
            odd = float(self is Ties.ODD)
            return np.asarray(np.rint(x + odd) - odd)
        # Not trunc(x + 1/2): that sum rounds up just below a half.
        fraction, whole = np.modf(x)
        size = np.abs(fraction)
        goes = size >= 0.5 if self is Ties.AWAY else size > 0.5
        return np.asarray(whole + np.copysign(goes, x))


def _check_params(op: Op, quant: QuantParams, x: TensorType, dtype: DType) -> None:
    """Raise ShapeError unless ``quant`` fits the shape of ``x`` and the range of ``dtype``."""
    if not dtype.is_integer:
        raise op.refuse(f"quantized values must be integers, got {dtype.value}")
    low, high = integer_range(dtype)
    if not all(low <= z <= high for z in quant.zero_point):
        raise op.refuse(f"expected zero points of {dtype.value} in [{low}, {high}], got {quant}")
    if quant.axis is not None:
        size = x.shape[normalize_axis(op, quant.axis, x.rank)]
        if size != len(quant.scale):
            raise op.refuse(f"axis {quant.axis} of {x} needs {size} scales, got {len(quant.scale)}")


def along_axis(quant: QuantParams, values: Sequence[float], rank: int, dtype: type) -> Numbers:
    """Return scales or zero points, shaped so that they broadcast along their axis."""
    array: Numbers = np.array(values, dtype)
    if quant.axis is None:
        return array.reshape(())
    shape = [1] * rank
    shape[quant.axis] = -1
    return array.reshape(shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealQuantize(Op):
    """Quantized values of floats: ``y = clamp(round(x / scale) + zero_point)``.

    The scale is rounded to float32 first; the quotient is float32 (float64 for f64). NaN
    becomes the zero point.

    Operand: ``x`` floating-point [*]. Result: integers [*] of ``dtype``, carrying ``quant``.

    Attributes:
        quant: Scales and zero points.
        dtype: Element type of the result.
        ties: Rounding of a value between two integers.

    Source: tflite-micro ``AffineQuantize`` (ties away); ONNX ``QuantizeLinear`` (ties even).
    """

    name: ClassVar[str] = "real.quantize"
    traits: ClassVar[Traits] = Traits()
    quant: QuantParams
    dtype: DType = DType.I8
    ties: Ties = Ties.AWAY

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the type of the quantized values."""
        (x,) = operands
        check_unquantized(self, x)
        check_float(self, x)
        _check_params(self, self.quant, x, self.dtype)
        return (TensorType(x.shape, self.dtype, self.quant),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized values."""
        (x,) = operands
        with np.errstate(all="ignore"):
            steps = widen(x) / along_axis(self.quant, self.quant.scale, x.ndim, np.float32)
        steps = np.where(np.isnan(steps), 0, steps).astype(np.float64)
        quantized = self.ties.round(steps) + along_axis(
            self.quant, self.quant.zero_point, x.ndim, np.float64
        )
        return (float_to_integer(quantized, self.dtype),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealDequantize(Op):
    """Floats of quantized values: ``y = scale * (x - zero_point)``, in float32.

    Operand: ``x`` integers [*]; if they carry quantization parameters, these must be ``quant``.
    Result: f32 [*].

    Attributes:
        quant: Scales and zero points.

    Source: tflite-micro ``Dequantize``; ONNX ``DequantizeLinear``.
    """

    name: ClassVar[str] = "real.dequantize"
    traits: ClassVar[Traits] = Traits()
    quant: QuantParams

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return f32 of the same shape."""
        (x,) = operands
        _check_params(self, self.quant, x, x.dtype)
        if x.quant is not None and x.quant != self.quant:
            raise self.refuse(f"{x} does not carry the parameters {self.quant}")
        return (TensorType(x.shape, DType.F32),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the floats."""
        (x,) = operands
        zero_point = along_axis(self.quant, self.quant.zero_point, x.ndim, np.int64)
        scale = along_axis(self.quant, self.quant.scale, x.ndim, np.float32)
        steps = x.astype(np.int64) - zero_point
        return (np.asarray(scale * steps.astype(np.float32), np.float32),)
