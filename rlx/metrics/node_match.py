"""Matching of nodes of two networks with the same results.

Tests: tests/unit/metrics/test_comparison.py
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rlx.ir.graph import Source
from rlx.ir.layer_names import layer_key, layer_names, main_node, origins_of
from rlx.metrics.layer_match import matched_runs
from rlx.ops.nn import NnClamp, NnRelu
from rlx.passes.quantize.equalize import Equalize, scaled_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, Node, Value


@dataclass(frozen=True, slots=True)
class LayerMatch:
    """The same layer in both networks.

    Attributes:
        name: Its name in the first network.
        origin: Text of its origin, such as ``operator 3 CONV_2D``.
        op: The op of its main node in the first network.
        key: Name in the model and origin in the first network, which identify it.
        origins: Nodes of the model of which it was made, in both networks.
        values: Its result in the first and the second network.
        row: Result of its main node in the second network, by which tables of values name it.
        clamps: Activations that one of the networks may have made part of the layer.
        moves_only: Whether it moves values and computes none.
        equalized: Whether one of the networks has its channels scaled, the other not.
    """

    name: str
    origin: str
    op: str
    key: tuple[str, str]
    origins: tuple[str, ...]
    values: tuple[Value, Value]
    row: Value
    clamps: tuple[Node, ...]
    moves_only: bool
    equalized: bool = False


def matched_layers(first: Graph, second: Graph) -> list[LayerMatch]:
    """Return the layers that both graphs have, in the order of the first.

    They have the same name and come from the same place; or the same name, where it is one
    layer's only. Nodes of a traced network have no names: those of their layers tell them apart.
    Layers that :func:`equalized_layers` names are left out.
    """
    return [layer for layer in _layers(first, second) if not layer.equalized]


def equalized_layers(first: Graph, second: Graph) -> tuple[str, ...]:
    """Return the names of layers whose channels only one of both graphs has scaled on purpose.

    Cross-layer equalization scales a layer's results and divides the next layer's weights by the
    same factors: the values differ, the networks do not.
    """
    return tuple(layer.name for layer in _layers(first, second) if layer.equalized)


def _layers(first: Graph, second: Graph) -> list[LayerMatch]:
    """Return the layers that both graphs have, also those that cannot be compared."""
    named_only = any(node.name for node in first.op_nodes)
    mine, theirs = (_by_place(graph, named_only=named_only) for graph in (first, second))
    named = {name: value for (name, _), value in theirs.items()}
    users, mains, other_mains = first.users(), _mains(first), _mains(second)
    names, scaled = layer_names(first), _scaled(first, second)
    counts = Counter(name for name, _ in mine)
    layers = []
    for (name, origin), value in mine.items():
        other = theirs.get((name, origin)) or (named.get(name) if counts[name] == 1 else None)
        if other is None or other.type.size != value.type.size:
            continue
        main = mains[name, origin]
        other_main = other_mains[layer_key(other.node)]
        match = _match(main, names[main], (value, other), users)
        match = replace(match, equalized=bool({value.node, other.node} & scaled))
        layers.append(
            replace(match, row=other_main.result) if len(other_main.types) == 1 else match
        )
    return layers


def _by_place(graph: Graph, *, named_only: bool) -> dict[tuple[str, str], Value]:
    """Return the last result of each layer, by its key."""
    values: dict[tuple[str, str], Value] = {}
    for node in graph.nodes:
        if isinstance(node.op, Source) or len(node.types) != 1:
            continue
        type_, key = node.types[0], layer_key(node)
        if not (node.name if named_only else key[0]):
            continue
        if type_.is_static and (type_.dtype.is_float or type_.quant is not None):
            values.pop(key, None)
            values[key] = node.result
    return values


def _mains(graph: Graph) -> dict[tuple[str, str], Node]:
    """Return the main node of each layer, by the layer's key."""
    groups: dict[tuple[str, str], list[Node]] = {}
    for node in graph.op_nodes:
        groups.setdefault(layer_key(node), []).append(node)
    return {key: main_node(nodes) for key, nodes in groups.items()}


def _scaled(first: Graph, second: Graph) -> frozenset[Node]:
    """Return the nodes of the graph that is not equalized where the other one is."""
    equalized = [
        any(Equalize.name in node.origin.passes for node in graph.op_nodes)
        for graph in (first, second)
    ]
    if equalized[0] == equalized[1]:
        return frozenset()
    return scaled_nodes(second if equalized[0] else first)


def _match(
    main: Node, name: str, values: tuple[Value, Value], users: dict[Value, list[Node]]
) -> LayerMatch:
    """Return a layer of both networks, given its main node in the first one."""
    return LayerMatch(
        name=name,
        origin=main.origin.location,
        op=main.op.name,
        key=layer_key(main),
        origins=_origins(*values),
        values=values,
        row=values[1],
        clamps=_clamps(values[0], users),
        moves_only=main.op.traits.moves_only,
    )


def _origins(*values: Value) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for v in values for one in origins_of(v.node)))


def _clamps(value: Value, users: dict[Value, list[Node]]) -> tuple[Node, ...]:
    """Return the clamping activations that alone read a value, one after the other."""
    clamps: list[Node] = []
    reading: Sequence[Node] = users[value]
    while len(reading) == 1 and isinstance(reading[0].op, NnRelu | NnClamp):
        clamps.append(reading[0])
        reading = users[reading[0].result]
    return tuple(clamps)


def matched_nodes(first: Graph, second: Graph) -> list[LayerMatch]:
    """Return the layers that both graphs have, and the nodes between that are part of none.

    The latter are matched as the layers of two versions are, by the order of their ops
    (:func:`rlx.metrics.layer_match.matched_runs`). They are in the order of the first graph.
    """
    layers = _layers(first, second)
    matched_keys = {layer.key for layer in layers}
    matched_values = {layer.values[1] for layer in layers}
    users, names = first.users(), layer_names(first)
    for mine, theirs in matched_runs(_computed(first), _computed(second), _key):
        if [n.op.name for n in mine] != [n.op.name for n in theirs]:
            continue
        for mine_node, other in zip(mine, theirs, strict=True):
            a, b = mine_node.result, other.result
            is_part = layer_key(mine_node) in matched_keys or b in matched_values
            if not is_part and a.type.shape == b.type.shape:
                layers.append(_match(mine_node, names[mine_node], (a, b), users))
    layers = [layer for layer in layers if not layer.equalized]
    return sorted(layers, key=lambda layer: layer.values[0].node.index)


def _computed(graph: Graph) -> list[Node]:
    """Return the nodes that compute one array."""
    return [n for n in graph.op_nodes if len(n.types) == 1 and n.types[0].is_static]


def _key(node: Node) -> tuple[str, str]:
    return node.op.name, node.name
