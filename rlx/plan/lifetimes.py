"""When each value is alive, and which values share their bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rlx.ir import Constant, Input
from rlx.ir.graph import Source
from rlx.ir.module import Region
from rlx.ir.views import content, join_offsets, view_offset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
        if o.type.shape == result.shape and o.type.dtype == result.dtype and o.constant is None
    )


def no_scratch(node: Node) -> int:
    """Return 0: no node needs memory beside its operands and results."""
    del node
    return 0


@dataclass(slots=True)
class Lifetime:
    """A buffer: one value, or several that share its bytes.

    Attributes:
        values: Each value in it with the bytes in front of it, the one in front that names the
            buffer; none for scratch memory.
        region: Where the buffer lives.
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
        """Whether both hold something at the same step."""
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

    A view (a reshape, a slice that is one run of bytes) shares its operand's bytes; what is joined
    is computed where the whole has it; a node that may work in place takes over the bytes of an
    operand that no node reads afterwards. None of them joins the caller's input buffer with
    anything written, nor an output with another output.

    Args:
        graph: The graph, with static shapes.
        order: Every node that computes, operands first.
        in_place: Which operands a node may overwrite.
        alignment: Every value begins at a multiple of so many bytes of its buffer.
        ports_inside: Inputs and outputs lie in the arena: an input may be overwritten after its
            last use, and an output lie where something else was.
    """
    buffers = _Buffers(graph, order, in_place, alignment, ports_inside)
    for step, node in enumerate(order):
        for value in node.results:
            buffers.add(value, step)
    return list({id(b): b for b in buffers.by_value.values()}.values())


def scratch_lifetimes(order: Sequence[Node], scratch: Scratch) -> list[Lifetime]:
    """Return a buffer for each node of ``order`` that needs memory while it runs."""
    needs = ((step, scratch(node)) for step, node in enumerate(order))
    return [Lifetime({}, Region.ARENA, nbytes, step, step) for step, nbytes in needs if nbytes]


def last_uses(graph: Graph, order: Sequence[Node]) -> dict[Value, int]:
    """Return the last step that reads each value, or makes it; outputs are read after all steps."""
    last = {v: -1 for n in graph.nodes for v in n.results}
    for step, node in enumerate(order):
        for value in (*node.operands, *node.results):
            last[value] = step
    for value in graph.outputs:
        last[value] = len(order)
    return last


def views(graph: Graph, *, ports_inside: bool = False) -> dict[Value, int]:
    """Return the values that stay in their first operand's bytes, and their offsets in it.

    A part of a buffer keeps all of it alive. It stays there only if another value does so too, or
    if its only reader can come next, waiting for nothing else, or if the buffer is the caller's.
    """
    users = graph.users()
    last = {v: max((n.index for n in nodes), default=-1) for v, nodes in users.items()}
    outputs = set(graph.outputs)
    found: dict[Value, int] = {}
    for node in graph.op_nodes:
        offset = view_offset(node)
        if offset is None or isinstance(node.operands[0].node.op, Constant):
            continue
        value, operand = node.result, node.operands[0]
        whole = value.type.nbytes == operand.type.nbytes
        outside = not ports_inside and isinstance(content(value)[0].node.op, Input)
        brief = last.get(value, -1) <= last[operand] or _read_next(users.get(value, ()), value)
        if whole or outside or (brief and value not in outputs):
            found[value] = offset
    return found


def _read_next(users: Sequence[Node], value: Value) -> bool:
    """Whether a value's only reader can run as soon as the value is there."""
    return len(users) == 1 and all(o == value or o.constant is not None for o in users[0].operands)


def joined(graph: Graph, alignment: int = 1) -> dict[Value, tuple[Value, int]]:
    """Return the values that can be computed where the result of a join has them.

    Returns:
        For each of them that result, and the bytes in it in front of the value.
    """
    users = graph.users()
    left = views(graph)
    outputs = set(graph.outputs)
    found: dict[Value, tuple[Value, int]] = {}
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
            found |= {
                operand: (node.result, offset)
                for operand, offset in zip(node.operands, offsets, strict=True)
            }
    return found


class _Buffers:
    """The buffers of an execution, step by step."""

    def __init__(
        self,
        graph: Graph,
        order: Sequence[Node],
        in_place: InPlace,
        alignment: int,
        ports_inside: bool,
    ) -> None:
        self._in_place = in_place
        self._alignment = alignment
        self._last = last_uses(graph, order)
        self._outputs = frozenset(() if ports_inside else graph.outputs)
        self._parts = joined(graph, alignment)
        self._views = views(graph, ports_inside=ports_inside)
        region = Region.ARENA if ports_inside else Region.INPUT
        self.by_value = {
            v: Lifetime({v: 0}, region, v.type.nbytes, -1, self._last[v]) for v in graph.inputs
        }

    def add(self, value: Value, step: int) -> None:
        """Find a buffer for a value that ``step`` makes."""
        if value in self.by_value:
            return  # its parts made it
        if value in self._parts:
            whole, offset = self._parts[value]
            if whole not in self.by_value:
                self._make(whole, step)
            self._share(value, self.by_value[whole], offset)
            return
        shared = self._view(value) or self._taken_over(value, step)
        if shared is None:
            self._make(value, step)
        else:
            self._share(value, *shared)

    def _make(self, value: Value, step: int) -> None:
        region = Region.OUTPUT if value in self._outputs else Region.ARENA
        self.by_value[value] = Lifetime(
            {value: 0}, region, value.type.nbytes, step, self._last[value]
        )

    def _share(self, value: Value, buffer: Lifetime, offset: int) -> None:
        buffer.values[value] = offset
        buffer.last = max(buffer.last, self._last[value])
        if value in self._outputs:
            buffer.region = Region.OUTPUT
        self.by_value[value] = buffer

    def _view(self, value: Value) -> tuple[Lifetime, int] | None:
        """Return the buffer and the offset in it of a value that is a view, or None."""
        if value not in self._views:
            return None
        operand = value.node.operands[0]
        buffer = self.by_value[operand]
        place = buffer.values[operand] + self._views[value]
        return (buffer, place) if self._fits(value, buffer, place) else None

    def _taken_over(self, value: Value, step: int) -> tuple[Lifetime, int] | None:
        """Return the buffer and the offset in it of an operand that dies, or None."""
        for operand in (value.node.operands[i] for i in self._in_place(value.node)):
            if isinstance(operand.node.op, Constant):
                continue
            buffer = self.by_value[operand]
            place = buffer.values[operand]
            free = buffer.last <= step and buffer.region is Region.ARENA
            safe = free and not self._reads_elsewhere(value, buffer, place)
            if safe and self._fits(value, buffer, place):
                return buffer, place
        return None

    def _reads_elsewhere(self, value: Value, buffer: Lifetime, place: int) -> bool:
        """Whether the node that writes a value there reads these bytes as other elements too.

        It may read element ``i`` of an operand just before it writes element ``i`` of the result;
        a part of that operand, broadcast, would be read again after it is overwritten.
        """
        end = place + value.type.nbytes
        for operand in value.node.operands:
            if self.by_value.get(operand) is buffer:
                begin = buffer.values[operand]
                meets = begin < end and place < begin + operand.type.nbytes
                if meets and (begin, operand.type.nbytes) != (place, value.type.nbytes):
                    return True
        return False

    def _fits(self, value: Value, buffer: Lifetime, place: int) -> bool:
        """Whether a value may be placed there: an output needs a whole buffer of the arena."""
        if value not in self._outputs:
            return place % self._alignment == 0
        return buffer.region is Region.ARENA and buffer.nbytes == value.type.nbytes
