"""Functions for the readers of patterns: readers of a value, numbers, elementwise chains.

The same functions find a pattern in a model's graph and read the body of a fused op, so that both
mean the same by it.

Tests: tests/unit/passes/fusion/test_blocks.py
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx.ir import DType, Graph, Node, Value, copy_node
from rlx.ops import real

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rlx.ir import Op, TensorType

MAX_ACTIVATION = 24
"""Ops of an activation function."""


class Readers:
    """Readers of each value of a graph.

    Attributes:
        users: The nodes that read a value, once for each operand place.
        outputs: The outputs of the graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.users = graph.users()
        self.outputs = frozenset(graph.outputs)

    def only(self, value: Value) -> Node | None:
        """Return the node that alone reads a value, None if there is none such."""
        users = self.users[value]
        if value in self.outputs or not users or any(u is not users[0] for u in users):
            return None
        return users[0]

    def closed(self, values: Iterable[Value], nodes: set[Node]) -> Value | None:
        """Return the first of ``values`` that is read outside of ``nodes``, None if none is."""
        for value in values:
            if value in self.outputs or any(u not in nodes for u in self.users[value]):
                return value
        return None


def number_of(value: Value) -> float | None:
    """Return a constant of one element as a number, else None."""
    array = value.constant
    if array is None or array.size != 1:
        return None
    return float(array.reshape(()))


def is_elementwise(node: Node) -> bool:
    """Return whether a node is an elementwise op on reals: their meaning is known to kernels."""
    return node.op.traits.elementwise and type(node.op) in _REAL


_REAL = frozenset(real.REAL_OPS)


def partner(node: Node, value: Value) -> Value | None:
    """Return the other operand of a node of two that reads ``value``."""
    if len(node.operands) != 2 or value not in node.operands:
        return None
    x, y = node.operands
    return y if x == value else x


def beside(value: Value, op: type[Op], test: Callable[[Value], bool]) -> tuple[Value, Value] | None:
    """Return the operands of a commutative node, first the one that passes ``test``."""
    if type(value.node.op) is not op:
        return None
    x, y = value.node.operands
    if test(x):
        return x, y
    return (y, x) if test(y) else None


def is_vector(type_: TensorType, like: TensorType) -> bool:
    """Return whether a tensor holds one value for each index of the last axis of ``like``."""
    shape = type_.shape
    if not 1 <= len(shape) <= like.rank or type_.dtype is not like.dtype:
        return False
    return shape[-1] == like.shape[-1] and all(n == 1 for n in shape[:-1])


def swaps_last(node: Node) -> bool:
    """Return whether a node is a transpose that swaps the last two axes."""
    op, rank = node.op, node.types[0].rank
    return (
        isinstance(op, real.RealTranspose)
        and rank >= 2
        and op.axes == (*range(rank - 2), rank - 1, rank - 2)
    )


def activation_from(value: Value, readers: Readers) -> tuple[Node, ...]:
    """Return the nodes of the longest function of ``value`` alone; empty if there is none.

    The function is elementwise, keeps type and shape, and reads nothing but ``value`` and numbers;
    nothing else reads ``value`` or the values within the function.
    """
    nodes = _functions_of(value, readers)
    # The longest first: a shorter one has fewer inner values that other nodes may read.
    for end in range(len(nodes), 0, -1):
        result = nodes[end - 1].results[0]
        if result.type != value.type:
            continue
        function = ancestors(result.node, set(nodes[:end]))
        inner = [value, *(v for n in function if n is not result.node for v in n.results)]
        if readers.closed(inner, function) is None:
            return tuple(sorted(function, key=lambda n: n.index))
    return ()


def _functions_of(value: Value, readers: Readers) -> list[Node]:
    """Return the elementwise nodes that depend on ``value`` and numbers alone, in order."""
    known: set[Value] = {value}
    functions: list[Node] = []
    waiting = {n.index: n for n in readers.users[value]}
    order = list(waiting)
    heapq.heapify(order)
    while order and len(functions) < MAX_ACTIVATION:
        node = waiting[heapq.heappop(order)]
        if not _continues(node, value.type, known):
            continue
        functions.append(node)
        known.add(node.results[0])
        for user in readers.users[node.results[0]]:
            if user.index not in waiting:
                waiting[user.index] = user
                heapq.heappush(order, user.index)
    return functions


def _continues(node: Node, type_: TensorType, known: set[Value]) -> bool:
    """Return whether a node is elementwise on known values and numbers, of one shape and type."""
    if not is_elementwise(node) or node.types[0].shape != type_.shape:
        return False
    if node.types[0].dtype not in (type_.dtype, DType.BOOL):
        return False
    return all(o in known or number_of(o) is not None for o in node.operands)


def ancestors(node: Node, among: set[Node]) -> set[Node]:
    """Return ``node`` and those of ``among`` that it depends on through them."""
    found, waiting = {node}, [node]
    while waiting:
        for operand in waiting.pop().operands:
            if operand.node in among and operand.node not in found:
                found.add(operand.node)
                waiting.append(operand.node)
    return found


@dataclass(frozen=True, slots=True)
class Cut:
    """Nodes cut out of a graph.

    Attributes:
        body: A graph of copies of them.
        operands: Value of the outer graph for each input of the body.
    """

    body: Graph
    operands: tuple[Value, ...]


def cut_out(
    name: str, nodes: Sequence[Node], results: Sequence[Value], inputs: Mapping[str, Value]
) -> Cut:
    """Return a graph of copies of ``nodes``, and the values that it reads.

    Numbers become constants of the body; every other value from outside becomes an input.

    Args:
        name: Name of the graph.
        nodes: The nodes, operands before their users.
        results: Their values that become outputs.
        inputs: Values from outside that have a name as inputs and come first; others are called
            ``a0``, ``a1``, ... in the order in which they are read. A value of two names is one
            input.
    """
    body = Graph(name)
    computed = {v for n in nodes for v in n.results}
    operands = dict.fromkeys(o for n in nodes for o in n.operands if o not in computed)
    named: dict[Value, str] = {}
    for text, value in inputs.items():
        named.setdefault(value, text)
    more = [o for o in operands if o not in named and number_of(o) is None]
    named.update((value, f"a{i}") for i, value in enumerate(more))
    new = {value: body.input(text, value.type) for value, text in named.items()}
    for value in operands:
        if value not in new:
            assert value.constant is not None
            new[value] = body.constant(value.constant)
    for node in nodes:
        copy = copy_node(body, node, tuple(new[o] for o in node.operands))
        new.update(zip(node.results, copy.results, strict=True))
    body.output(*(new[r] for r in results))
    return Cut(body, tuple(named))
