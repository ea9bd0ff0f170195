"""Convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.frontends.refusal import MalformedError
from rlx.frontends.tflite.ops.importers import importer, real_importer
from rlx.frontends.tflite.ops.parts import (
    activation_bounds,
    bias_array,
    bias_constant,
    checked_bias,
    layer_rescale,
    weight_constant,
    weights,
    window,
)
from rlx.frontends.tflite.ops.reals import (
    biased,
    finish_activated,
    finite,
    spatial_window,
    weight_tensor,
)
from rlx.frontends.tflite.ops.wide import finish_wide
from rlx.frontends.tflite.schema import Padding, TensorType
from rlx.frontends.work import check_sizes
from rlx.ops.nn import NnConv
from rlx.ops.q import QConv2d
from rlx.ops.real import SpatialWindow

if TYPE_CHECKING:
    from rlx.frontends.tflite.file import Tensor
    from rlx.frontends.tflite.ops.call import Call
    from rlx.frontends.tflite.ops.parts import Axes


@importer("CONV_2D")
def import_conv(call: Call) -> None:
    """``CONV_2D`` with weights OHWI; fewer input channels in the weights mean groups."""
    call.arity(2, 3)
    tensor = weights(call, 1, rank=4, axis=0)
    _convolve(call, tensor, groups=_groups(call, tensor))


@real_importer("CONV_2D")
def import_real_conv(call: Call) -> None:
    """``CONV_2D`` on float32."""
    call.arity(2, 3)
    tensor = weight_tensor(call, 1, rank=4)
    _convolve_reals(call, tensor, groups=_groups(call, tensor))


def _groups(call: Call, tensor: Tensor) -> int:
    """Return the ratio of the image's channels to the input channels of the weights OHWI."""
    channels, inner = _channels(call), tensor.shape[3]
    if channels % inner:
        raise MalformedError(
            f"{tensor.label} is {tensor.described}, but the input has {channels} channels"
        )
    return channels // inner


@importer("DEPTHWISE_CONV_2D")
def import_depthwise(call: Call) -> None:
    """``DEPTHWISE_CONV_2D`` with weights 1HWO, the multiplier's channels of an input adjacent."""
    call.arity(2, 3)
    tensor = weights(call, 1, rank=4, axis=3)
    _convolve(call, tensor, groups=_depth(call, tensor), axes=_DEPTHWISE_AXES)


@real_importer("DEPTHWISE_CONV_2D")
def import_real_depthwise(call: Call) -> None:
    """``DEPTHWISE_CONV_2D`` on float32."""
    call.arity(2, 3)
    tensor = weight_tensor(call, 1, rank=4)
    _convolve_reals(call, tensor, groups=_depth(call, tensor), axes=_DEPTHWISE_AXES)


# The order that turns weights 1HWO into OHWI.
_DEPTHWISE_AXES = (3, 1, 2, 0)


def _depth(call: Call, tensor: Tensor) -> int:
    """Return the channels of the image, which the weights 1HWO hold one or several times."""
    channels = _channels(call)
    # The weights say it too; where the option was left out, the interpreter uses them.
    multiplier = call.options["depth_multiplier"] or tensor.shape[3] // channels
    if tensor.shape[0] != 1 or tensor.shape[3] != channels * multiplier:
        raise MalformedError(
            f"{tensor.label} is {tensor.described}, expected 1 as first and "
            f"{channels} channels x {multiplier} as last dimension"
        )
    return channels


def _channels(call: Call) -> int:
    image = call.input(0)
    if len(image.shape) != 4:
        raise MalformedError(f"{image.label} is {image.described}, expected 4 dimensions")
    return image.shape[3]


def _convolve(call: Call, tensor: Tensor, groups: int, axes: Axes = ()) -> None:
    """Append a convolution; ``axes`` bring the weights into the order OHWI."""
    x, quant, result = call.value(0), call.quant(0), call.result_quant
    outputs, rows, columns, _ = (tensor.shape[a] for a in axes or range(4))
    bias = bias_array(call, 2, outputs)
    low, high = activation_bounds(call, result)
    rescale = layer_rescale(call, tensor, bias)
    bias = checked_bias(call, tensor, bias, quant.zero_point, rescale, axes)
    op = QConv2d(
        window=window(call, call.input(0), (rows, columns)),
        groups=groups,
        x_zero_point=quant.zero_point,
        rescale=rescale,
        zero_point=result.zero_point,
        low=low,
        high=high,
    )
    if tensor.type is TensorType.INT16:
        array = tensor.array()
        finish_wide(call, op, x, array.transpose(axes) if axes else array, bias)
        return
    call.finish(op, x, weight_constant(call, tensor, axes), bias_constant(call, 2, bias))


def _convolve_reals(call: Call, tensor: Tensor, groups: int, axes: Axes = ()) -> None:
    """Append a convolution of float32; ``axes`` bring the weights into the order OHWI."""
    outputs, rows, columns, _ = (tensor.shape[a] for a in axes or range(4))
    op = NnConv(window=spatial_window(call, call.input(0), (rows, columns)), groups=groups)
    w, bias = finite(call, tensor, axes), biased(call, 2, outputs)
    finish_activated(call, op, call.value(0), w, *bias)


@real_importer("CONV_3D")
def import_conv_3d(call: Call) -> None:
    """``CONV_3D`` on float32, with weights DHWIO."""
    call.arity(2, 3)
    tensor, image = weight_tensor(call, 1, rank=5), call.input(0)
    if len(image.shape) != 5:
        raise MalformedError(f"{image.label} is {image.described}, expected 5 dimensions")
    *kernel, inner, outputs = tensor.shape
    if image.shape[4] % inner:
        raise MalformedError(
            f"{tensor.label} is {tensor.described}, but the input has {image.shape[4]} channels"
        )
    stride, dilation = (
        tuple(call.options[f"{what}_{axis}"] for axis in "dhw") for what in ("stride", "dilation")
    )
    window = SpatialWindow(tuple(kernel), stride, dilation)
    if call.options["padding"] == Padding.SAME:
        window = SpatialWindow.same(image.shape[1:4], tuple(kernel), stride, dilation)
    check_sizes(window, call.scope.limits)
    op = NnConv(window=window, groups=image.shape[4] // inner)
    w, bias = finite(call, tensor, (4, 0, 1, 2, 3)), biased(call, 2, outputs)
    finish_activated(call, op, call.value(0), w, *bias)
