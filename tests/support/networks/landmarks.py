"""A network in the form of face landmarks: residual blocks, a PReLU by channel after each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType, Graph, GraphModule, QuantParams, Stage, TensorType
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QConv2d, Window
from support.networks.prelu_chains import Form, Writer, maximum

if TYPE_CHECKING:
    from rlx.ir import Value

ACTIVATION = QuantParams.per_tensor(0.05, -7)
PRODUCT = QuantParams.per_tensor(0.031, 12)


def landmarks(
    size: int = 96, stages: tuple[int, ...] = (16, 32, 64), form: Form = maximum
) -> GraphModule:
    """Return an integer network; each stage halves the image and has two residual blocks.

    Args:
        size: Height and width of the image.
        stages: Channels of each stage.
        form: Form of the PReLUs.
    """
    random = np.random.default_rng(0)
    writer = Writer(Graph("landmarks"))
    image = TensorType((1, size, size, 3), DType.I8, ACTIVATION)
    value = writer.graph.input("image", image)
    for channels in stages:
        value = _prelu(writer, _conv(writer, random, value, channels, 3, stride=2), form, random)
        for _ in range(2):
            depthwise = _conv(writer, random, value, channels, 3, groups=channels)
            block = writer.add(value, _conv(writer, random, depthwise, channels, 1), ACTIVATION)
            value = _prelu(writer, block, form, random)
    writer.graph.output(value, names=["landmarks"])
    return GraphModule(writer.graph, Stage.MIR)


def _prelu(writer: Writer, x: Value, form: Form, random: np.random.Generator) -> Value:
    """Append a PReLU with slopes from -0.2 to 0.8."""
    alphas = random.uniform(-0.2, 0.8, x.type.static_shape[-1])
    return form(writer, x, alphas, PRODUCT, ACTIVATION)


def _conv(
    writer: Writer,
    random: np.random.Generator,
    x: Value,
    channels: int,
    kernel: int,
    *,
    stride: int = 1,
    groups: int = 1,
) -> Value:
    """Append a convolution whose results fill the range of int8."""
    inner = x.type.static_shape[-1] // groups
    weights = random.integers(-127, 128, (channels, kernel, kernel, inner)).astype(np.int8)
    bias = random.integers(-2000, 2000, channels).astype(np.int32)
    window = Window.same(x.type.static_shape[1:3], (kernel, kernel), (stride, stride))
    op = QConv2d(
        window=window, groups=groups, x_zero_point=ACTIVATION.zero_point[0],
        rescale=Rescale.of(0.6 / np.sqrt(kernel * kernel * inner) / 73),
        zero_point=ACTIVATION.zero_point[0],
    )  # fmt: skip
    operands = (writer.graph.constant(weights), writer.graph.constant(bias))
    name = f"conv{len(writer.graph.nodes)}"
    return writer.graph.apply(op, x, *operands, name=name, quant=ACTIVATION)
