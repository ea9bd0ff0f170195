"""When each value is alive, and which values share their bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rlx.ir import Constant
from rlx.ir.module import Region
from rlx.ops.q import QAdd, QClamp, QMul, QRequantize, QReshape, QSub, QTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir import Graph, Node, Value

InPlace: TypeAlias = "Callable[[Node], tuple[int, ...]]"
"""Operand places whose bytes a target may overwrite with the node's result."""

Scratch: TypeAlias = "Callable[[Node], int]"
"""Bytes of the arena that a target needs while a node runs."""

_ELEMENTWISE = (QAdd, QClamp, QMul, QRequantize, QSub, QTable)


def elementwise_in_place(node: Node) -> tuple[int, ...]:
    """Return the operands that elementwise code, written front to back, may overwrite."""
    if not isinstance(node.op, _ELEMENTWISE):
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
    """A buffer: one value, or several that share their bytes.

    Attributes:
        values: The values, the one that is written first in front; none for scratch memory.
        region: Where the buffer lives.
        nbytes: Its size.
        first: Step that writes it, -1 for inputs.
        last: Last step that reads it; the number of steps for outputs.
    """

    values: list[Value]
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
    ports_inside: bool = False,
) -> list[Lifetime]:
    """Return the buffers that an execution in ``order`` needs, in order of first use.

    A reshape shares its operand's bytes; a node that may work in place takes over the bytes of an
    operand that nobody reads afterwards. Neither joins the caller's input buffer with anything
    written, nor an output with another output.

    Args:
        graph: The graph, with static shapes.
        order: Every node that computes, operands first.
        in_place: Which operands a node may overwrite.
        ports_inside: Inputs and outputs lie in the arena: an input may be overwritten after its
            last use, and an output lie where something else was.
    """
    last_use = _last_uses(graph, order)
    buffers: dict[Value, Lifetime] = {}
    for value in graph.inputs:
        region = Region.ARENA if ports_inside else Region.INPUT
        buffers[value] = Lifetime([value], region, value.type.nbytes, -1, last_use[value])
    outputs = frozenset(() if ports_inside else graph.outputs)
    for step, node in enumerate(order):
        shared = _shared_buffer(node, step, buffers, outputs, in_place)
        for value in node.results:
            last = max(last_use[value], step)
            if shared is not None:
                shared.values.append(value)
                shared.last = max(shared.last, last)
                if value in outputs:
                    shared.region = Region.OUTPUT
                buffers[value] = shared
                continue
            region = Region.OUTPUT if value in outputs else Region.ARENA
            buffers[value] = Lifetime([value], region, value.type.nbytes, step, last)
    return list({id(b): b for b in buffers.values()}.values())


def scratch_lifetimes(order: Sequence[Node], scratch: Scratch) -> list[Lifetime]:
    """Return a buffer for each node of ``order`` that needs memory while it runs."""
    needs = ((step, scratch(node)) for step, node in enumerate(order))
    return [Lifetime([], Region.ARENA, nbytes, step, step) for step, nbytes in needs if nbytes]


def _last_uses(graph: Graph, order: Sequence[Node]) -> dict[Value, int]:
    """Return the last step that reads each value; outputs are read after the last step."""
    last = {v: -1 for n in graph.nodes for v in n.results}
    for step, node in enumerate(order):
        for operand in node.operands:
            last[operand] = step
    for value in graph.outputs:
        last[value] = len(order)
    return last


def _shared_buffer(
    node: Node,
    step: int,
    buffers: dict[Value, Lifetime],
    outputs: frozenset[Value],
    in_place: InPlace,
) -> Lifetime | None:
    """Return the buffer of an operand that the node's result can share, or None."""
    if isinstance(node.op, QReshape):
        candidates: tuple[int, ...] = (0,)
    else:
        candidates = in_place(node)
    is_output = node.results[0] in outputs
    for place in candidates:
        operand = node.operands[place]
        if isinstance(operand.node.op, Constant):
            continue
        buffer = buffers[operand]
        # An output must come to lie in its own buffer, and its first bytes may be shared only
        # with values of the arena.
        if is_output and buffer.region is not Region.ARENA:
            continue
        if isinstance(node.op, QReshape):
            return buffer
        if buffer.last <= step and buffer.region is Region.ARENA:
            return buffer
    return None
