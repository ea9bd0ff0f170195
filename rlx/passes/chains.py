"""Chains of elementwise int8 ops that compute a function of one value, channel by channel.

Tests: tests/unit/passes/test_fuse_chains.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from rlx.ir import Graph, Node, Value

VALUES: Final = np.arange(-128, 128, dtype=np.int8)[:, np.newaxis]
"""Every int8 value, in one column."""

MAX_CHANNELS: Final = 4096
"""Constants of an op up to which its function is evaluated: 256 values for each of them."""


@dataclass(frozen=True, slots=True, eq=False)
class ChannelFunction:
    """``value[..., c] = tables[source[..., c] + 128, c]``.

    Attributes:
        source: Value of the same shape.
        tables: int8[256, C], or int8[256, 1] if no constant differs by channel.
    """

    source: Value
    tables: npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Nodes that together compute a function of one value; only the last is read by others.

    Attributes:
        function: The function, by evaluation for all 256 values of each channel.
        nodes: The nodes in order.
    """

    function: ChannelFunction
    nodes: tuple[Node, ...]

    @property
    def is_uniform(self) -> bool:
        """Whether all channels have the same function."""
        tables = self.function.tables
        return bool((tables == tables[:, :1]).all())


def chains(graph: Graph) -> list[Chain]:
    """Return the chains of a graph, each as long as it can be, single nodes among them."""
    functions = channel_functions(graph)
    users, outputs = graph.users(), set(graph.outputs)
    covered: set[Node] = set()
    chains_: list[Chain] = []
    for node in reversed(graph.nodes):
        if node in covered or not node.types or node.results[0] not in functions:
            continue
        last, source = node, node.result
        nodes: set[Node] = set()
        for ancestor in _ancestors(node.result, functions):
            part = _between(last, ancestor)
            inner = {n.result for n in part - {node}}
            read = {user for value in inner for user in users[value]}
            if not inner.isdisjoint(outputs) or not read <= nodes | part:
                break
            last, source, nodes = ancestor.node, ancestor, nodes | part
        if not nodes:
            continue
        covered.update(nodes)
        function = ChannelFunction(source, _tables(node.result, source, functions))
        chains_.append(Chain(function, tuple(sorted(nodes, key=lambda n: n.index))))
    return chains_[::-1]


def channel_functions(graph: Graph) -> Mapping[Value, ChannelFunction]:
    """Return the values that are a function of one other value, the nearest such one."""
    functions: dict[Value, ChannelFunction] = {}
    for node in graph.op_nodes:
        source = _source(node, functions)
        if source is None:
            continue
        operands = (
            _tables(o, source, functions) if o.constant is None else o.constant.reshape(-1)
            for o in node.operands
        )
        (results,) = node.op.evaluate(*operands)
        functions[node.result] = ChannelFunction(source, np.asarray(results, np.int8))
    return functions


def _source(node: Node, functions: Mapping[Value, ChannelFunction]) -> Value | None:
    """Return the nearest value that all computed operands of a node are functions of."""
    types = [*node.types, *(o.type for o in node.operands)]
    computed = list(dict.fromkeys(o for o in node.operands if o.constant is None))
    constants = [o.type for o in node.operands if o.constant is not None]
    if (
        node.op.dialect != "q"
        or not node.op.traits.elementwise
        or not computed
        or any(t.dtype is not DType.I8 for t in types)
        or any(o.type.shape != node.types[0].shape for o in computed)
        or any(t.size > 1 and t.shape[-1] != t.size for t in constants)
        or any(t.size > MAX_CHANNELS for t in constants)
    ):
        return None
    first, *rest = ([o, *_ancestors(o, functions)] for o in computed)
    return next((value for value in first if all(value in other for other in rest)), None)


def _ancestors(value: Value, functions: Mapping[Value, ChannelFunction]) -> Iterator[Value]:
    """Yield the values that a value is a function of, the nearest first."""
    while value in functions:
        value = functions[value].source
        yield value


def _between(last: Node, source: Value) -> set[Node]:
    """Return the nodes that compute the result of ``last`` from ``source``."""
    nodes: set[Node] = set()
    waiting = [last]
    while waiting:
        node = waiting.pop()
        if node not in nodes:
            nodes.add(node)
            waiting += [o.node for o in node.operands if o != source and o.constant is None]
    return nodes


def _tables(
    value: Value, source: Value, functions: Mapping[Value, ChannelFunction]
) -> npt.NDArray[np.int8]:
    """Return a value as a function of one that it is computed from, int8[256, C] or [256, 1]."""
    tables: npt.NDArray[np.int8] | None = None
    while value != source:
        inner = functions[value].tables
        tables = inner if tables is None else _composed(tables, inner)
        value = functions[value].source
    return VALUES if tables is None else tables


def _composed(outer: npt.NDArray[np.int8], inner: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Return the tables of ``outer(inner(x))``."""
    return outer[inner.astype(np.intp) + 128, np.arange(outer.shape[1])]
