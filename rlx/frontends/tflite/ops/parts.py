"""Parts of a call that several importers read: weights, biases, activations, window geometry.

Tests: tests/unit/frontends/tflite/ops/test_conv.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rlx.frontends import quantization
from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite.ops.tensors import narrow_dtype, nonzero, require_type
from rlx.frontends.tflite.schema import Activation, Padding, TensorType
from rlx.frontends.work import check_sizes
from rlx.ir import QuantParams
from rlx.ops.numerics.products import magnitudes
from rlx.ops.q import Window

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.frontends.quantization import Bounds
    from rlx.frontends.tflite.file import Quantization, Tensor
    from rlx.frontends.tflite.ops.call import Call
    from rlx.frontends.tflite.ops.tensors import PerTensor
    from rlx.ir import Value
    from rlx.ops.numerics.fixed_point import Rescale

Axes = tuple[int, ...]
Bias: TypeAlias = "npt.NDArray[np.signedinteger[Any]]"


def activation_bounds(call: Call, quant: PerTensor) -> Bounds:
    """Return the range of quantized values that a fused activation lets through."""
    activation = Activation(call.options["activation"])
    if activation not in _REAL_BOUNDS:
        raise UnsupportedError(
            f"has the fused activation {activation.name}",
            hint="make the activation a separate layer after this one",
        )
    low, high = _REAL_BOUNDS[activation]
    return quantization.activation_bounds(low, high, quant.real, quant.zero_point, call.dtype)


_REAL_BOUNDS: dict[Activation, tuple[float | None, float | None]] = {
    Activation.NONE: (None, None),
    Activation.RELU: (0.0, None),
    Activation.RELU6: (0.0, 6.0),
    Activation.RELU_N1_TO_1: (-1.0, 1.0),
}


def window(call: Call, image: Tensor, kernel: tuple[int, int]) -> Window:
    """Return the window of a convolution or pool with SAME or VALID made explicit."""
    options = call.options
    if len(image.shape) != 4:
        raise MalformedError(f"{image.label} is {image.described}, expected 4 dimensions")
    stride = (options["stride_h"], options["stride_w"])
    dilation = (options.get("dilation_h", 1), options.get("dilation_w", 1))
    explicit = Window(kernel, stride, dilation)
    if options["padding"] == Padding.SAME:
        explicit = Window.same(image.shape[1:3], kernel, stride, dilation)
    check_sizes(explicit, call.scope.limits)
    return explicit


def weights(call: Call, index: int, rank: int, axis: int) -> Tensor:
    """Return constant weights whose zero point is 0; scales, if several, must run along ``axis``.

    They are int8, or int16 where they are too far from the zero point that they have in the file
    (see ``rlx.frontends.tflite.ops.wide``).
    """
    tensor = call.constant(index)
    require_type(tensor, TensorType.INT8)
    if len(tensor.shape) != rank:
        raise MalformedError(f"{tensor.label} is {tensor.described}, expected {rank} dimensions")
    quantization = tensor.quantization
    if quantization is None:
        raise MalformedError(f"{tensor.label} is {tensor.described} without scales")
    if not quantization.per_tensor:
        _check_axis(tensor, quantization, axis)
    if tensor.index in call.scope.from_uint8 and not quantization.per_tensor:
        raise UnsupportedError(
            f"{tensor.label} is uint8 with {len(quantization.scale)} scales, expected one",
            hint="store weights that have a scale for each channel as int8",
        )
    return _centred(call, tensor, quantization) if quantization.zero_point.any() else tensor


def _centred(call: Call, tensor: Tensor, quantization: Quantization) -> Tensor:
    """Return weights as distances from their zero point.

    TensorFlow Lite Micro ignores the zero point of int8 weights, except in dense layers.
    """
    dense = call.operator.name == "FULLY_CONNECTED" and quantization.per_tensor
    if not dense and tensor.index not in call.scope.from_uint8:
        raise UnsupportedError(
            f"{tensor.label} is int8 with a zero point other than 0",
            hint="quantize the weights symmetrically",
        )
    distances = tensor.array().astype(np.int16) - quantization.zero_point.astype(np.int16)
    narrow = distances.astype(np.int8)
    fits = np.array_equal(narrow, distances)
    array = narrow if fits else distances
    return replace(
        tensor,
        type=TensorType.INT8 if fits else TensorType.INT16,
        data=array.reshape(-1).view(np.uint8),
        quantization=replace(quantization, zero_point=np.zeros_like(quantization.zero_point)),
    )


def _check_axis(tensor: Tensor, quantization: Quantization, axis: int) -> None:
    """Check that there is one scale for each index of ``axis``."""
    if quantization.axis != axis:
        raise UnsupportedError(
            f"{tensor.label} is quantized along axis {quantization.axis}, expected {axis}",
            hint="quantize the weights with one scale for each output channel",
        )
    count = len(quantization.scale)
    if tensor.shape[axis] != count:
        raise MalformedError(
            f"{tensor.label} has {count} scales along axis {axis}, "
            f"which has {tensor.shape[axis]} indices"
        )


def weight_scales(tensor: Tensor) -> tuple[float, ...]:
    """Return the scales of weights in double precision: one, or one for each channel."""
    if tensor.quantization is None:
        raise AssertionError("weights() has checked that there are scales")
    return tuple(float(s) for s in tensor.quantization.scale)


def layer_rescale(call: Call, tensor: Tensor, bias: Bias, image: int = 0) -> Rescale:
    """Return the scaling of accumulators to the result: one factor for each scale of the weights.

    Args:
        call: The operator.
        tensor: Its weights.
        bias: Its bias, whose type is that of the accumulators.
        image: Index of the input that the weights multiply.
    """
    return quantization.linear_rescale(
        call.quant(image).real,
        weight_scales(tensor),
        call.result_quant.real,
        precision=call.precision,
        wide=bias.dtype == np.int64,
    )


def weight_constant(call: Call, tensor: Tensor, axes: Axes = ()) -> Value:
    """Return weights, their axes reordered to ``axes``, output channels in front.

    Layers that read one tensor in one order share the constant.
    """
    shared, key = call.scope.weights, (tensor.index, axes)
    if key not in shared:
        scales = tuple(s or 1.0 for s in weight_scales(tensor))  # see nonzero()
        quant = QuantParams(scales, (0,) * len(scales), None if len(scales) == 1 else 0)
        array = nonzero(tensor).astype(narrow_dtype(tensor).numpy, copy=False)
        shared[key] = call.scope.constant(tensor, array.transpose(axes) if axes else array, quant)
    return shared[key]


def bias_array(call: Call, index: int, channels: int) -> Bias:
    """Return a constant bias, zeros if it is absent: int32, or int64 where sums are int64.

    Sums of int16 values are int64, unless their bias is int32 in a layer that supports that.
    """
    tensor = call.optional(index)
    if tensor is None:
        wide = call.is_int16 and call.options.get("quantized_bias_type") != TensorType.INT32
        return np.zeros(channels, np.int64 if wide else np.int32)
    call.constant(index)
    if call.is_int16:
        require_type(tensor, TensorType.INT64, *_INT32_BIAS.get(call.operator.name, ()))
    else:
        require_type(tensor, TensorType.INT32)
    array: Bias = tensor.array().reshape(-1)
    if len(array) != channels:
        raise MalformedError(f"{tensor.label} has {len(array)} biases for {channels} channels")
    return array


_INT32_BIAS = dict.fromkeys(("CONV_2D", "FULLY_CONNECTED"), (TensorType.INT32,))
"""Layers of int16 values that may have an int32 bias; the reference reads int64 in others."""


def bias_constant(call: Call, index: int, array: Bias) -> Value:
    """Return the bias that ``bias_array`` returned; layers with one tensor share the constant."""
    tensor = call.optional(index)
    if tensor is None:
        return call.scope.graph.constant(array, origin=call.origin)
    shared, key = call.scope.weights, (tensor.index, ())
    known = shared[key].constant if key in shared else None
    if known is None or not np.array_equal(known, array):
        shared[key] = call.scope.constant(tensor, array)
    return shared[key]


def checked_bias(
    call: Call,
    tensor: Tensor,
    bias: Bias,
    zero_point: int,
    rescale: Rescale,
    axes: Axes = (),
) -> Bias:
    """Return the bias, after refusing weights with which a sum of products could leave int32.

    Sums of int16 values may be larger in int64, and wrap around in int32.

    A bias of -2^31 without weights becomes one more, whose magnitude fits int32 too, where it has
    the same results.

    Args:
        call: The operator.
        tensor: Its weights.
        bias: One bias for each output channel.
        zero_point: Zero point of the input, which may hold any int8 value.
        rescale: Rescaling of the sums to the result.
        axes: Order of the weights' axes that puts the output channels in front.
    """
    known, key = call.scope.magnitudes, (tensor.index, axes)
    if key not in known:
        array = nonzero(tensor)
        known[key] = magnitudes(array.transpose(axes) if axes else array)
    if call.is_int16:
        if rescale.is_wide:
            quantization.check_wide_sums(known[key], bias, rescale)
        return bias
    more = bias + ((bias == np.iinfo(np.int32).min) & (known[key] == 0))
    if (rescale.apply(more.astype(np.int64)) == rescale.apply(bias.astype(np.int64))).all():
        bias = more.astype(np.int32)
    quantization.check_accumulator(known[key], bias, zero_point)
    return bias
