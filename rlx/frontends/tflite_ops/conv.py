"""Convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.frontends.refusal import MalformedError
from rlx.frontends.tflite_ops.call import importer
from rlx.frontends.tflite_ops.parts import (
    activation_bounds,
    bias_array,
    bias_constant,
    check_accumulator,
    layer_rescale,
    weight_constant,
    weights,
    window,
)
from rlx.ops.q import QConv2d

if TYPE_CHECKING:
    from rlx.frontends.tflite_file import Tensor
    from rlx.frontends.tflite_ops.call import Call
    from rlx.frontends.tflite_ops.parts import Axes


@importer("CONV_2D")
def import_conv(call: Call) -> None:
    """``CONV_2D`` with weights OHWI; fewer input channels in the weights mean groups."""
    call.arity(2, 3)
    tensor, array = weights(call, 1, rank=4, axis=0)
    channels, inner = _channels(call), array.shape[3]
    if channels % inner:
        raise MalformedError(
            f"{tensor.label} is {tensor.described}, but the input has {channels} channels"
        )
    _convolve(call, tensor, groups=channels // inner)


@importer("DEPTHWISE_CONV_2D")
def import_depthwise(call: Call) -> None:
    """``DEPTHWISE_CONV_2D`` with weights 1HWO, the multiplier's channels of an input adjacent."""
    call.arity(2, 3)
    tensor, array = weights(call, 1, rank=4, axis=3)
    channels = _channels(call)
    # The weights say it too; where the option was left out, the interpreter goes by them.
    multiplier = call.options["depth_multiplier"] or array.shape[3] // channels
    if array.shape[0] != 1 or array.shape[3] != channels * multiplier:
        raise MalformedError(
            f"{tensor.label} is {tensor.described}, want 1 in front and "
            f"{channels} channels x {multiplier} behind"
        )
    _convolve(call, tensor, groups=channels, axes=(3, 1, 2, 0))


def _channels(call: Call) -> int:
    image = call.input(0)
    if len(image.shape) != 4:
        raise MalformedError(f"{image.label} is {image.described}, want 4 dimensions")
    return image.shape[3]


def _convolve(call: Call, tensor: Tensor, groups: int, axes: Axes = ()) -> None:
    """Append a convolution; ``axes`` bring the weights into the order OHWI."""
    x, quant, result = call.value(0), call.quant(0), call.result_quant
    outputs, rows, columns, _ = (tensor.shape[a] for a in axes or range(4))
    bias = bias_array(call, 2, outputs)
    check_accumulator(call, tensor, bias, quant.zero_point, axes)
    low, high = activation_bounds(call, result)
    op = QConv2d(
        window=window(call, call.input(0), (rows, columns)),
        groups=groups,
        x_zero_point=quant.zero_point,
        rescale=layer_rescale(tensor, quant, result),
        zero_point=result.zero_point,
        low=low,
        high=high,
    )
    call.finish(op, x, weight_constant(call, tensor, axes), bias_constant(call, 2, bias))
