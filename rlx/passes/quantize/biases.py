"""Biases and normalizations that are separate ops after their layer.

Tests: tests/unit/passes/quantize/test_boundaries.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rlx.ops.nn import Layout, NnBatchNorm, NnConv, NnLinear
from rlx.ops.real import RealAdd, RealConv, RealDiv, RealMatmul, RealMul, RealSub
from rlx.passes.quantize.functions import argument
from rlx.passes.quantize.known import known

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import Graph, Node, Value

    Doubles: TypeAlias = npt.NDArray[np.float64]
    _Step: TypeAlias = tuple[Value, Doubles | float, Doubles | float]


@dataclass(frozen=True, slots=True)
class ChannelLine:
    """``factor * y + shift`` of each output channel of a layer, after the layer.

    Attributes:
        layer: The layer.
        factor: float64 [channels].
        shift: float64 [channels].
    """

    layer: Node
    factor: Doubles
    shift: Doubles


def normalized_layers(graph: Graph) -> dict[Node, Node]:
    """Return for each node that is a line of a layer's channels, the layer.

    Such as a batch normalization, or an equivalent product and sum. Nothing else reads the values
    between.
    """
    outputs, live = set(graph.outputs), _live(graph)
    users = {v: [n for n in nodes if n in live] for v, nodes in graph.users().items()}
    layers: dict[Node, Node] = {}
    for node in graph.op_nodes:
        step = _step(node)
        if step is None:
            continue
        value = step[0]
        layer = layers.get(value.node, value.node)
        alone = len(users[value]) == 1 and value not in outputs
        if alone and (layer is not value.node or _normalizable(layer, node)):
            layers[node] = layer
    return layers


def _live(graph: Graph) -> set[Node]:
    """Return the nodes that outputs depend on."""
    live: set[Node] = set()
    waiting = [value.node for value in graph.outputs]
    while waiting:
        node = waiting.pop()
        if node not in live:
            live.add(node)
            waiting += (o.node for o in node.operands)
    return live


def line_of(node: Node, layer: Node) -> ChannelLine:
    """Return the line that a node of :func:`normalized_layers` is of its layer."""
    if node is layer:
        channels = _channels(layer)
        return ChannelLine(layer, np.ones(channels), np.zeros(channels))
    step = _step(node)
    assert step is not None
    value, factor, shift = step
    inner = line_of(value.node, layer)
    return ChannelLine(layer, inner.factor * factor, inner.shift * factor + shift)


def _step(node: Node) -> _Step | None:
    """Return a node's operand, and the factor and summand of each of its channels, or None."""
    if isinstance(node.op, NnBatchNorm):
        return _normalization(node, node.op.epsilon)
    if isinstance(node.op, RealMul | RealDiv | RealAdd | RealSub) and argument(node) is None:
        return _arithmetic(node)
    return None


def _normalization(node: Node, epsilon: float) -> _Step | None:
    constants = [known(o) for o in node.operands[1:]]
    if any(c is None for c in constants):
        return None
    gamma, beta, mean, variance = (np.asarray(c, np.float64) for c in constants)
    factor = gamma / np.sqrt(variance + epsilon)
    return node.operands[0], factor, beta - mean * factor


def _arithmetic(node: Node) -> _Step | None:
    """Return a sum or product with a constant for each channel."""
    value, numbers = node.operands[0], known(node.operands[1])
    if numbers is None and isinstance(node.op, RealMul | RealAdd):
        value, numbers = node.operands[1], known(node.operands[0])
    channels = node.types[0].shape[-1:]
    if numbers is None or known(value) is not None or value.type.shape != node.types[0].shape:
        return None
    if numbers.shape[-1:] != channels or numbers.size != channels[0]:
        return None
    flat = np.asarray(numbers, np.float64).reshape(-1)
    if isinstance(node.op, RealAdd | RealSub):
        return value, 1.0, flat if isinstance(node.op, RealAdd) else -flat
    with np.errstate(divide="ignore"):
        # Infinite factors are refused when the layer is converted.
        return value, flat if isinstance(node.op, RealMul) else 1 / flat, 0.0


def _normalizable(layer: Node, node: Node) -> bool:
    """Return whether a layer can absorb a line of its channels, on the same axis in both."""
    if not isinstance(layer.op, NnConv | NnLinear | RealConv | RealMatmul):
        return False
    if any(known(o) is None for o in layer.operands[1:]):
        return False
    if isinstance(layer.op, RealMatmul) and layer.operands[1].type.rank != 2:
        return False
    rank = node.types[0].rank
    axis = node.op.axis % rank if isinstance(node.op, NnBatchNorm) else rank - 1
    first = isinstance(layer.op, NnConv) and layer.op.layout is Layout.CHANNELS_FIRST
    return axis == (1 if first else rank - 1)


def _channels(layer: Node) -> int:
    shape = layer.operands[1].type.static_shape
    return shape[1] if isinstance(layer.op, RealMatmul) else shape[0]


def biased_layers(graph: Graph) -> dict[Node, Node]:
    """Return for each addition of a constant bias the layer whose result it is added to.

    The layer has no bias, its output channels are the last axis, and nothing else reads its result.
    """
    users, outputs = graph.users(), set(graph.outputs)
    found = {}
    for node in graph.op_nodes:
        layer = _layer(node)
        if layer is not None and len(users[layer.result]) == 1 and layer.result not in outputs:
            found[node] = layer
    return found


def _layer(node: Node) -> Node | None:
    if not isinstance(node.op, RealAdd) or argument(node) is not None:
        return None
    computed = [o for o in node.operands if known(o) is None]
    constant = [o for o in node.operands if known(o) is not None]
    if len(computed) != 1 or len(constant) != 1:
        return None
    layer, channels = computed[0].node, computed[0].type.shape[-1:]
    fits = constant[0].type.shape[-1:] == channels and constant[0].type.size == channels[0]
    same = node.types[0].shape == computed[0].type.shape
    return layer if fits and same and _takes_bias(layer) else None


def _takes_bias(layer: Node) -> bool:
    """Return whether a node is a layer of constant weights, without bias, channels last."""
    if not isinstance(layer.op, NnConv | NnLinear | RealConv | RealMatmul):
        return False
    last = not isinstance(layer.op, NnConv) or layer.op.layout is Layout.CHANNELS_LAST
    return last and len(layer.operands) == 2 and known(layer.operands[1]) is not None


def bias_of(node: Node) -> Value:
    """Return the constant operand of an addition."""
    (constant,) = (o for o in node.operands if known(o) is not None)
    return constant
