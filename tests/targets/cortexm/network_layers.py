"""Graphs with the kinds of layers that small networks have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.cortexm.graph_builder import GraphBuilder
from targets.cortexm.kernel_graphs import RELU, WHOLE

from rlx.ops.numerics.exponential import softmax_scaling
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    QAdd,
    QAveragePool2d,
    QClamp,
    QConcat,
    QMaximum,
    QMaxPool2d,
    QMean,
    QMinimum,
    QMul,
    QPad,
    QRequantize,
    QSlice,
    QSoftmax,
    QTable,
    QTranspose,
    Window,
)

if TYPE_CHECKING:
    from rlx.ir import Graph, Op


def layers_of_networks() -> Graph:
    """Return a graph with the kinds of layers that small networks have."""
    builder = GraphBuilder("layers")
    for inputs, outputs in ((8, 16), (16, 32), (60, 33), (64, 64)):
        builder.conv((1, 12, 12, inputs), outputs, (1, 1), **RELU)
    builder.conv((1, 6, 6, 57), 30, (1, 1))
    builder.conv((1, 3, 3, 25), 31, (1, 1), **RELU)
    builder.conv((1, 49, 10, 1), 16, (10, 4), stride=(2, 2), **RELU)
    builder.conv((1, 16, 16, 3), 16, (3, 3), **RELU)
    builder.conv((1, 24, 24, 3), 8, (3, 3), stride=(2, 2), padding=((0, 1), (0, 1)), **RELU)
    builder.conv((1, 16, 16, 16), 32, (3, 3), stride=(2, 2), padding=((0, 1), (0, 1)), **RELU)
    builder.conv((1, 8, 8, 16), 16, (3, 3))
    builder.conv((1, 16, 16, 16), 32, (1, 1), stride=(2, 2), padding=WHOLE)
    builder.conv((1, 8, 8, 32), 32, (3, 3), **RELU)
    builder.conv((1, 6, 9, 20), 11, (3, 3), padding=WHOLE)
    return builder.graph


def depthwise_of_networks() -> Graph:
    """Return a graph with the kinds of depthwise layers that small networks have."""
    builder = GraphBuilder("depthwise")
    outside = ((0, 1), (0, 1))
    builder.conv((1, 25, 5, 32), 32, (3, 3), groups=32, **RELU)
    builder.conv((1, 24, 24, 8), 8, (3, 3), groups=8, **RELU)
    builder.conv((1, 24, 24, 16), 16, (3, 3), groups=16, stride=(2, 2), padding=outside, **RELU)
    builder.conv((1, 6, 6, 57), 57, (3, 3), groups=57, **RELU)
    builder.conv((1, 6, 6, 25), 25, (3, 3), groups=25, stride=(2, 2), padding=outside)
    return builder.graph


def dense_layers_of_networks() -> Graph:
    """Return a graph with the kinds of dense layers that small networks have."""
    builder = GraphBuilder("dense")
    for inputs, outputs in ((640, 128), (128, 128), (128, 8), (8, 128), (64, 12), (64, 10)):
        builder.dense((1, inputs), outputs, low=-128, zero_point=-128)
    builder.dense((1, 256), 10, builder.factors(10, 256))
    builder.dense((5, 30), 7)
    return builder.graph


def elements() -> Graph:
    """Return a graph with the kinds of sums and pools that small networks have."""
    builder = GraphBuilder("elements")
    shape = (1, 8, 8, 64)
    for attributes in ({}, {"low": -128, "zero_point": -128}, {"x_rescale": Rescale.of(0.49)}):
        builder.binary(QAdd, builder.input(*shape), builder.input(*shape), **attributes)
    builder.binary(QAdd, builder.input(*shape), builder.input(64))
    for size, channels in (((25, 5), 64), ((8, 8), 64), ((3, 3), 22)):
        builder.node(QAveragePool2d(window=Window(size)), builder.input(1, *size, channels))
    return builder.graph


def others_of_networks() -> Graph:
    """Return a graph with kinds of layers that take few of a network's instructions."""
    builder = GraphBuilder("others")
    image, half = (1, 12, 12, 24), Rescale.of(0.5)
    zero_points = {"x_zero_point": 0, "y_zero_point": -5, "zero_point": 1}

    def node(op: Op, *shapes: tuple[int, ...]) -> None:
        builder.node(op, *(builder.input(*shape) for shape in shapes))

    node(QTable(table=tuple(range(127, -129, -1))), image)
    node(QRequantize(x_zero_point=4, rescale=half, zero_point=-9), image)
    node(QClamp(low=-3, high=90), image)
    node(QMaximum(), image, image)
    node(QMinimum(), image, (24,))
    node(QMul(rescale=Rescale.of(0.01), **zero_points), image, image)
    node(QMul(rescale=Rescale.of(0.01), **zero_points), image, (1, 1, 1, 24))
    for window in (Window((2, 2), (2, 2)), Window.same((12, 12), (3, 3), (2, 2))):
        node(QMaxPool2d(window=window), image)
        node(QAveragePool2d(window=window), image)
    node(QMean(axes=(1, 2), x_zero_point=3, rescale=Rescale.of(0.3), zero_point=4), image)
    node(QMean(axes=(3,), x_zero_point=3, rescale=Rescale.of(0.3), zero_point=4), image)
    node(QConcat(axis=3), image, image)
    node(QConcat(axis=1), image, image)
    node(QPad(before=(0, 1, 1, 0), after=(0, 1, 1, 0), value=-7), image)
    node(QSlice(start=(0, 2, 2, 0), stop=(1, 10, 10, 24), step=(1, 1, 1, 1)), image)
    node(QTranspose(axes=(0, 3, 1, 2)), image)
    multiplier, left_shift, diff_min = softmax_scaling(0.1)
    softmax = QSoftmax(multiplier=multiplier, left_shift=left_shift, diff_min=diff_min)
    for classes in (2, 12, 100):
        node(softmax, (1, classes))
    return builder.graph
