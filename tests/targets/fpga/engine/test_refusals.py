"""Each reason for which the engine refuses a node, word by word."""

import numpy as np
import pytest

from rlx.ir import Graph, i8
from rlx.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import QArgmax, QConcat, QConvert, QDense, QMaxPool2d, QMinimum, QTranspose, Window
from rlx_fpga.architectures import ARCHITECTURES, architecture


def constant(graph, *shape):
    return graph.constant(np.ones(shape, np.int8))


def dense(graph):
    rounding = next(one for one in Rounding if one is not Rounding.DOUBLE)
    op = QDense(x_zero_point=0, rescale=Rescale.of(0.1, rounding=rounding), zero_point=0)
    bias = graph.constant(np.zeros(2, np.int32))
    return graph.apply(op, graph.input("x", i8(1, 3)), constant(graph, 2, 3), bias)


CASES = {
    "the engine rounds twice only": dense,
    "the engine does it on the last axis of an output only": lambda graph: graph.apply(
        QArgmax(axis=1), graph.input("x", i8(1, 3, 4))
    ),
    "the engine takes one image at a time": lambda graph: graph.apply(
        QMaxPool2d(window=Window(kernel=(2, 2))), graph.input("x", i8(2, 4, 4, 1))
    ),
    "the engine joins computed tensors only": lambda graph: graph.apply(
        QConcat(axis=1), graph.input("x", i8(1, 3)), constant(graph, 1, 3)
    ),
    "the engine moves values along at most three axes": lambda graph: graph.apply(
        QTranspose(axes=(3, 2, 1, 0)), graph.input("x", i8(2, 3, 2, 3))
    ),
    "the array keeps the larger of two values, not the smaller": lambda graph: graph.apply(
        QMinimum(), graph.input("x", i8(1, 3)), graph.input("y", i8(1, 3))
    ),
}


@pytest.mark.parametrize("reason", CASES)
def test_engine_says_why_it_refuses(reason):
    node = CASES[reason](Graph("net")).node
    assert architecture("engine").lowering(node).reason == reason


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_conversions_are_refused_everywhere(name):
    reason = architecture(name).reason(QConvert)
    assert reason == "values in the core are int8; only at its ports uint8 can be converted"
