"""Small random float networks: chains of layers with shortcuts, weights constant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType, TensorType
from rlx.ops import nn, real
from rlx.ops.real import SpatialWindow
from strategies.case import Case, Maker
from strategies.table import cases_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Array, Op, Value

_MAX_LAYERS = 6
_MAX_CHANNELS = 12


def _network(make: Maker) -> Case:
    """A chain of layers on an image, with shortcuts; then often a classifier."""
    size = make.integer(2, make.knobs.size + 3), make.integer(1, make.knobs.size + 3)
    shape = make.image(*size)
    values = [make.graph.input("x", TensorType(shape, DType.F32))]
    make.inputs["x"] = _normal(make, shape)
    for _ in range(make.integer(1, _MAX_LAYERS)):
        values.append(make.pick(*_LAYERS)(make, values))
    tail = make.pick(None, _flatten, _mean, _global_pool)
    if tail is not None:
        values.append(tail(make, values))
        if make.pick(True, False):
            values.append(_linear(make, values))
        if make.pick(False, True):
            values.append(_apply(make, nn.NnSoftmax(axis=-1), values[-1], name="softmax"))
    make.graph.output(values[-1], names=["result"])
    return Case(make.graph, make.inputs)


float_graphs = cases_of(_network)
"""``float_graphs(**knobs)``: a strategy of float networks with one input and one output."""


def _normal(make: Maker, shape: tuple[int, ...]) -> Array:
    """Return random numbers; their spread is one of several."""
    generator = np.random.default_rng(make.integer(0, 2**16 - 1))
    spread = make.pick(1.0, 0.1, 5.0)
    return np.asarray(generator.standard_normal(shape) * spread, np.float32)


def _constant(make: Maker, shape: tuple[int, ...]) -> Value:
    return make.graph.constant(_normal(make, shape))


def _apply(make: Maker, op: Op, *operands: Value, name: str) -> Value:
    return make.graph.apply(op, *operands, name=name)


def _window(make: Maker, x: Value) -> SpatialWindow:
    """Return a window with SAME padding, or without padding where that fits."""
    size = x.type.static_shape[1:3]
    kernel = (make.integer(1, 3), make.integer(1, 3))
    stride = (make.integer(1, 2), make.integer(1, 2))
    if make.pick(True, False) or kernel[0] > size[0] or kernel[1] > size[1]:
        return SpatialWindow.same(size, kernel, stride)
    return SpatialWindow(kernel, stride)


def _activated(make: Maker, x: Value) -> Value:
    op = make.pick(None, nn.NnRelu(), nn.NnClamp(low=0.0, high=6.0))
    return x if op is None else _apply(make, op, x, name="activation")


def _conv(make: Maker, values: list[Value]) -> Value:
    x, window = values[-1], _window(make, values[-1])
    channels = x.type.static_shape[3]
    groups = make.pick(1, channels, *(g for g in (2, 3) if channels % g == 0))
    outputs = groups * make.integer(1, max(make.knobs.size // groups, 1))
    weights = _constant(make, (outputs, *window.kernel, channels // groups))
    bias = (_constant(make, (outputs,)),) if make.pick(True, False) else ()
    op = nn.NnConv(window=window, groups=groups)
    return _activated(make, _apply(make, op, x, weights, *bias, name="conv"))


def _linear(make: Maker, values: list[Value]) -> Value:
    x, outputs = values[-1], make.integer(1, 6)
    weights = _constant(make, (outputs, x.type.static_shape[-1]))
    bias = (_constant(make, (outputs,)),) if make.pick(True, False) else ()
    return _activated(make, _apply(make, nn.NnLinear(), x, weights, *bias, name="linear"))


def _binary(make: Maker, values: list[Value]) -> Value:
    """Combine the newest value with an older one of its shape, or with a constant."""
    x = values[-1]
    equal = [v for v in values[:-1] if v.type.shape == x.type.shape]
    ops = (real.RealAdd(), real.RealSub(), real.RealMul(), real.RealMaximum(), real.RealMinimum())
    other = make.pick(*reversed(equal)) if equal else _constant(make, x.type.static_shape[-1:])
    return _activated(make, _apply(make, make.pick(*ops), x, other, name="binary"))


def _function(make: Maker, values: list[Value]) -> Value:
    op = make.pick(
        nn.NnGelu(), nn.NnHardSwish(), real.RealSigmoid(), real.RealTanh(), real.RealAbs(),
        nn.NnLeakyRelu(slope=0.1), nn.NnSoftplus(),
    )  # fmt: skip
    return _apply(make, op, values[-1], name="function")


def _prelu(make: Maker, values: list[Value]) -> Value:
    slopes = _constant(make, values[-1].type.static_shape[-1:])
    return _apply(make, nn.NnPrelu(), values[-1], slopes, name="prelu")


def _pool(make: Maker, values: list[Value]) -> Value:
    kind = make.pick(nn.NnMaxPool, nn.NnAveragePool)
    return _apply(make, kind(window=_window(make, values[-1])), values[-1], name="pool")


def _pad(make: Maker, values: list[Value]) -> Value:
    before = (0, make.integer(0, 2), make.integer(0, 2), 0)
    after = (0, make.integer(0, 2), make.integer(0, 2), 0)
    return _apply(make, real.RealPad(before=before, after=after), values[-1], name="pad")


def _concat(make: Maker, values: list[Value]) -> Value:
    last = values[-1]
    partners = [
        v for v in reversed(values)
        if v.type.shape[:3] == last.type.shape[:3] and v.type.static_shape[3] <= _MAX_CHANNELS
    ]  # fmt: skip
    return _apply(make, real.RealConcat(axis=3), last, make.pick(*partners), name="concat")


def _slice(make: Maker, values: list[Value]) -> Value:
    x = values[-1]
    step = tuple(make.pick(1, 2) if axis else 1 for axis in range(4))
    op = real.RealSlice(start=(0, 0, 0, 0), stop=x.type.static_shape, step=step)
    return _apply(make, op, x, name="slice")


def _batch_norm(make: Maker, values: list[Value]) -> Value:
    shape = values[-1].type.static_shape[-1:]
    vectors = [_normal(make, shape) for _ in range(4)]
    vectors[3] = np.abs(vectors[3]) + np.float32(0.5)
    operands = (make.graph.constant(v) for v in vectors)
    return _apply(make, nn.NnBatchNorm(), values[-1], *operands, name="batch_norm")


def _flatten(make: Maker, values: list[Value]) -> Value:
    first, *rest = values[-1].type.static_shape
    return _apply(make, real.RealReshape(shape=(first, math.prod(rest))), values[-1], name="flat")


def _mean(make: Maker, values: list[Value]) -> Value:
    return _apply(make, real.RealReduceMean(axes=(1, 2)), values[-1], name="mean")


def _global_pool(make: Maker, values: list[Value]) -> Value:
    window = SpatialWindow(values[-1].type.static_shape[1:3])
    pooled = _apply(make, nn.NnAveragePool(window=window), values[-1], name="pool")
    return _flatten(make, [pooled])


_LAYERS: tuple[Callable[[Maker, list[Value]], Value], ...] = (
    _conv, _conv, _binary, _function, _pool, _concat, _prelu, _pad, _slice, _batch_norm,
)  # fmt: skip
