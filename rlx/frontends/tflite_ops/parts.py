"""What several importers need: weights, biases, activation ranges, window geometry."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite_ops.call import require_type
from rlx.frontends.tflite_schema import Activation, Padding, TensorType
from rlx.frontends.work import check_sizes
from rlx.ir import QuantParams
from rlx.numerics.fixed_point import INT32_MAX, Rescale
from rlx.numerics.products import magnitudes
from rlx.ops.checks import ACCUMULATOR_MAX, accumulator_bound
from rlx.ops.q import Window

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.frontends.tflite_file import Quantization, Tensor
    from rlx.frontends.tflite_ops.call import Call, Codes
    from rlx.ir import Value

Bounds = tuple[int, int]
Axes = tuple[int, ...]

_FACTOR_MAX = 2.0**30 - 1


def rescale_of(*reals: float) -> Rescale:
    """Return the fixed-point form of factors that come from a file's scales.

    From 2^30 on the interpreter shifts an int32 out of itself, which C leaves undefined.
    """
    for real in reals:
        if not real <= _FACTOR_MAX:
            raise UnsupportedError(
                f"the scales are so far apart that codes are multiplied by {real:.3g}, want less"
                " than 2^30",
                hint="quantize the model again; a scale is out of proportion",
            )
    return Rescale.of(*reals)


def activation_bounds(call: Call, codes: Codes) -> Bounds:
    """Return the codes that a fused activation lets through.

    Source: tflite-micro ``CalculateActivationRangeQuantized``.
    """
    activation = Activation(call.options["activation"])
    if activation not in _REAL_BOUNDS:
        raise UnsupportedError(
            f"has the fused activation {activation.name}",
            hint="make the activation a layer of its own behind this one",
        )
    low, high = _REAL_BOUNDS[activation]
    return (
        -128 if low is None else max(-128, quantized(low, codes)),
        127 if high is None else min(127, quantized(high, codes)),
    )


_REAL_BOUNDS: dict[Activation, tuple[float | None, float | None]] = {
    Activation.NONE: (None, None),
    Activation.RELU: (0.0, None),
    Activation.RELU6: (0.0, 6.0),
    Activation.RELU_N1_TO_1: (-1.0, 1.0),
}


def quantized(real: float, codes: Codes) -> int:
    """Return the code nearest to a real number, in float32, halves away from zero."""
    with np.errstate(over="ignore"):
        ratio = float(np.float32(real) / codes.scale)
    if not abs(ratio) <= INT32_MAX:
        raise MalformedError(
            f"the scale {codes.real!r} is too small for the activation's range",
            hint="quantize the model again with representative samples",
        )
    return codes.zero_point + math.floor(abs(ratio) + 0.5) * (1 if ratio >= 0 else -1)


def window(call: Call, image: Tensor, kernel: tuple[int, int]) -> Window:
    """Return the window of a convolution or pool with SAME or VALID made explicit."""
    options = call.options
    if len(image.shape) != 4:
        raise MalformedError(f"{image.label} is {image.described}, want 4 dimensions")
    stride = (options["stride_h"], options["stride_w"])
    dilation = (options.get("dilation_h", 1), options.get("dilation_w", 1))
    found = Window(kernel, stride, dilation)
    if options["padding"] == Padding.SAME:
        found = Window.same(image.shape[1:3], kernel, stride, dilation)
    check_sizes(found, call.scope.limits)
    return found


def weights(call: Call, place: int, rank: int, axis: int) -> tuple[Tensor, npt.NDArray[np.int8]]:
    """Return constant int8 weights; scales, if several, must run along ``axis``."""
    tensor = call.constant(place)
    require_type(tensor, TensorType.INT8)
    if len(tensor.shape) != rank:
        raise MalformedError(f"{tensor.label} is {tensor.described}, want {rank} dimensions")
    quantization = tensor.quantization
    if quantization is None:
        raise MalformedError(f"{tensor.label} is {tensor.described} without scales")
    if not quantization.per_tensor:
        _check_axis(tensor, quantization, axis)
    if quantization.zero_point.any():
        raise UnsupportedError(
            f"{tensor.label} has a zero point other than 0",
            hint="quantize the weights symmetrically",
        )
    return tensor, tensor.array()


def _check_axis(tensor: Tensor, quantization: Quantization, axis: int) -> None:
    """Check that there is one scale for each index of ``axis``."""
    if quantization.axis != axis:
        raise UnsupportedError(
            f"{tensor.label} is quantized along axis {quantization.axis}, want {axis}",
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


def layer_rescale(tensor: Tensor, codes: Codes, result: Codes) -> Rescale:
    """Return the scaling of a layer's accumulators to ``result``: one factor for each scale.

    Source: tflite-micro ``PopulateConvolutionQuantizationParams`` and
    ``GetQuantizedConvolutionMultipler``, which widen each scale to double first.

    Args:
        tensor: The weights.
        codes: Codes of the layer's input.
        result: Codes of its result.
    """
    return rescale_of(*(codes.real * s / result.real for s in weight_scales(tensor)))


def weight_constant(call: Call, tensor: Tensor, axes: Axes = ()) -> Value:
    """Return weights, their axes reordered to ``axes``, output channels in front.

    Layers that read one tensor in one order share the constant.
    """
    shared, key = call.scope.weights, (tensor.index, axes)
    if key not in shared:
        scales = weight_scales(tensor)
        quant = QuantParams(scales, (0,) * len(scales), None if len(scales) == 1 else 0)
        array = tensor.array()
        shared[key] = call.scope.constant(tensor, array.transpose(axes) if axes else array, quant)
    return shared[key]


def bias_array(call: Call, place: int, channels: int) -> npt.NDArray[np.int32]:
    """Return a constant int32 bias; zeros if it is absent."""
    tensor = call.optional(place)
    if tensor is None:
        return np.zeros(channels, np.int32)
    call.constant(place)
    require_type(tensor, TensorType.INT32)
    array: npt.NDArray[np.int32] = tensor.array().reshape(-1)
    if len(array) != channels:
        raise MalformedError(f"{tensor.label} has {len(array)} biases for {channels} channels")
    return array


def bias_constant(call: Call, place: int, array: npt.NDArray[np.int32]) -> Value:
    """Return the bias that ``bias_array`` returned; layers with one tensor share the constant."""
    tensor = call.optional(place)
    if tensor is None:
        return call.scope.graph.constant(array, origin=call.origin)
    shared, key = call.scope.weights, (tensor.index, ())
    if key not in shared:
        shared[key] = call.scope.constant(tensor, array)
    return shared[key]


def check_accumulator(
    call: Call,
    tensor: Tensor,
    bias: npt.NDArray[np.int32],
    zero_point: int,
    axes: Axes = (),
) -> None:
    """Refuse weights with which a sum of products could leave int32.

    Args:
        call: The operator.
        tensor: Its weights.
        bias: One bias for each output channel.
        zero_point: Zero point of the input, whose codes are taken to be any int8.
        axes: Order of the weights' axes that puts the output channels in front.
    """
    known, key = call.scope.magnitudes, (tensor.index, axes)
    if key not in known:
        array = tensor.array()
        known[key] = magnitudes(array.transpose(axes) if axes else array)
    bound = int(accumulator_bound(known[key], bias, zero_point).max())
    if bound > ACCUMULATOR_MAX:
        raise UnsupportedError(
            f"the accumulator may reach {bound}, which does not fit 32 bits",
            hint="quantize the layer again; its bias or its weights are out of proportion",
        )
