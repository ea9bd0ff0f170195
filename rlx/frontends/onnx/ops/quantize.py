"""QuantizeLinear, DequantizeLinear, and layers on quantized values.

Tests: tests/unit/frontends/onnx/ops/test_qlinear.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.frontends.onnx.elements import DTYPES, ELEMENTS, UNSIGNED_BITS
from rlx.frontends.onnx.ops.conv import conv_window
from rlx.frontends.onnx.ops.linear import matmul
from rlx.frontends.onnx.ops.registry import importer
from rlx.ir import DType, QuantParams
from rlx.ops import real
from rlx.ops.nn.layout import to_channels_first, to_channels_last
from rlx.ops.quantized_values import meant, plain_integers
from rlx.ops.real import RealQuantize, Ties
from rlx.ops.real.cast import integer_range
from rlx.ops.real.quantize import along_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real
    from rlx.ir import Array, TensorType

MICROSOFT: Final = "com.microsoft"
"""Domain of the operators of ONNX Runtime that are not in the standard."""


def params(
    call: Call, x: TensorType, scale: Array, zero_point: Array | None, axis: int | None = None
) -> QuantParams | None:
    """Return the quantization of values of ``x``; None if scales are in blocks.

    Args:
        call: The node.
        x: Type of the quantized values or of the real values that they represent.
        scale: One scale, or one for each index of ``axis``.
        zero_point: As many zero points, None for 0.
        axis: The axis; None for the attribute ``axis``.
    """
    scales = np.asarray(scale, np.float64)
    if scales.ndim > 1:
        return None
    points = np.zeros(scales.shape) if zero_point is None else zero_point.astype(np.int64)
    if points.size != scales.size:
        raise call.malformed(f"there are {scales.size} scales, but {points.size} zero points")
    if not (np.isfinite(scales) & (scales > 0)).all():
        bad = float(scales.reshape(-1)[int((~(scales > 0)).reshape(-1).argmax())])
        raise call.malformed(
            f"has the scale {bad!r}, expected finite numbers above 0",
            hint="quantize the model again with samples in which this tensor is not constant",
        )
    values = tuple(float(s) for s in scales.reshape(-1))
    zeros = tuple(int(z) for z in points.reshape(-1))
    if len(values) == 1:
        return QuantParams(values, zeros)
    channel_axis = call.integer("axis", 1) if axis is None else axis
    return QuantParams(values, zeros, call.axis(channel_axis, x.rank))


def _points(call: Call, index: int) -> Array | None:
    return call.array(index) if call.has(index) else None


def _result_type(call: Call) -> tuple[DType, tuple[int, int] | None]:
    """Return element type of the result of a ``QuantizeLinear``, and bounds that are narrower."""
    if call.has(2):
        return call.type(2).dtype, call.bounds(2)
    number = call.integer("output_dtype", 0)
    if number in UNSIGNED_BITS:
        return DType.U8, (0, (1 << UNSIGNED_BITS[number]) - 1)
    if number and number not in DTYPES:
        raise call.refuse(f"makes {ELEMENTS.get(number, number)}, which rlx does not model")
    # uint8 where neither a zero point nor output_dtype says another type (ONNX).
    return DTYPES[number] if number else DType.U8, None


def within(x: Real, quant: QuantParams, bounds: tuple[int, int] | None) -> Real:
    """Return floats clamped to the range that quantized values within bounds represent."""
    if bounds is None:
        return x
    steps = along_axis(quant, quant.scale, x.ndim, np.float32)
    points = along_axis(quant, quant.zero_point, x.ndim, np.float32)
    low, high = (x.lift(np.asarray((end - points) * steps, np.float32)) for end in bounds)
    return x.maximum(low).minimum(high)


@importer("QuantizeLinear")
@importer("QuantizeLinear", domain=MICROSOFT)
def import_quantize(call: Call) -> Real:
    """``QuantizeLinear``: ties round to even."""
    x, (dtype, bounds), _ = call.value(0), _result_type(call), call.integer("axis", 1)
    fixed = call.known(1) is not None and (not call.has(2) or call.known(2) is not None)
    same = call.type(1).dtype is x.dtype or x.dtype is DType.I32
    if fixed and same and dtype.is_integer and call.integer("block_size", 0) == 0:
        quant = params(call, x.type, call.array(1), _points(call, 2))
        if quant is not None and (bounds is None or x.dtype is DType.F32):
            y = x if x.dtype.is_float else x.cast(DType.F32)
            op = RealQuantize(quant=quant, dtype=dtype, ties=Ties.EVEN)
            return within(y, quant, bounds).apply(op)
    return _quantize_in_steps(call, x, dtype, bounds)


def _quantize_in_steps(call: Call, x: Real, dtype: DType, bounds: tuple[int, int] | None) -> Real:
    """Quantize by scales that are computed or in blocks, or to elements that are not integers."""
    precision = call.integer("precision", 0)
    wide = DTYPES.get(precision, DType.F32) if precision else DType.F32
    saturate = call.integer("saturate", 1)
    steps = x.cast(wide) / _broadcast_scales(call, call.value(1), x).cast(wide)
    if dtype.is_float:
        if not saturate:
            return steps.cast(dtype)
        # Largest finite numbers of E4M3 and E5M2 (OCP 8-bit floating point, OFP8).
        limit = 448.0 if dtype is DType.F8E4M3 else 57344.0
        return steps.maximum(-limit).minimum(limit).cast(dtype)
    point = _broadcast_scales(call, call.value(2), x) if call.has(2) else None
    return saturated(steps, point, dtype, bounds)


def saturated(
    steps: Real, point: Real | None, dtype: DType, bounds: tuple[int, int] | None = None
) -> Real:
    """Return steps rounded to even, with the zero point added, saturated."""
    low, high = bounds or integer_range(dtype)
    values = steps.apply(real.RealRound())
    if point is not None:
        values = values + point.cast(steps.dtype)
    return values.maximum(float(low)).minimum(float(high)).cast(dtype)


def _broadcast_scales(call: Call, scales: Real, x: Real) -> Real:
    """Return scales or zero points with the shape, or a broadcast shape, of ``x``."""
    block = call.integer("block_size", 0)
    single = scales.ndim == 0 or scales.shape == (1,)
    axis = 0 if single else call.axis(call.integer("axis", 1), x.ndim)
    if single or (scales.ndim == 1 and block == 0):
        return _along(scales, x, axis)
    if block < 1 or scales.ndim != x.ndim:
        raise call.malformed(f"the scales are {scales.type}, the input is {x.type}")
    wider = scales.expand_dims(axis + 1)
    front, back = scales.shape[: axis + 1], scales.shape[axis + 1 :]
    repeated = wider.broadcast_to(*front, block, *back)
    whole = repeated.reshape(*scales.shape[:axis], scales.shape[axis] * block, *back)
    size = x.shape[axis]
    return whole[(*(slice(None),) * axis, slice(0, size if isinstance(size, int) else None))]


@importer("DequantizeLinear")
@importer("DequantizeLinear", domain=MICROSOFT)
def import_dequantize(call: Call) -> Real:
    """``DequantizeLinear``."""
    x, scale, _ = call.value(0), call.value(1), call.integer("axis", 1)
    number = call.integer("output_dtype", 0)
    dtype = DTYPES.get(number) if number else scale.dtype
    if dtype is None:
        raise call.refuse(f"makes numbers of a type that rlx does not model ({number})")
    fixed = call.known(1) is not None and (not call.has(2) or call.known(2) is not None)
    if fixed and x.dtype.is_integer and dtype is DType.F32 and call.integer("block_size", 0) == 0:
        x, scales = _without_zero_scales(call, x, call.array(1))
        quant = params(call, x.type, scales, _points(call, 2))
        if quant is not None:
            x, quant = _narrow_constant(call, x, quant)
            return meant(with_meaning(call, x, quant), quant)
    points = call.value(2) if call.has(2) else None
    steps = plain_integers(x).cast(DType.F32)
    if points is not None:
        steps = steps - _broadcast_scales(call, points, x).cast(DType.F32)
    return (steps * _broadcast_scales(call, scale, x).cast(DType.F32)).cast(dtype)


def _without_zero_scales(call: Call, x: Real, scales: Array) -> tuple[Real, Array]:
    """Return constant integers and scales with zeros where a scale is 0: any scale holds these."""
    array, zero = x.array, np.asarray(scales) == 0
    if array is None or not zero.any() or zero.ndim > 1:
        return x, scales
    points = (
        np.zeros(zero.shape, np.int64) if (zero_points := _points(call, 2)) is None else zero_points
    )
    shape = [1] * array.ndim
    if zero.size > 1:
        shape[call.axis(call.integer("axis", 1), array.ndim)] = -1
    integers = np.where(zero.reshape(shape), points.reshape(shape).astype(array.dtype), array)
    # One like those of the other channels: a bias is stored in its steps.
    used = np.asarray(scales, np.float32)[~zero]
    fine = used.min() if used.size else np.float32(2**-10)
    return call.constant(integers), np.where(zero, fine, np.asarray(scales, np.float32))


def _narrow_constant(call: Call, x: Real, quant: QuantParams) -> tuple[Real, QuantParams]:
    """Return constant integers in 4 or 2 bits without zero points, if all within bounds fit."""
    bounds = call.bounds(0)
    if x.array is None or bounds is None:
        return x, quant
    low, high = bounds[0] - max(quant.zero_point), bounds[1] - min(quant.zero_point)
    for dtype in (DType.I2, DType.I4):
        first, last = integer_range(dtype)
        if first <= low and high <= last:
            points = along_axis(quant, quant.zero_point, x.ndim, np.int64)
            array = (x.array.astype(np.int64) - points).astype(dtype.numpy)
            plain = replace(quant, zero_point=(0,) * len(quant.scale))
            return call.quantized(array, plain), plain
    return x, quant


def with_meaning(call: Call, x: Real, quant: QuantParams) -> Real:
    """Return quantized constants with their scale on the type; other values unchanged.

    Values whose type says another scale become plain integers.
    """
    if x.type.quant not in (None, quant):
        x = plain_integers(x)
    if x.array is None or x.type.quant is not None:
        return x
    return call.quantized(x.array, quant)


@importer("DynamicQuantizeLinear")
def import_dynamic_quantize(call: Call) -> Sequence[Real]:
    """``DynamicQuantizeLinear``: uint8 quantized values by the range of each input."""
    return dynamically_quantized(call.value(0))


def dynamically_quantized(x: Real) -> tuple[Real, Real, Real]:
    """Return uint8 quantized values by the range of a value, their scale and zero point."""
    high, low = x.max().maximum(0.0), x.min().minimum(0.0)
    scale = (high - low) / 255.0
    scale = scale.lift(1.0).where(scale.equal(0.0), scale)
    point = (-(low / scale)).maximum(0.0).minimum(255.0).apply(real.RealRound())
    values = ((x / scale).apply(real.RealRound()) + point).maximum(0.0).minimum(255.0)
    return values.cast(DType.U8), scale, point.cast(DType.U8)


def centred_operand(call: Call, index: int, point: int, axis: int) -> Real:
    """Return values less their zero points as int32; points of an axis broadcast along it."""
    x = plain_integers(call.value(index)).cast(DType.I32)
    return x - _along(call.value(point).cast(DType.I32), x, axis) if call.has(point) else x


@importer("MatMulInteger")
def import_matmul_integer(call: Call) -> Real:
    """``MatMulInteger``: the product of quantized values less their zero points, int32."""
    a, b = call.type(0), call.type(1)
    return matmul(centred_operand(call, 0, 2, a.rank - 2), centred_operand(call, 1, 3, b.rank - 1))


@importer("ConvInteger")
def import_conv_integer(call: Call) -> Real:
    """``ConvInteger``: the convolution of quantized values less their zero points, int32."""
    return _integer_conv(call, centred_operand(call, 0, 2, 1), centred_operand(call, 1, 3, 0))


def _integer_conv(call: Call, x: Real, w: Real) -> Real:
    window, groups = conv_window(call, x, w)
    image = x.transpose(*to_channels_last(x.ndim))
    kernels = w.transpose(*to_channels_last(w.ndim))
    y = image.apply(real.RealConv(window=window, groups=groups), kernels)
    return y.transpose(*to_channels_first(y.ndim))


def meant_operand(call: Call, indices: tuple[int, int, int], axis: int) -> Real:
    """Return the dequantized operand at a place, with the scale and the point at others."""
    x, scale, point = call.value(indices[0]), call.known(indices[1]), call.known(indices[2])
    if scale is not None and point is not None and scale.dtype == np.float32:
        quant = params(call, x.type, scale, point, axis)
        if quant is not None:
            return meant(with_meaning(call, x, quant), quant)
    factor, zero = (
        _along(call.value(p).cast(d), x, axis)
        for p, d in ((indices[1], DType.F32), (indices[2], DType.I32))
    )
    return (plain_integers(x).cast(DType.I32) - zero).cast(DType.F32) * factor


def _along(vector: Real, x: Real, axis: int) -> Real:
    """Return a scalar, or one value for each index of an axis, so that they broadcast."""
    if vector.ndim > 1:
        return vector
    if vector.ndim == 0 or vector.shape == (1,):
        return vector.reshape()
    return vector.reshape(*vector.shape, *(1,) * (x.ndim - axis - 1))


def coded(call: Call, y: Real, scale: int, point: int) -> Real:
    """Return quantized values of the output, which has one scale."""
    dtype, factor, zero = call.type(point).dtype, call.known(scale), call.known(point)
    if factor is not None and zero is not None and factor.dtype == np.float32:
        given = params(call, y.type, factor, zero, 0)
        if given is not None and given.axis is None:
            return y.apply(RealQuantize(quant=given, dtype=dtype, ties=Ties.EVEN))
    factors, zeros = (_along(call.value(p), y, max(y.ndim - 2, 0)) for p in (scale, point))
    return saturated(y / factors.cast(DType.F32), zeros, dtype)
