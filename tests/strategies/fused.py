"""Cases of fused ops: their patterns in real ops, fused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType, TensorType
from rlx.ops import fused, nn, real
from rlx.ops.expression import Expression
from rlx.ops.real import SpatialWindow
from rlx.passes.decompose import decompose
from rlx.passes.fusion import FusionOptions, FusionPolicy, Pattern, fuse
from strategies.case import Case
from strategies.reals import numbers
from strategies.table import strategy

if TYPE_CHECKING:
    from strategies.case import Maker

ACTIVATIONS = (
    nn.NnRelu(), nn.NnClamp(low=0.0, high=6.0), nn.NnGelu(), nn.NnGelu(approximate=True),
    nn.NnSilu(), nn.NnHardSwish(), nn.NnSoftplus(), nn.NnLeakyRelu(), real.RealSigmoid(),
    real.RealTanh(),
)  # fmt: skip


def _input(make: Maker, *shape: int) -> Expression:
    """Append an input of numbers."""
    array = numbers(make, shape)
    name = f"x{len(make.inputs)}"
    make.inputs[name] = array
    return Expression(make.graph, make.graph.input(name, TensorType(shape, DType.F32)))


def _fused(make: Maker, pattern: Pattern, *results: Expression) -> Case:
    """Return the graph with one pattern fused."""
    make.graph.output(*(r.value for r in results), names=[f"y{i}" for i in range(len(results))])
    options = FusionOptions(
        default=FusionPolicy.KEEP, patterns={pattern: FusionPolicy.FUSE}
    )  # fmt: skip
    graph, _ = fuse(decompose(make.graph), options)
    return Case(graph, make.inputs)


@strategy(fused.FusedElementwise)
def elementwise(make: Maker) -> Case:
    shape = make.shape()
    x, y = _input(make, *shape), _input(make, *make.pick(shape, shape[-1:], ()))
    return _fused(make, Pattern.ELEMENTWISE, ((x + y) * 0.5).where(x >= y, x - y))


@strategy(fused.FusedMatmul)
def matmul(make: Maker) -> Case:
    m, k, n = (make.integer(1, make.knobs.size) for _ in range(3))
    x, w = _input(make, *make.pick((), (2,)), m, k), _input(make, n, k)
    y = x @ w.mT
    if make.pick(True, False):
        y += _input(make, *make.pick((), (1,)), n)
    if make.pick(True, False):
        y = y.apply(make.pick(*ACTIVATIONS))
    return _fused(make, Pattern.MATMUL, y)


@strategy(fused.FusedConv)
def conv(make: Maker) -> Case:
    size, channels, outputs = (make.integer(1, make.knobs.size) for _ in range(3))
    x, w = _input(make, 1, size, size, channels), _input(make, outputs, 1, 1, channels)
    y = x.apply(real.RealConv(window=SpatialWindow((1, 1))), w) + _input(make, outputs)
    return _fused(make, Pattern.CONV, y.apply(make.pick(*ACTIVATIONS)))


@strategy(fused.FusedSoftmax)
def softmax(make: Maker) -> Case:
    shape = make.shape()
    axis = make.integer(0, len(shape) - 1)
    return _fused(make, Pattern.SOFTMAX, _input(make, *shape).apply(nn.NnSoftmax(axis=axis)))


def _norm(make: Maker, x: Expression) -> Expression:
    """Return a layer norm or an RMS norm of ``x``."""
    last = x.type.static_shape[-make.integer(1, x.ndim) :]
    gamma = _input(make, *last)
    if make.pick(True, False):
        return x.apply(nn.NnRmsNorm(), gamma)
    more = [_input(make, *last)] if make.pick(True, False) else []
    return x.apply(nn.NnLayerNorm(), gamma, *more)


@strategy(fused.FusedNorm)
def norm(make: Maker) -> Case:
    return _fused(make, Pattern.NORM, _norm(make, _input(make, *make.shape())))


@strategy(fused.FusedResidualNorm)
def residual_norm(make: Maker) -> Case:
    shape = make.shape()
    total = _input(make, *shape) + _input(make, *shape)
    results = [_norm(make, total)]
    if make.pick(True, False):
        results.append(total)
    return _fused(make, Pattern.NORM, *results)


@strategy(fused.FusedGated)
def gated(make: Maker) -> Case:
    m, k, n = (make.integer(1, make.knobs.size) for _ in range(3))
    y = _input(make, m, k) @ _input(make, k, 2 * n)
    if make.pick(True, False):
        y += _input(make, 2 * n)
    gate, up = y[:, :n].apply(make.pick(*ACTIVATIONS)), y[:, n:]
    return _fused(make, Pattern.GATED, make.pick(gate * up, up * gate))


@strategy(fused.FusedAttention)
def attention(make: Maker) -> Case:
    queries, keys, width, values = (make.integer(1, make.knobs.size) for _ in range(4))
    lead = make.pick((), (2,), (1, 2))
    q, k = _input(make, *lead, queries, width), _input(make, *lead, keys, width)
    v = _input(make, *lead, keys, values)
    mask = []
    if make.pick(True, False):
        # The first key is attended to, so that no query is left without one.
        array = numbers(make, (queries, keys), DType.BOOL) | (np.arange(keys) == 0)
        make.inputs["mask"] = array
        type_ = TensorType(array.shape, DType.BOOL)
        mask.append(q.wrap(make.graph.input("mask", type_)))
    op = nn.NnAttention(
        causal=make.pick(True, False) and queries <= keys, soft_cap=make.pick(None, 3.0)
    )
    return _fused(make, Pattern.ATTENTION, q.apply(op, k, v, *mask))
