"""Lifetimes of values, and the values that share their bytes.

Tests: tests/unit/memory/test_orders.py
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from rlx.ir.module import Region
from rlx.memory.sharing import BufferSharing, is_placed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rlx.ir import Graph, Node, Value

InPlace: TypeAlias = "Callable[[Node], tuple[int, ...]]"
"""Operand places whose bytes a target may overwrite with the node's result."""

Scratch: TypeAlias = "Callable[[Node], int]"
"""Bytes of the arena that a target needs while a node runs."""


def elementwise_in_place(node: Node) -> tuple[int, ...]:
    """Return the operands that elementwise code, written front to back, may overwrite."""
    if not node.op.traits.elementwise:
        return ()
    result = node.types[0]
    return tuple(
        i
        for i, o in enumerate(node.operands)
        if o.type.shape == result.shape and o.type.dtype == result.dtype and is_placed(o)
    )


def no_scratch(node: Node) -> int:
    """Return 0: no node needs memory besides its operands and results."""
    del node
    return 0


@dataclass(slots=True)
class Lifetime:
    """A buffer: one value, or several that share its bytes.

    Attributes:
        values: Each value in it with its offset in bytes, first the one that names the buffer; none
            for scratch memory.
        region: Memory region of the buffer.
        nbytes: Its size.
        first: Step that writes it, -1 for inputs.
        last: Last step that reads it; the number of steps for outputs.
    """

    values: dict[Value, int]
    region: Region
    nbytes: int
    first: int
    last: int

    def overlaps(self, other: Lifetime) -> bool:
        """Return whether both hold something at the same step."""
        return self.first <= other.last and other.first <= self.last


def lifetimes(
    graph: Graph,
    order: Sequence[Node],
    in_place: InPlace = elementwise_in_place,
    *,
    alignment: int = 1,
    ports_inside: bool = False,
) -> list[Lifetime]:
    """Return the buffers that an execution in ``order`` needs, in order of first use.

    A view (a reshape, a slice that is one run of bytes) shares its operand's bytes; an operand of a
    join is computed at its place in the whole; a node that may work in place takes over the bytes
    of an operand that no node reads afterwards. None of them joins the caller's input buffer with
    anything written, nor an output with another output.

    Args:
        graph: The graph, with static shapes.
        order: Every node that computes, operands first.
        in_place: Operands that a node may overwrite.
        alignment: Alignment in bytes of every value in its buffer.
        ports_inside: Inputs and outputs are in the arena: an input may be overwritten after its
            last use, and an output may reuse bytes of another value.
    """
    return lifetimes_in(BufferSharing(graph, alignment, ports_inside=ports_inside), order, in_place)


def lifetimes_in(
    sharing: BufferSharing, order: Sequence[Node], in_place: InPlace
) -> list[Lifetime]:
    """Return the result of :func:`lifetimes` with the sharing that the graph determines."""
    buffers = _Buffers(sharing, order, in_place)
    for step, node in enumerate(order):
        for value in node.results:
            buffers.add(value, step)
    return list({id(b): b for b in buffers.by_value.values()}.values())


def scratch_lifetimes(order: Sequence[Node], scratch: Scratch) -> list[Lifetime]:
    """Return a buffer for each node of ``order`` that needs memory while it runs."""
    needs = ((step, scratch(node)) for step, node in enumerate(order))
    return [Lifetime({}, Region.ARENA, nbytes, step, step) for step, nbytes in needs if nbytes]


def peak_of(buffers: Iterable[Lifetime], alignment: int = 1) -> int:
    """Return the largest sum of bytes alive at one step, each size rounded up."""
    changes: dict[int, int] = {}
    for buffer in buffers:
        nbytes = -(-buffer.nbytes // alignment) * alignment
        changes[buffer.first] = changes.get(buffer.first, 0) + nbytes
        changes[buffer.last + 1] = changes.get(buffer.last + 1, 0) - nbytes
    return max(accumulate(changes[step] for step in sorted(changes)), default=0)


def last_uses(graph: Graph, order: Sequence[Node]) -> dict[Value, int]:
    """Return the last step that reads each value, or makes it; outputs are read after all steps."""
    last = {v: -1 for n in graph.nodes for v in n.results}
    for step, node in enumerate(order):
        for value in (*node.operands, *node.results):
            last[value] = step
    for value in graph.outputs:
        last[value] = len(order)
    return last


class _Buffers:
    """The buffers of an execution, step by step."""

    def __init__(self, sharing: BufferSharing, order: Sequence[Node], in_place: InPlace) -> None:
        graph, ports_inside = sharing.graph, sharing.ports_inside
        self._sharing = sharing
        self._in_place = in_place
        self._nbytes = sharing.nbytes
        self._alignment = sharing.alignment
        self._last = last_uses(graph, order)
        self._outputs = frozenset(() if ports_inside else sharing.outputs)
        self._states_of = sharing.states_of(in_place)
        region = Region.ARENA if ports_inside else Region.INPUT
        self.by_value: dict[Value, Lifetime] = {}
        for value in graph.inputs:
            input_region = Region.STATE if value in sharing.states else region
            self.by_value[value] = Lifetime(
                {value: 0}, input_region, self._nbytes(value), -1, self._last[value]
            )

    def add(self, value: Value, step: int) -> None:
        """Find a buffer for a value that ``step`` makes."""
        if value in self.by_value:
            return  # its parts made it
        if value in self._sharing.joined:
            whole, offset = self._sharing.joined[value]
            if whole not in self.by_value:
                self._make(whole, step)
            self._share(value, self.by_value[whole], offset)
            return
        shared = self._view(value) or self._overwritten_operand(value, step)
        if shared is None:
            self._make(value, step)
        else:
            self._share(value, *shared)

    def _make(self, value: Value, step: int) -> None:
        for state in self._states_of.get(value, ()):
            buffer = self.by_value[state]
            if self._sharing.states[state] == value and buffer.last < step:
                self._share(value, buffer, 0)
                return
        region = Region.OUTPUT if value in self._outputs else Region.ARENA
        nbytes = self._nbytes(value)
        self.by_value[value] = Lifetime({value: 0}, region, nbytes, step, self._last[value])

    def _share(self, value: Value, buffer: Lifetime, offset: int) -> None:
        buffer.values[value] = offset
        buffer.last = max(buffer.last, self._last[value])
        if value in self._outputs:
            buffer.region = Region.OUTPUT
        self.by_value[value] = buffer

    def _view(self, value: Value) -> tuple[Lifetime, int] | None:
        """Return the buffer and the offset in it of a value that is a view, or None."""
        if value not in self._sharing.views:
            return None
        operand = value.node.operands[0]
        buffer = self.by_value[operand]
        offset = buffer.values[operand] + self._sharing.views[value]
        return (buffer, offset) if self._fits(value, buffer, offset) else None

    def _overwritten_operand(self, value: Value, step: int) -> tuple[Lifetime, int] | None:
        """Return the buffer and the offset in it of an operand that dies, or None."""
        for index in self._in_place(value.node):
            operand = value.node.operands[index]
            if not is_placed(operand):
                continue
            buffer = self.by_value[operand]
            offset = buffer.values[operand]
            dies = buffer.last <= step and self._region_allows(value, buffer)
            safe = dies and self._aliasing_is_safe(value, index, buffer, offset)
            if safe and self._fits(value, buffer, offset):
                return buffer, offset
        return None

    def _region_allows(self, value: Value, buffer: Lifetime) -> bool:
        """Return whether a value may be computed in a buffer of that region."""
        if buffer.region is Region.STATE:
            return next(iter(buffer.values)) in self._states_of.get(value, ())
        return buffer.region is Region.ARENA

    def _aliasing_is_safe(self, value: Value, index: int, buffer: Lifetime, offset: int) -> bool:
        """Return whether a node may write a value at an offset of the buffer of an operand.

        Args:
            value: The value.
            index: Index of the operand that it overwrites.
            buffer: The operand's buffer.
            offset: Bytes of the buffer before the value.
        """
        node = value.node
        if any(other in buffer.values for other in node.results):
            return False  # two results of a node are written at one time
        nbytes = self._nbytes(value)
        for k, operand in enumerate(node.operands):
            if self.by_value.get(operand) is not buffer:
                continue
            begin, read = buffer.values[operand], self._nbytes(operand)
            overlap = begin < offset + nbytes and offset < begin + read
            same_slot = (begin, read) == (offset, nbytes)
            # An elementwise node reads element i of all operands just before it writes element i.
            # A part of them, broadcast, would be read again after it is overwritten.
            in_step = node.op.traits.elementwise or k == index
            if overlap and not (same_slot and in_step):
                return False
        return True

    def _fits(self, value: Value, buffer: Lifetime, offset: int) -> bool:
        """Return whether a value may be placed there: an output needs a whole buffer of the arena.

        In the buffer of a state it would not last: the next value comes there.
        """
        if buffer.region is Region.STATE and value in self._sharing.outputs:
            return False
        if value not in self._outputs:
            return offset % self._alignment == 0
        return buffer.region is Region.ARENA and buffer.nbytes == self._nbytes(value)
