"""Layers with weights: convolutions and dense layers.

Tests: tests/unit/passes/quantize/test_convert.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.ir import DType, QuantParams, Refusal
from rlx.ops.checks import accumulator_bound
from rlx.ops.nn import (
    Layout,
    NnBatchNorm,
    NnConv,
    NnLinear,
    NnQuantizedConv,
    NnQuantizedLinear,
)
from rlx.ops.nn.layout import to_channels_last
from rlx.ops.numerics.fixed_point import INT32_MAX, Rounding
from rlx.ops.numerics.products import magnitudes
from rlx.ops.numerics.scales import same_scale
from rlx.ops.q import QConv2d, QDense, Window
from rlx.ops.real import RealAdd, RealConv, RealMatmul
from rlx.ops.real.cast import integer_range
from rlx.ops.rescale import check_accumulator, float32_rescale, linear_rescale
from rlx.passes.quantize.biases import ChannelLine, bias_of, line_of
from rlx.passes.quantize.known import Stored, known, stored
from rlx.passes.quantize.offsets import offsets, turn_halves
from rlx.passes.quantize.rounding import round_weights
from rlx.passes.quantize.rules.boundary import check_int8, seen_as, stated_params
from rlx.passes.quantize.rules.call import quant_of, rule
from rlx.passes.quantize.rules.image import as_image, check_window, from_image, image_window
from rlx.passes.quantize.scheme import range_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from rlx.ir import Array, Node, Value
    from rlx.ops.numerics.fixed_point import Rescale
    from rlx.passes.quantize.rules.call import NodeConversion

    Doubles = npt.NDArray[np.float64]

_MAX_BIAS = 2.0**30
"""Steps of the accumulator that a bias may have: the other half of int32 is for products."""

_MAX_BIAS_RATIO = 64
"""Magnitude of a bias, in ranges of the result, above which it is a mask."""

_QUANTIZED = (NnQuantizedConv, NnQuantizedLinear)

_SYMMETRIC_HINT = "quantize the weights symmetrically, with the zero point 0"


def _check_constants(node: Node) -> Refusal | None:
    """Refuse weights or a bias that are computed."""
    if known(node.operands[0]) is not None:
        return Refusal("its input is constant and its weights are computed")
    for what, operand in zip(("weights", "bias"), node.operands[1:], strict=False):
        if known(operand) is None:
            return Refusal(
                f"its {what} are computed, rlx has no integer op for such products yet",
                hint="compute such layers (attention) outside, or in float on the host",
            )
        weights = stored(operand)
        if what == "weights" and weights is not None and _subtract_zero_points(weights) is None:
            return Refusal("its weights have a zero point", hint=_SYMMETRIC_HINT)
    return None


def _subtract_zero_points(values: Stored) -> npt.NDArray[np.int64] | None:
    """Return integers with their zero points subtracted; None if they do not fit int8 then."""
    zeros = np.array(values.quant.zero_point, np.int64)
    if values.quant.axis is not None:
        shape = [1] * values.array.ndim
        shape[values.quant.axis] = -1
        zeros = zeros.reshape(shape)
    centred = values.array.astype(np.int64) - zeros
    fits = not centred.size or (centred.min() >= -128 and centred.max() <= 127)
    return centred if fits else None


@dataclass(frozen=True, slots=True, eq=False)
class _Weights:
    """Quantized weights, output channels in front, and their scales: one, or one each."""

    array: Array
    scales: tuple[float, ...]

    @property
    def quant(self) -> QuantParams:
        count = len(self.scales)
        return QuantParams(self.scales, (0,) * count, None if count == 1 else 0)


def _weights(call: NodeConversion, axes: tuple[int, ...], bias: Doubles) -> _Weights:
    """Return the quantized weights, ``axes`` bringing the output channels to the front."""
    operand, line = call.node.operands[1], _line(call)
    model_weights = stored(operand)
    if model_weights is not None:
        weights = _stored_weights(call, model_weights, axes)
        return weights if line is None else _scale_weights(call, weights, line.factor)
    array = np.asarray(known(operand), np.float64).transpose(axes)
    if line is not None:
        array = array * _in_front(line.factor, array)
    return _round_weights(call, array, bias)


def _scale_weights(call: NodeConversion, weights: _Weights, factor: Doubles) -> _Weights:
    """Return stored weights with a factor for each output channel, which is one of the scales."""
    array = weights.array.astype(np.int64) * _in_front(np.sign(factor), weights.array).astype(int)
    scales = np.broadcast_to(np.array(weights.scales), factor.shape) * np.abs(factor)
    # The scale of a channel without weights is any; its bias is stored in the steps of it.
    scales = np.where(factor == 0, scales[factor != 0].min(initial=1.0), scales)
    low, high = integer_range(DType.of(weights.array))
    if array.max(initial=0) > high or array.min(initial=0) < low:
        if DType.of(weights.array) is DType.I8:
            raise call.refuse(
                "its normalization negates weights of -128, and int8 cannot hold 128",
                hint="quantize the weights from -127 to 127",
            )
        return _Weights(array.astype(np.int8), tuple(float(np.float32(s)) for s in scales))
    return _Weights(array.astype(weights.array.dtype), tuple(float(np.float32(s)) for s in scales))


def _in_front(numbers: Doubles, like: Array) -> Doubles:
    """Return a value for each output channel, shaped to multiply weights."""
    return numbers.reshape(-1, *(1,) * (like.ndim - 1))


def _round_weights(call: NodeConversion, array: Doubles, bias: Doubles) -> _Weights:
    """Return real weights, output channels in front, rounded as the scheme of the layer says."""
    if not np.isfinite(array).all():
        raise call.refuse("its weights hold NaN or infinite numbers", hint="train the model again")
    rows = array.reshape(len(array), -1)
    scheme = call.scheme
    # Scales must be large enough for the bias to fit the accumulator.
    smallest = np.abs(bias) / (quant_of(call.quantized(0)).scale[0] * _MAX_BIAS)
    if not scheme.per_channel:
        rows, smallest = rows.reshape(1, -1), smallest.max(initial=0.0, keepdims=True)
    rounded = round_weights(rows, scheme.bits, smallest=smallest)
    steps = rounded.steps.reshape(array.shape)
    call.conversion.bits[call.node] = scheme.bits
    return _Weights(steps.astype(scheme.dtype.numpy), tuple(rounded.scales.tolist()))


def _stored_weights(call: NodeConversion, values: Stored, axes: tuple[int, ...]) -> _Weights:
    """Return the very integers of a model, without their zero point."""
    quant, centred = values.quant, _subtract_zero_points(values)
    if centred is None:
        raise call.refuse("its weights have a zero point", hint=_SYMMETRIC_HINT)
    if quant.axis is not None and axes.index(quant.axis) != 0:
        raise call.refuse(
            f"its weights have a scale for each index of axis {quant.axis}, expected one for each"
            " output channel",
            hint="quantize the weights with one scale for each output channel",
        )
    dtype = DType.of(values.array)
    dtype = dtype if dtype in (DType.I4, DType.I2) else DType.I8
    call.conversion.bits[call.node] = dtype.bits
    scales = tuple(float(np.float32(s)) for s in quant.scale)
    return _Weights(centred.transpose(axes).astype(dtype.numpy), scales)


def _bias_operand(call: NodeConversion) -> Value | None:
    """Return the bias of a layer, its own or one that is added after it."""
    if call.addition is not None and len(call.node.operands) == 2 and _is_bias(call.addition):
        return bias_of(call.addition)
    return call.node.operands[2] if len(call.node.operands) > 2 else None


def _is_bias(node: Node) -> bool:
    """Return whether a node adds a bias right after its layer."""
    return isinstance(node.op, RealAdd) and any(
        isinstance(o.node.op, NnConv | NnLinear | RealConv | RealMatmul) for o in node.operands
    )


def _line(call: NodeConversion) -> ChannelLine | None:
    """Return the normalization after a layer that becomes part of it, if there is one."""
    if call.addition is None or (len(call.node.operands) == 2 and _is_bias(call.addition)):
        return None
    line = line_of(call.addition, call.node)
    # -inf that is added only masks.
    if not np.isfinite(line.factor).all() or np.isnan(line.shift).any():
        raise call.refuse("its factors are infinite or NaN", hint="train the model again")
    return line


def _bias(call: NodeConversion, outputs: int) -> Doubles:
    """Return the bias as reals."""
    operand = _bias_operand(call)
    if operand is None:
        return np.zeros(outputs)
    bias = np.asarray(known(operand), np.float64).reshape(-1)
    added = call.addition is not None and not np.isnan(bias).any()
    if not (np.isfinite(bias).all() or added):
        raise call.refuse("its bias holds NaN or infinite numbers", hint="train the model again")
    return bias


def _quantized_bias(call: NodeConversion, bias: Doubles, steps: Doubles) -> npt.NDArray[np.int32]:
    """Return the bias in ``steps`` of the accumulator, halves away from zero."""
    operand = _bias_operand(call)
    found = None if operand is None else stored(operand)
    if found is not None and _in_steps(found, steps):
        return np.asarray(found.array, np.int32).reshape(-1)
    return _in_accumulator(call, bias, steps)


def _without_masks(call: NodeConversion, axes: tuple[int, ...], bias: Doubles) -> Doubles:
    """Return a bias with masking values, such as -1e9, clamped where they saturate the result."""
    low, high = range_of(call.quant)
    if (np.abs(bias) <= _MAX_BIAS_RATIO * (high - low)).all():
        return bias
    weights = np.abs(np.asarray(call.known(1), np.float64).transpose(axes))
    x = max(map(abs, range_of(quant_of(call.quantized(0)))))
    # The largest sum of products: a bias beyond it and the range saturates for all inputs.
    reach = x * weights.reshape(len(weights), -1).sum(axis=1)
    line = _line(call)
    if line is not None:
        reach = reach * np.abs(line.factor)
    return np.clip(bias, low - reach, high + reach)


def _in_accumulator(call: NodeConversion, bias: Doubles, steps: Doubles) -> npt.NDArray[np.int32]:
    """Return reals in ``steps`` of the accumulator, halves away from zero."""
    ratio = bias / steps
    if not (np.abs(ratio) < 2.0**31 - 1).all():
        raise call.refuse(
            "its bias is too large for the scales of its input and weights",
            hint="quantize the weights again, or calibrate with representative samples",
        )
    return (np.sign(ratio) * np.floor(np.abs(ratio) + 0.5)).astype(np.int32)


def _in_steps(values: Stored, steps: Doubles) -> bool:
    """Return whether integers are int32 in the accumulator's steps, up to rounding of scales."""
    whole = values.array.dtype == np.int32 and not any(values.quant.zero_point)
    pairs = np.broadcast(values.quant.scale, steps)
    return whole and all(same_scale(*pair) for pair in pairs)


@dataclass(frozen=True, slots=True)
class _Layer:
    """Factors and addends of a layer, as constants of the integer graph."""

    weights: Value
    bias: Value
    rescale: Rescale


def _layer(call: NodeConversion, axes: tuple[int, ...], shape: tuple[int, ...] = ()) -> _Layer:
    """Append the constants of a layer.

    Args:
        call: The node.
        axes: Order of the weights' axes that puts the output channels in front.
        shape: Shape of the weights after that; their own if empty.
    """
    outputs = call.node.operands[1].type.static_shape[axes[0]]
    bias, x, line = _bias(call, outputs), quant_of(call.quantized(0)), _line(call)
    if line is not None:
        bias = line.factor * bias + line.shift
    bias = _without_masks(call, axes, bias)
    weights = _weights(call, axes, bias)
    steps = x.scale[0] * np.array(weights.scales)
    if line is None:
        quantized = _quantized_bias(call, bias, steps)
    else:
        quantized = _in_accumulator(call, bias, steps)
    return _constants(call, weights, quantized, shape or weights.array.shape)


def _constants(
    call: NodeConversion,
    weights: _Weights,
    quantized: npt.NDArray[np.int32],
    shape: tuple[int, ...],
) -> _Layer:
    """Append weights of a shape, and the bias."""
    x, sums = quant_of(_input(call)), magnitudes(weights.array)
    rescale = _factors(call, x.scale[0], weights)
    if call.stated is not None and rescale.rounding is Rounding.SINGLE:
        added = offsets(rescale, call.stated)
        if added is None:
            raise call.directed()
        total = quantized + added
        largest = int(accumulator_bound(sums, total, x.zero_point[0]).max())
        rescale = turn_halves(rescale, call.stated, largest)
        quantized = np.clip(total, -INT32_MAX, INT32_MAX).astype(np.int32)
    check_accumulator(sums, quantized, x.zero_point[0])
    array = np.ascontiguousarray(weights.array.reshape(shape))
    return _Layer(
        call.constant(array, "weights", weights.quant), call.constant(quantized, "bias"), rescale
    )


def _factors(call: NodeConversion, x_scale: float, weights: _Weights) -> Rescale:
    """Return the scaling of the accumulators of a layer, to the nearest integer."""
    op, of = call.node.op, (x_scale, weights.scales, call.quant.scale[0])
    if isinstance(op, _QUANTIZED) and call.nearest is Rounding.EVEN:
        return float32_rescale(*of, op.alpha)
    return linear_rescale(*of, call.nearest)


def _input(call: NodeConversion) -> Value:
    """Return the integers that a layer reads."""
    x = call.quantized(0)
    stated = stated_params(call.node).get(call.node.operands[0])
    return x if stated is None else seen_as(call, x, stated)


def _check_conv(node: Node) -> Refusal | None:
    return check_window(node) or _check_constants(node)


@rule(NnConv, RealConv, check=_check_conv, rescales=True)
def convolution(call: NodeConversion) -> Sequence[Value]:
    """``conv(x, w, bias)`` -> q.conv2d; an image of one axis is one of height 1."""
    axes, shape = _taps_last(call)
    return _append_conv(call, _layer(call, axes, shape))


def _layout(call: NodeConversion) -> Layout:
    op = call.node.op
    return Layout.CHANNELS_LAST if isinstance(op, RealConv) else cast("NnConv", op).layout


def _taps_last(call: NodeConversion) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the order of the weights' axes that integer ops have, and their shape then."""
    weights, window = call.node.operands[1].type, cast("NnConv | RealConv", call.node.op).window
    last = _layout(call) is Layout.CHANNELS_LAST
    axes = tuple(range(weights.rank)) if last else to_channels_last(weights.rank)
    shape = weights.static_shape
    return axes, (shape[0], *image_window(window).kernel, shape[axes[-1]])


def _append_conv(call: NodeConversion, layer: _Layer) -> Sequence[Value]:
    """Append a convolution."""
    op, layout, quant = cast("NnConv | RealConv", call.node.op), _layout(call), call.quant
    image, window = as_image(call, layout, _input(call)), image_window(op.window)
    conv = QConv2d(
        window=window,
        groups=op.groups,
        x_zero_point=quant_of(image).zero_point[0],
        rescale=layer.rescale,
        zero_point=quant.zero_point[0],
    )
    return [
        from_image(call, layout, call.emit(conv, image, layer.weights, layer.bias, quant=quant))
    ]


def _check_matmul(node: Node) -> Refusal | None:
    if known(node.operands[1]) is not None and node.operands[1].type.rank != 2:
        return Refusal(f"its constant operand is {node.operands[1].type}, expected two dimensions")
    return _check_constants(node)


@rule(NnLinear, check=_check_constants, rescales=True)
def dense(call: NodeConversion) -> Sequence[Value]:
    """``linear(x, w, bias)`` -> q.dense."""
    return [_dense(call, _layer(call, (0, 1)))]


@rule(RealMatmul, check=_check_matmul, rescales=True)
def product(call: NodeConversion) -> Sequence[Value]:
    """``x @ w`` -> q.dense, with constant w."""
    return [_dense(call, _layer(call, (1, 0)))]


def _dense(call: NodeConversion, layer: _Layer) -> Value:
    x, quant = _input(call), call.quant
    op = QDense(
        x_zero_point=quant_of(x).zero_point[0],
        rescale=layer.rescale,
        zero_point=quant.zero_point[0],
    )
    return call.emit(op, x, layer.weights, layer.bias, quant=quant)


def _check_quantized(node: Node) -> Refusal | None:
    """Refuse scales, weights or a bias that integers cannot hold or that are computed."""
    op = cast("NnQuantizedConv | NnQuantizedLinear", node.op)
    if isinstance(op, NnQuantizedConv) and (refused := check_window(node)):
        return refused
    for quant, dtype in ((op.x_quant, node.operands[0].type.dtype), (op.quant, op.dtype)):
        if refused := check_int8(quant, dtype):
            return refused
    weights = known(node.operands[1])
    if weights is not None and _subtract_zero_points(Stored(weights, op.w_quant)) is None:
        return Refusal("its weights have a zero point", hint=_SYMMETRIC_HINT)
    return _check_constants(node)


def _stored_layer(
    call: NodeConversion, axes: tuple[int, ...], shape: tuple[int, ...] = ()
) -> _Layer:
    """Append the constants of a layer on quantized values; its bias is in steps of the sum."""
    op = cast("NnQuantizedConv | NnQuantizedLinear", call.node.op)
    stored_ = Stored(np.asarray(call.known(1)), op.w_quant)
    weights = _stored_weights(call, stored_, axes)
    bias = np.zeros(len(weights.array), np.int32)
    if len(call.node.operands) > 2:
        bias = np.asarray(call.known(2), np.int32)
    return _constants(call, weights, bias, shape or weights.array.shape)


@rule(NnQuantizedConv, check=_check_quantized)
def quantized_convolution(call: NodeConversion) -> Sequence[Value]:
    """``quantized_conv(x, w, bias)`` -> q.conv2d."""
    axes, shape = _taps_last(call)
    return _append_conv(call, _stored_layer(call, axes, shape))


@rule(NnQuantizedLinear, check=_check_quantized)
def quantized_dense(call: NodeConversion) -> Sequence[Value]:
    """``quantized_linear(x, w, bias)`` -> q.dense."""
    return [_dense(call, _stored_layer(call, (0, 1)))]


def _check_batch_norm(node: Node) -> Refusal | None:
    """Refuse statistics that are computed, and channels that are not the last axis."""
    if cast("NnBatchNorm", node.op).axis % node.types[0].rank != node.types[0].rank - 1:
        return Refusal("its channels are not the last axis")
    constant = all(known(o) is not None for o in node.operands[1:])
    return None if constant else Refusal("its statistics are computed")


@rule(NnBatchNorm, check=_check_batch_norm, rescales=True)
def batch_norm(call: NodeConversion) -> Sequence[Value]:
    """``batch_norm(x)`` -> a depthwise q.conv2d: a factor and a bias of 32 bits a channel."""
    gamma, beta, mean, variance = (np.asarray(call.known(i), np.float64) for i in range(1, 5))
    factor = gamma / np.sqrt(variance + cast("NnBatchNorm", call.node.op).epsilon)
    bias = beta - mean * factor
    if not (np.isfinite(factor) & np.isfinite(bias)).all():
        raise call.refuse("its factors are infinite or NaN", hint="train the model again")
    x, channels, quant = call.quantized(0), len(factor), call.quant
    weights = _round_weights(call, factor[:, np.newaxis], bias)
    steps = quant_of(x).scale[0] * np.array(weights.scales)
    quantized = _in_accumulator(call, bias, steps)
    layer = _constants(call, weights, quantized, (channels, 1, 1, 1))
    size, shape = x.type.size // channels, x.type.static_shape
    image = x if x.type.rank == 4 else call.reshape(x, (1, size, 1, channels))
    op = QConv2d(
        window=Window(kernel=(1, 1)),
        groups=channels,
        x_zero_point=quant_of(x).zero_point[0],
        rescale=layer.rescale,
        zero_point=quant.zero_point[0],
    )
    product = call.emit(op, image, layer.weights, layer.bias, quant=quant)
    return [call.reshape(product, shape)]
