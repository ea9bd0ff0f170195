"""Shared parts of importers of unquantized operators: weights, activations, windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite.ops.parts import window
from rlx.frontends.tflite.ops.tensors import require_type
from rlx.frontends.tflite.schema import Activation, TensorType
from rlx.ops.nn import NnClamp, NnRelu
from rlx.ops.real import RealTanh, SpatialWindow

if TYPE_CHECKING:
    from rlx.frontends.tflite.file import Tensor
    from rlx.frontends.tflite.ops.call import Call
    from rlx.frontends.tflite.ops.parts import Axes
    from rlx.ir import Op, Value

ACTIVATIONS: dict[Activation, Op | None] = {
    Activation.NONE: None,
    Activation.RELU: NnRelu(),
    Activation.RELU6: NnClamp(low=0.0, high=6.0),
    Activation.RELU_N1_TO_1: NnClamp(low=-1.0, high=1.0),
    Activation.TANH: RealTanh(),
}
"""The layer that each fused activation is on float32."""


def finish_activated(call: Call, op: Op, *operands: Value) -> None:
    """Append an op and its fused activation, which computes the output."""
    bind_activated(call, call.emit(op, *operands))


def bind_activated(call: Call, value: Value) -> None:
    """Map the output to a value, after the fused activation if there is one."""
    activation = Activation(call.options["activation"])
    if activation not in ACTIVATIONS:
        raise UnsupportedError(
            f"has the fused activation {activation.name}",
            hint="make the activation a separate layer after this one",
        )
    op = ACTIVATIONS[activation]
    call.bind(value if op is None else call.emit(op, value))


def require_float(*tensors: Tensor) -> None:
    """Refuse tensors that are computed in another type than float32."""
    for tensor in tensors:
        if tensor.data is None:
            require_type(tensor, TensorType.FLOAT32)


def weight_tensor(call: Call, index: int, rank: int, image: int = 0) -> Tensor:
    """Return the weights of a layer on float32; float32 too, or int8 (dynamic range)."""
    tensor = call.input(index)
    require_float(call.input(image), tensor, call.output)
    if len(tensor.shape) != rank:
        raise MalformedError(f"{tensor.label} is {tensor.described}, expected {rank} dimensions")
    return tensor


def biased(call: Call, index: int, channels: int) -> tuple[Value, ...]:
    """Return the bias of a layer as an operand, none if it is absent."""
    tensor = call.optional(index)
    if tensor is None:
        return ()
    if tensor.shape != (channels,):
        raise MalformedError(f"{tensor.label} is {tensor.described}, expected [{channels}]")
    return (finite(call, tensor),)


def finite(call: Call, tensor: Tensor, axes: Axes = ()) -> Value:
    """Return weights in the order ``axes``, int8 ones dequantized.

    Raises:
        MalformedError: They are constant, and not finite.
    """
    value = call.scope.real(tensor, axes)
    if value.constant is not None and not np.isfinite(value.constant).all():
        raise MalformedError(
            f"{tensor.label} has infinite weights",
            hint="train or convert the model again; its weights are damaged",
        )
    return value


def spatial_window(call: Call, image: Tensor, kernel: tuple[int, int]) -> SpatialWindow:
    """Return the window of a layer on an image of two spatial axes (see ``parts.window``)."""
    found = window(call, image, kernel)
    return SpatialWindow(found.kernel, found.stride, found.dilation, found.padding)
