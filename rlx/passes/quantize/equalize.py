"""Cross-layer equalization: ranges of channels of one layer made equal at the expense of the next.

Where only positively homogeneous ops (ReLU, pooling) are between two layers, a channel of the first
may be divided by a factor if the second multiplies it again. So weights of one layer, and the
channels that it computes, come to similar ranges, and one scale fits all of them. Source: Nagel et
al., "Data-free quantization through weight equalization and bias correction".

Tests: tests/unit/passes/quantize/test_weights.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from rlx.ops.nn import (
    Layout,
    NnAveragePool,
    NnConv,
    NnFlatten,
    NnLeakyRelu,
    NnLinear,
    NnMaxPool,
    NnRelu,
)
from rlx.ops.real import RealReshape
from rlx.passes.base import Pass
from rlx.passes.quantize.weighted import Weighted, weighted_layers, with_weights

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from rlx.ir import Graph, Node, Value

    Floats = npt.NDArray[np.floating[Any]]

_HOMOGENEOUS: Final = (NnRelu, NnLeakyRelu, NnMaxPool, NnAveragePool)
_MIN_RANGE_SHARE: Final = 1e-4
"""Share of the largest range of a layer below which a channel is left alone: it hardly counts."""


@dataclass(frozen=True, slots=True)
class Equalize(Pass):
    """Balance the ranges of weights of neighbouring layers, channel by channel.

    Attributes:
        rounds: Most sweeps over all pairs.
        tolerance: Largest change of a factor, as a share, at which the sweeps end.
    """

    name: ClassVar[str] = "equalize"
    rounds: int = 40
    tolerance: float = 1e-3

    def apply(self, graph: Graph) -> Graph:
        """Return the graph with balanced weights; it computes the same up to float rounding."""
        layers = {layer.node: layer for layer in weighted_layers(graph)}
        chain = pairs(graph, layers)
        for _ in range(self.rounds):
            largest = 0.0
            for first, second, spread in chain:
                factors = _by_weights(layers[first], layers[second], spread)
                _scale(layers, first, second, spread, factors)
                largest = max(largest, float(np.abs(factors - 1).max(initial=0.0)))
            if largest < self.tolerance:
                break
        touched = {node for first, second, _ in chain for node in (first, second)}
        new = {n: (v.weights, v.bias) for n, v in layers.items() if n in touched}
        return with_weights(graph, new, by=self.name) if new else graph


def before_depthwise(graph: Graph) -> list[Node]:
    """Return the layers whose results :func:`equalize_results` scales."""
    layers = {layer.node: layer for layer in weighted_layers(graph)}
    return [first for first, second, _ in pairs(graph, layers) if _depthwise(layers[second])]


def _depthwise(layer: Weighted) -> bool:
    """Return whether each output of a layer reads one input channel."""
    return bool(layer.by_input().shape[1] == 1)


def equalize_results(graph: Graph, ranges: Mapping[Node, Floats]) -> Graph:
    """Return the graph with results before depthwise layers whose channels fill the same range.

    The result of a layer has one scale, while weights have one for each output channel. So a
    channel of small numbers gains precision, and the depthwise layer, whose weights absorb the
    factors, loses none.

    Args:
        graph: The graph.
        ranges: Largest magnitude of each channel that those layers compute, [outputs].
    """
    layers = {layer.node: layer for layer in weighted_layers(graph)}
    new = {}
    for first, second, spread in pairs(graph, layers):
        if not _depthwise(layers[second]):
            continue
        extents = np.asarray(ranges[first], np.float64)
        counts = extents > extents.max(initial=0.0) * _MIN_RANGE_SHARE
        factors = np.ones_like(extents)
        factors[counts] = extents.max(initial=0.0) / extents[counts]
        _scale(layers, first, second, spread, factors)
        for node in (first, second):
            new[node] = layers[node].weights, layers[node].bias
    return with_weights(graph, new, by="equalize") if new else graph


def scaled_nodes(graph: Graph) -> frozenset[Node]:
    """Return the nodes whose channels the pass may scale: layers, and what lies before the next."""
    layers = {layer.node: layer for layer in weighted_layers(graph)}
    users, scaled = graph.users(), set()
    for first, second, _ in pairs(graph, layers):
        node = first
        while node is not second:
            scaled.add(node)
            (node,) = users[node.result]
    return frozenset(scaled)


def pairs(graph: Graph, layers: dict[Node, Weighted]) -> list[tuple[Node, Node, int]]:
    """Return pairs of layers with only homogeneous ops between them.

    The count is the number of positions for each channel in a dense layer after a flattened image;
    1 for all others.
    """
    users, outputs = graph.users(), set(graph.outputs)
    layer_pairs = []
    for node in layers:
        value: Value | None = node.result
        spread = 1
        while value is not None and value not in outputs and len(users[value]) == 1:
            (user,) = users[value]
            if user in layers:
                if user.operands[0] == value and _channels_fit(layers[node], layers[user], spread):
                    layer_pairs.append((node, user, spread))
                break
            value, spread = _through(user, value, layers[node], spread)
    return layer_pairs


def _through(user: Node, value: Value, layer: Weighted, spread: int) -> tuple[Value | None, int]:
    """Return the result of a homogeneous op, and positions for each channel; None for others."""
    if isinstance(user.op, _HOMOGENEOUS):
        return user.result, spread
    if isinstance(user.op, NnFlatten | RealReshape) and layer.channel_axis == -1 and spread == 1:
        return _through_flatten(user, value)
    return None, spread


def _through_flatten(user: Node, value: Value) -> tuple[Value | None, int]:
    """Return the flattened image, if each sample becomes one row with the channels innermost."""
    before, after = value.type, user.result.type
    if not (before.is_static and after.is_static) or after.rank != 2 or before.rank < 2:
        return None, 1
    if before.static_shape[0] != after.static_shape[0]:
        return None, 1
    return user.result, after.static_shape[1] // before.static_shape[-1]


def _channels_fit(first: Weighted, second: Weighted, spread: int) -> bool:
    """Return whether both layers count the same channels between them."""
    if isinstance(second.node.op, NnLinear):
        return bool(second.weights.shape[1] == first.outputs * spread)
    op = second.node.op
    assert isinstance(op, NnConv)
    inner = second.weights.shape[1 if op.layout is Layout.CHANNELS_FIRST else -1]
    same_axis = first.channel_axis == second.channel_axis
    return bool(spread == 1 and same_axis and inner * second.groups == first.outputs)


def _by_weights(first: Weighted, second: Weighted, spread: int) -> Floats:
    """Return the factor of each channel that makes both layers' weights equally large."""
    writing = np.abs(first.rows()).max(axis=1).astype(np.float64)
    reading = np.abs(second.by_input()).max(axis=-1).reshape(spread, -1).max(axis=0)
    reading = reading.astype(np.float64)
    factors: Floats = np.ones_like(writing)
    both = (writing > writing.max(initial=0.0) * _MIN_RANGE_SHARE) & (
        reading > reading.max(initial=0.0) * _MIN_RANGE_SHARE
    )
    # Both become the geometric mean of the two, the optimum of the source.
    factors[both] = np.sqrt(reading[both] / writing[both])
    return factors


def _scale(
    layers: dict[Node, Weighted], first: Node, second: Node, spread: int, factors: Floats
) -> None:
    """Multiply the channels between two layers by ``factors``."""
    before, behind = layers[first], layers[second]
    bias = (before.bias * factors).astype(before.bias.dtype)
    layers[first] = Weighted(first, before.scale_outputs(factors), bias)
    inputs = np.tile(1 / factors, spread)
    layers[second] = Weighted(second, behind.scale_inputs(inputs), behind.bias)
