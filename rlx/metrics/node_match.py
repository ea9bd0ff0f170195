"""Matching of nodes of two networks that give the same values.

Tests: tests/unit/metrics/test_comparison.py
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx.ir.graph import Source
from rlx.metrics.layer_match import matched_runs
from rlx.ops.nn import NnClamp, NnRelu

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, Node, Value


@dataclass(frozen=True, slots=True)
class LayerMatch:
    """The same layer in both networks.

    Attributes:
        name: Its name.
        origin: Text of its origin, such as ``operator 3 CONV_2D``.
        op: The op in the first network.
        values: Its result in the first and the second network.
        clamps: Activations that one of the networks may have made part of the layer.
    """

    name: str
    origin: str
    op: str
    values: tuple[Value, Value]
    clamps: tuple[Node, ...]


def matched_layers(first: Graph, second: Graph) -> list[LayerMatch]:
    """Return the layers that both graphs have, in the order of the first.

    They have the same name and come from the same place; or the same name, where it is one
    layer's only.
    """
    mine, theirs = _by_place(first), _by_place(second)
    named = {name: value for (name, _), value in theirs.items()}
    users = first.users()
    counts = Counter(name for name, _ in mine)
    layers = []
    for (name, origin), value in mine.items():
        other = theirs.get((name, origin)) or (named.get(name) if counts[name] == 1 else None)
        if other is None or other.type.size != value.type.size:
            continue
        op = value.node.op.name
        layers.append(LayerMatch(name, origin, op, (value, other), _clamps(value, users)))
    return layers


def _by_place(graph: Graph) -> dict[tuple[str, str], Value]:
    """Return the last result of each layer, by its name and where it comes from."""
    values: dict[tuple[str, str], Value] = {}
    for node in graph.nodes:
        if isinstance(node.op, Source) or not node.name or len(node.types) != 1:
            continue
        type_, key = node.types[0], (node.name, node.origin.location)
        if type_.is_static and (type_.dtype.is_float or type_.quant is not None):
            values.pop(key, None)
            values[key] = node.result
    return values


def _clamps(value: Value, users: dict[Value, list[Node]]) -> tuple[Node, ...]:
    """Return the clamping activations that alone read a value, one after the other."""
    clamps: list[Node] = []
    reading: Sequence[Node] = users[value]
    while len(reading) == 1 and isinstance(reading[0].op, NnRelu | NnClamp):
        clamps.append(reading[0])
        reading = users[reading[0].result]
    return tuple(clamps)


def matched_nodes(first: Graph, second: Graph) -> list[LayerMatch]:
    """Return the layers that both graphs have, and the nodes between that have no name in both.

    The latter are matched as the layers of two versions are, by the order of their ops
    (:func:`rlx.metrics.layer_match.matched_runs`). They are in the order of the first graph.
    """
    layers = matched_layers(first, second)
    matched_values = [{layer.values[k] for layer in layers} for k in (0, 1)]
    users = first.users()
    for mine, theirs in matched_runs(_computed(first), _computed(second), _key):
        if [n.op.name for n in mine] != [n.op.name for n in theirs]:
            continue
        for mine_node, other in zip(mine, theirs, strict=True):
            a, b = mine_node.result, other.result
            if a in matched_values[0] or b in matched_values[1] or a.type.shape != b.type.shape:
                continue
            origin = mine_node.origin.location
            layers.append(
                LayerMatch(mine_node.label, origin, mine_node.op.name, (a, b), _clamps(a, users))
            )
    return sorted(layers, key=lambda layer: layer.values[0].node.index)


def _computed(graph: Graph) -> list[Node]:
    """Return the nodes that compute one array."""
    return [n for n in graph.op_nodes if len(n.types) == 1 and n.types[0].is_static]


def _key(node: Node) -> tuple[str, str]:
    return node.op.name, node.name
