"""Values that share their bytes in any order of execution.

Tests: tests/unit/memory/test_orders.py
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from rlx.ir import Constant, Input, Param
from rlx.ir.graph import Source
from rlx.ir.views import contents, join_offsets, view_offset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Graph, Node, Value
    from rlx.memory.lifetimes import InPlace


class BufferSharing:
    """Sharing of bytes by the values of a graph: found once for all orders.

    Args:
        graph: The graph, with static shapes.
        alignment: Alignment in bytes of every value in its buffer.
        ports_inside: Inputs and outputs are in the arena.
        unpacked: Elements of fewer than 8 bits take a byte each, as in NumPy's arrays.
        states: States have buffers of their own; otherwise they are inputs and outputs like others.

    Attributes:
        graph: The graph.
        alignment: As given.
        ports_inside: As given.
        unpacked: As given.
        states: The states with buffers of their own, and their next values. A state that is an
            output, as is its next value, is not one of them: the caller reads the old value when
            the buffer has the new one.
        outputs: The outputs but the next values of these states.
        views: The values that stay in their first operand's bytes, and their offsets in it.
        joined: The values that can be computed where the result of a join has them: for each of
            them that result, and the value's offset in it in bytes.
    """

    def __init__(
        self,
        graph: Graph,
        alignment: int = 1,
        *,
        ports_inside: bool = False,
        unpacked: bool = False,
        states: bool = False,
    ) -> None:
        self.graph, self.alignment = graph, alignment
        self.ports_inside, self.unpacked = ports_inside, unpacked
        self.states, self.outputs = _states(graph) if states else ({}, frozenset(graph.outputs))
        users = graph.users()
        outside = _views(graph, users, ports_inside=False)
        self.views = _views(graph, users, ports_inside=True) if ports_inside else outside
        self.joined = _join_placements(graph, users, outside, alignment)

    def nbytes(self, value: Value) -> int:
        """Return the size of a value in bytes."""
        type_ = value.type
        return type_.size * type_.dtype.numpy.itemsize if self.unpacked else type_.nbytes

    def states_of(self, in_place: InPlace) -> dict[Value, list[Value]]:
        """Return the values that may be computed in buffers of states, and those states.

        They are the next value of a state, and the values on the way to it if each overwrites the
        one before: of ``next = clamp(state + x)`` the sum and the clamped sum. Any other value
        would have to leave the buffer before the next value is written.
        """
        if not self.states:
            return {}
        overwritable = self._overwritable_operands(in_place)
        states: dict[Value, list[Value]] = {}
        for state, following in self.states.items():
            for value in {following, *_values_between(state, following, overwritable)}:
                if value != state and value not in self.outputs:
                    states.setdefault(value, []).append(state)
        return states

    def _overwritable_operands(self, in_place: InPlace) -> dict[Value, tuple[Value, ...]]:
        """Return for each value the operands whose bytes it may have."""
        operands: dict[Value, tuple[Value, ...]] = {}
        for node in self.graph.op_nodes:
            overwritable = tuple(node.operands[k] for k in in_place(node))
            for value in node.results:
                operands[value] = node.operands[:1] if value in self.views else overwritable
        return operands

    def buffers(self) -> dict[Value, tuple[Value, ...]]:
        """Return for each value those whose bytes it shares in any order, or itself."""
        shared: dict[Value, tuple[Value, ...]] = {}
        wholes = {whole for whole, _ in self.joined.values()}
        for node in self.graph.nodes:
            for value in node.results:
                if value in wholes:
                    parts = (shared[operand] for operand in node.operands)
                    shared[value] = tuple(dict.fromkeys(chain.from_iterable(parts)))
                elif value in self.views:
                    shared[value] = shared[node.operands[0]]
                else:
                    shared[value] = (value,)
        return shared


def _states(graph: Graph) -> tuple[dict[Value, Value], frozenset[Value]]:
    """Return the states that get buffers, with their next values, and the other outputs."""
    names = {state.name for state, _ in graph.states}
    named = zip(graph.output_names, graph.outputs, strict=True)
    outputs = {value for name, value in named if name not in names}
    buffered = {s: after for s, after in graph.states if s == after or s not in outputs}
    rest = {after for state, after in graph.states if state not in buffered}
    return buffered, frozenset(outputs | rest)


def _values_between(
    state: Value, following: Value, overwritable: Mapping[Value, Sequence[Value]]
) -> set[Value]:
    """Return the values on all chains of overwritten operands from a state to its next value."""
    descendants = {state}
    for value in sorted(_ancestors(following, overwritable), key=lambda v: (v.node.index, v.index)):
        if not descendants.isdisjoint(overwritable.get(value, ())):
            descendants.add(value)
    return descendants


def _ancestors(value: Value, overwritable: Mapping[Value, Sequence[Value]]) -> set[Value]:
    """Return a value and all values that may have had its bytes before."""
    ancestors: set[Value] = set()
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if value not in ancestors:
            ancestors.add(value)
            waiting += overwritable.get(value, ())
    return ancestors


def is_placed(value: Value) -> bool:
    """Return whether a value has a place in a plan: constants and parameters are elsewhere."""
    return not isinstance(value.node.op, Constant | Param)


def _views(
    graph: Graph, users: Mapping[Value, Sequence[Node]], *, ports_inside: bool
) -> dict[Value, int]:
    """Return the values that stay in their first operand's bytes, and their offsets in it.

    A part of a buffer keeps all of it alive. It stays there only if another value does so too, or
    if its only reader can come next, waiting for nothing else, or if the buffer is the caller's.
    """
    last = {v: max((n.index for n in nodes), default=-1) for v, nodes in users.items()}
    outputs = set(graph.outputs)
    content = contents(graph)
    view_offsets: dict[Value, int] = {}
    for node in graph.op_nodes:
        offset = view_offset(node)
        if offset is None or not is_placed(node.operands[0]):
            continue
        value, operand = node.result, node.operands[0]
        whole = value.type.nbytes == operand.type.nbytes
        outside = not ports_inside and isinstance(content[value][0].node.op, Input)
        brief = last[value] <= last[operand] or _read_next(users[value], value)
        if whole or outside or (brief and value not in outputs):
            view_offsets[value] = offset
    return view_offsets


def _read_next(users: Sequence[Node], value: Value) -> bool:
    """Return whether a value's only reader can run as soon as the value is there."""
    return len(users) == 1 and all(o == value or o.constant is not None for o in users[0].operands)


def _join_placements(
    graph: Graph,
    users: Mapping[Value, Sequence[Node]],
    left: Mapping[Value, int],
    alignment: int,
) -> dict[Value, tuple[Value, int]]:
    """Return the values that can be computed where the result of a join has them.

    Returns:
        For each of them that result, and the value's offset in it in bytes.
    """
    outputs = set(graph.outputs)
    placements: dict[Value, tuple[Value, int]] = {}
    for node in graph.op_nodes:
        offsets = join_offsets(node)
        if offsets is None or not all(
            not isinstance(o.node.op, Source)
            and o not in left
            and join_offsets(o.node) is None
            and o not in outputs
            and users[o] == [node]
            for o in node.operands
        ):
            continue
        if len(set(node.operands)) == len(offsets) and not any(o % alignment for o in offsets):
            placements |= {
                operand: (node.result, offset)
                for operand, offset in zip(node.operands, offsets, strict=True)
            }
    return placements
