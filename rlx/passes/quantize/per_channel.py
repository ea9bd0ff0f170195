"""Activations with a scale for each channel, as NNCF creates them for depthwise layers.

Such values are those of one scale, 1, after a factor of each channel: the factor before the
quantize node becomes part of the layer before, that after the dequantize node part of the depthwise
layer's weights.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Input, QuantParams, Refusal, RuleTable
from rlx.ops.nn import Layout, NnBatchNorm, NnClamp, NnConv, NnRelu
from rlx.ops.real import RealDequantize, RealMinimum, RealMul, RealQuantize
from rlx.passes import fit
from rlx.passes.quantize.known import known, stored

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import Array, Graph, Node, Value
    from rlx.passes import Fitted
    from rlx.passes.fit import Rewrite

    Doubles = npt.NDArray[np.float64]


_REWRITES: RuleTable[Rewrite] = RuleTable("quantization")


def without_channel_scales(graph: Graph) -> Fitted:
    """Return a graph whose activations have one scale each, as a fitted graph."""

    def claim(node: Node) -> Refusal | None:
        several = is_per_channel(node) or reads_factors(node)
        return Refusal("its values have a scale for each channel") if several else None

    return fit(graph, "quantization", claim, rewrites=_REWRITES)


def is_per_channel(node: Node) -> bool:
    """Return whether a node quantizes or dequantizes activations with a scale for each channel."""
    op = node.op
    if not isinstance(op, RealQuantize | RealDequantize) or op.quant.axis is None:
        return False
    equal = len(set(op.quant.zero_point)) == 1
    return equal and known(node.operands[0]) is None and not _is_input(node.operands[0])


def _is_input(value: Value) -> bool:
    """Return whether a value is an input, moved or a function of one; no layer has its factors."""
    while len(value.node.operands) == 1:
        (value,) = value.node.operands
    return isinstance(value.node.op, Input)


@_REWRITES.rule(RealQuantize, RealDequantize)
def with_one_scale(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value:
    """Append a node of :func:`is_per_channel` with one scale, and the factors of the channels."""
    op, (x,) = node.op, operands
    assert isinstance(op, RealQuantize | RealDequantize)
    assert op.quant.axis is not None
    axis, unit = op.quant.axis, QuantParams.per_tensor(1.0, op.quant.zero_point[0])
    scales = np.array(op.quant.scale, np.float64)
    if isinstance(op, RealDequantize):
        return _append_scaling(graph, graph.apply(RealDequantize(quant=unit), x), scales, axis)
    # Factors above 0 may be moved before an activation that ends at 0.
    activation, high = x.node.op, None
    if isinstance(activation, NnClamp) and activation.low == 0:
        high = activation.high
    elif not isinstance(activation, NnRelu):
        return graph.apply(replace(op, quant=unit), _append_scaling(graph, x, 1 / scales, axis))
    inner = _append_scaling(graph, x.node.operands[0], 1 / scales, axis)
    limited = graph.apply(NnRelu(), inner)
    if high is not None and (high / scales < 255 - unit.zero_point[0]).any():
        shape = [1] * x.type.rank
        shape[axis] = -1
        ends = graph.constant((high / scales).astype(np.float32).reshape(shape))
        limited = graph.apply(RealMinimum(), limited, ends)
    return graph.apply(replace(op, quant=unit), limited)


def _append_scaling(graph: Graph, x: Value, factors: Doubles, axis: int) -> Value:
    """Append a factor for each channel."""
    ones, zeros = np.ones(len(factors), np.float32), np.zeros(len(factors), np.float32)
    arrays = factors.astype(np.float32), zeros, zeros, ones
    constants = [graph.constant(a) for a in arrays]
    return graph.apply(NnBatchNorm(axis=axis, epsilon=0.0), x, *constants)


def reads_factors(node: Node) -> bool:
    """Return whether a depthwise layer of constant weights reads factors of its channels."""
    op, before = node.op, node.operands[0].node
    if not isinstance(op, NnConv) or not isinstance(before.op, NnBatchNorm):
        return False
    source = before.operands[0].node.op
    channels = node.operands[0].type.shape[_axis(node)]
    return (
        isinstance(source, RealDequantize)
        and source.quant.scale == (1.0,)
        and op.groups == channels
        and before.op.axis % node.types[0].rank == _axis(node)
        and known(node.operands[1]) is not None
    )


def _axis(node: Node) -> int:
    op = node.op
    assert isinstance(op, NnConv)
    return 1 if op.layout is Layout.CHANNELS_FIRST else node.operands[0].type.rank - 1


@_REWRITES.rule(NnConv)
def with_factors(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value:
    """Append a node of :func:`reads_factors` with the factors in its weights."""
    x, weights, *bias = operands
    factors = np.asarray(known(node.operands[0].node.operands[1]), np.float64)
    each = np.repeat(factors, weights.type.static_shape[0] // len(factors))
    stored_weights, shape = stored(weights), (-1, *(1,) * (weights.type.rank - 1))
    if stored_weights is None or stored_weights.quant.axis not in (None, 0):
        scale = graph.constant(each.astype(np.float32).reshape(shape))
        return graph.apply(
            node.op, x.node.operands[0], graph.apply(RealMul(), weights, scale), *bias
        )
    scales = np.broadcast_to(np.array(stored_weights.quant.scale), each.shape) * each
    zeros = np.broadcast_to(np.array(stored_weights.quant.zero_point), each.shape)
    quant = QuantParams(tuple(scales.tolist()), tuple(zeros.tolist()), 0)
    array: Array = stored_weights.array
    scaled = graph.apply(RealDequantize(quant=quant), graph.constant(array, quant=None))
    return graph.apply(node.op, x.node.operands[0], scaled, *bias)
