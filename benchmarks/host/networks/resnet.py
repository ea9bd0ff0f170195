"""ResNet-8, as in MLPerf Tiny, in float and with batch normalization already in the weights.

Images have the channels last for rlx and first for ONNX, as exports of either kind have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.host.networks.case import Case, OnnxGraph, SeededWeights
from rlx.tracing import Graph

if TYPE_CHECKING:
    from rlx.ir import Array
    from rlx.tracing import Tensor

CLASSES = 10
STAGES = ((16, 1), (32, 2), (64, 2))
"""Channels and stride of each stage."""


@dataclass(frozen=True)
class _Conv:
    """Weights [O, K, K, I] and bias [O] of a convolution with padding ``same``."""

    weights: Array
    bias: Array
    stride: int = 1

    def rlx(self, x: Tensor) -> Tensor:
        """Append to a graph."""
        return x.conv(self.weights, self.bias, stride=self.stride, padding="same")

    def onnx(self, net: OnnxGraph, x: str) -> str:
        """Append to an ONNX model."""
        kernel = net.weights(self.weights.transpose(0, 3, 1, 2))
        side = self.weights.shape[1]
        return net.op(
            "Conv", x, kernel, net.weights(self.bias), auto_pad="SAME_UPPER",
            strides=(self.stride, self.stride), kernel_shape=(side, side),
        )  # fmt: skip


@dataclass(frozen=True)
class _Stage:
    """Two convolutions and a shortcut, which is a convolution where the shape changes."""

    first: _Conv
    second: _Conv
    shortcut: _Conv | None

    def rlx(self, x: Tensor) -> Tensor:
        """Append to a graph."""
        y = self.second.rlx(self.first.rlx(x).relu())
        return ((self.shortcut.rlx(x) if self.shortcut else x) + y).relu()

    def onnx(self, net: OnnxGraph, x: str) -> str:
        """Append to an ONNX model."""
        y = self.second.onnx(net, net.op("Relu", self.first.onnx(net, x)))
        skipped = self.shortcut.onnx(net, x) if self.shortcut else x
        return net.op("Relu", net.op("Add", skipped, y))


def resnet(batch: int = 1, size: int = 32) -> Case:
    """Return the network for images of 32 by 32 pixels, or of another size."""
    weights = SeededWeights(1)
    first, stages = _parts(weights)
    dense = weights.matrix(STAGES[-1][0], CLASSES)
    bias = weights.normal(CLASSES, deviation=0.05)

    graph = Graph("resnet")
    x = graph.input("x", (batch, size, size, 3))
    x = first.rlx(x).relu()
    for stage in stages:
        x = stage.rlx(x)
    graph.output((x.mean(1, 2) @ dense + bias).softmax(), names=["y"])

    net = OnnxGraph("resnet")
    value = net.op("Relu", first.onnx(net, net.input("x", (batch, 3, size, size))))
    for stage in stages:
        value = stage.onnx(net, value)
    value = net.op("Flatten", net.op("GlobalAveragePool", value))
    value = net.op("Gemm", value, net.weights(dense), net.weights(bias))
    net.output(net.op("Softmax", value, axis=-1), "y", (batch, CLASSES))

    images = weights.normal(batch, size, size, 3)
    return Case(
        name="resnet", graph=graph, model=net.model(), inputs={"x": images},
        feeds={"x": np.ascontiguousarray(images.transpose(0, 3, 1, 2))},
    )  # fmt: skip


def _parts(weights: SeededWeights) -> tuple[_Conv, list[_Stage]]:
    """Return the first convolution and the stages."""

    def conv(channels: int, outputs: int, kernel: int = 3, stride: int = 1) -> _Conv:
        size = kernel * kernel * channels
        values = weights.normal(outputs, kernel, kernel, channels, deviation=(2 / size) ** 0.5)
        return _Conv(values, weights.normal(outputs, deviation=0.05), stride)

    channels = STAGES[0][0]
    stem, stages = conv(3, channels), []
    for outputs, stride in STAGES:
        shortcut = conv(channels, outputs, 1, stride) if stride > 1 else None
        first = conv(channels, outputs, stride=stride)
        stages.append(_Stage(first, conv(outputs, outputs), shortcut))
        channels = outputs
    return stem, stages
