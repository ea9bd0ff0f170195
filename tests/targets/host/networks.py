"""Small graphs that tests compile."""

from __future__ import annotations

import numpy as np

from rlx.ir import DType, Graph, TensorType
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QConv2d, QDense
from rlx.ops.q.window import Window
from rlx.ops.real import RealAdd, RealConcat, RealCumsum, RealMatmul, RealTanh


def dense_stack(layers=2, size=24, seed=0):
    """Dense layers of one shape with weights of their own."""
    generator = np.random.default_rng(seed)
    graph = Graph("stack")
    value = graph.input("x", TensorType((2, size), DType.I8))
    op = QDense(x_zero_point=3, rescale=Rescale.of(0.002), zero_point=-5)
    for _ in range(layers):
        weights = graph.constant(generator.integers(-128, 128, (size, size)).astype(np.int8))
        bias = graph.constant(generator.integers(-999, 999, size).astype(np.int32))
        value = graph.apply(op, value, weights, bias)
    graph.output(value, names=["y"])
    return graph


def mixed():
    """A sum that is native between two running sums that are not."""
    graph = Graph("mixed")
    x = graph.input("x", TensorType((3, 40), DType.F32))
    a = graph.apply(RealCumsum(axis=1), x)
    b = graph.apply(RealAdd(), a, x)
    c = graph.apply(RealAdd(), b, a)
    d = graph.apply(RealCumsum(axis=1), c)
    graph.output(d, names=["y"])
    return graph


def streaming():
    """A float network with a state, which a product reads, and one of int8."""
    generator = np.random.default_rng(4)
    graph = Graph("streaming")
    x = graph.input("x", TensorType((1, 8), DType.F32))
    memory = graph.state("memory", TensorType((1, 8), DType.F32))
    last = graph.state("last", TensorType((1, 2), DType.I8), initial=5)
    code = graph.input("code", TensorType((1, 2), DType.I8))
    weights = graph.constant(generator.standard_normal((8, 8)).astype(np.float32))
    mixed_in = graph.apply(RealMatmul(), graph.apply(RealAdd(), x, memory), weights)
    after = graph.apply(RealTanh(), mixed_in)
    both = graph.apply(RealConcat(axis=1), last, code)
    graph.output(after, both, code, after, names=["y", "both", "last", "memory"])
    return graph


def convolutions():
    """Two convolutions of an image, the first one with padding."""
    generator = np.random.default_rng(0)
    graph = Graph("convolutions")
    value = graph.input("x", TensorType((1, 32, 32, 16), DType.I8))
    for kernel, pad in ((3, 1), (1, 0)):
        window = Window((kernel, kernel), padding=((pad, pad), (pad, pad)))
        op = QConv2d(window=window, x_zero_point=3, rescale=Rescale.of(0.002), zero_point=-5)
        shape = (16, kernel, kernel, 16)
        weights = graph.constant(generator.integers(-128, 128, shape).astype(np.int8))
        bias = graph.constant(generator.integers(-999, 999, 16).astype(np.int32))
        value = graph.apply(op, value, weights, bias)
    graph.output(value, names=["y"])
    return graph
