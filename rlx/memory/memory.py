"""An order of execution and offsets in the arena, chosen together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from rlx.ir.module import GraphModule, MemoryPlan, Placement, Region, Stage
from rlx.ir.verify import verify
from rlx.ir.views import join_offsets, view_offset
from rlx.memory.lifetimes import (
    elementwise_in_place,
    last_uses,
    lifetimes_in,
    no_scratch,
    peak_of,
    scratch_lifetimes,
)
from rlx.memory.orders import MAX_SEARCHED_NODES, OrderSearch
from rlx.memory.packing import MAX_PACKINGS, pack
from rlx.memory.schedule import candidates
from rlx.memory.sharing import BufferSharing, is_placed
from rlx.memory.states import Move, state_moves
from rlx.support.errors import DoesNotFitError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, Node, Value
    from rlx.memory.lifetimes import InPlace, Lifetime, Scratch


MAX_PACKED_ORDERS: Final = 200
"""Orders of execution that are packed if the best ones leave gaps in the arena."""

MAX_PACKINGS_PER_ORDER: Final = 400
"""Partial packings that are searched for each of these orders."""


@dataclass(frozen=True, slots=True)
class _Packed:
    """An order of execution with an offset for every buffer."""

    order: tuple[Node, ...]
    buffers: list[Lifetime]
    moves: list[Move]
    offsets: dict[int, int]
    size: int


def plan_memory(
    graph: Graph,
    *,
    alignment: int = 4,
    in_place: InPlace = elementwise_in_place,
    scratch: Scratch = no_scratch,
    ports_inside: bool = False,
    search: bool = True,
    unpacked: bool = False,
    states: bool = False,
    limit_bytes: int | None = None,
) -> MemoryPlan:
    """Choose an order of execution and a memory offset for every value.

    Several orders are packed, and the smallest arena is used; the graph's own order wins a tie. For
    a small graph the arena is the minimum over all orders and offsets, unless the search reaches
    its limit. It is never larger than that of the graph's own order with buffers placed by size.

    Args:
        graph: The graph, with static shapes.
        alignment: Every arena offset becomes a multiple of this, in bytes.
        in_place: Operands that a node may overwrite.
        scratch: Bytes that a node needs while it runs; the plan reserves a gap of that size for it.
        ports_inside: Inputs and outputs are in the arena, not in buffers of the caller.
        search: Search for other orders than the graph's own; False if that is known to be good.
        unpacked: Elements of fewer than 8 bits take a byte each, as in NumPy's arrays.
        states: A state has a buffer of its own, which keeps it from run to run. Its next value is
            computed there where that is safe, and else copied at the end. Without it states are
            inputs and outputs like others.
        limit_bytes: Maximum size of the arena, or None.

    Raises:
        DoesNotFitError: The arena exceeds ``limit_bytes``.
    """
    sharing = BufferSharing(
        graph, alignment, ports_inside=ports_inside, unpacked=unpacked, states=states
    )
    best = _best(sharing, in_place, scratch, search=search)
    if limit_bytes is not None and best.size > limit_bytes:
        raise DoesNotFitError(
            f"the arena needs {best.size} bytes, {limit_bytes} are given",
            where=f"graph {graph.name!r}",
            hint=f"give at least {best.size} bytes, or take a network with smaller layers",
        )
    last = last_uses(graph, best.order)
    steps = {value: step for step, node in enumerate(best.order) for value in node.results}
    placements = [
        Placement(
            value=value,
            region=buffer.region,
            offset=best.offsets.get(id(buffer), 0) + offset,
            nbytes=sharing.nbytes(value),
            first=steps.get(value, -1),
            last=last[value],
            alias_of=next(iter(buffer.values)) if number else None,
        )
        for buffer in best.buffers
        for number, (value, offset) in enumerate(buffer.values.items())
    ]
    copies = tuple(move.copy(best.offsets) for move in best.moves)
    return MemoryPlan(best.order, tuple(placements), best.size, alignment, copies)


def to_lir(
    module: GraphModule,
    *,
    alignment: int = 4,
    in_place: InPlace = elementwise_in_place,
    scratch: Scratch = no_scratch,
    ports_inside: bool = False,
    search: bool = True,
    unpacked: bool = False,
    states: bool = False,
    limit_bytes: int | None = None,
) -> GraphModule:
    """Return ``module`` at stage LIR, with a verified plan. Arguments as ``plan_memory``."""
    plan = plan_memory(
        module.graph,
        alignment=alignment,
        in_place=in_place,
        scratch=scratch,
        ports_inside=ports_inside,
        search=search,
        unpacked=unpacked,
        states=states,
        limit_bytes=limit_bytes,
    )
    planned = replace(module, stage=Stage.LIR, plan=plan)
    verify(planned)
    return planned


def moves_nothing(plan: MemoryPlan, node: Node) -> bool:
    """Return whether a node's result shares the bytes of its operands, so nothing is copied."""
    offset = view_offset(node)
    if offset is not None:
        return _is_at(plan, node.result, node.operands[0], offset)
    offsets = join_offsets(node)
    return offsets is not None and all(
        _is_at(plan, operand, node.result, begin)
        for operand, begin in zip(node.operands, offsets, strict=True)
    )


def _is_at(plan: MemoryPlan, part: Value, whole: Value, begin: int) -> bool:
    """Return whether ``part`` is in the buffer of ``whole``, ``begin`` bytes after its start."""
    if not (is_placed(part) and is_placed(whole)):
        return False
    a, b = plan.of(part), plan.of(whole)
    roots = (a.alias_of or part, b.alias_of or whole)
    same = a.region is b.region and (a.region is Region.ARENA or roots[0] == roots[1])
    return same and a.offset == b.offset + begin


def _best(sharing: BufferSharing, in_place: InPlace, scratch: Scratch, *, search: bool) -> _Packed:
    """Return the smallest arena found."""
    graph, alignment = sharing.graph, sharing.alignment

    def packed(order: tuple[Node, ...], limit: int = MAX_PACKINGS) -> _Packed:
        buffers, moves, arena = _needs(sharing, order, in_place, scratch)
        offsets, size = pack(arena, alignment, limit=limit)
        by_buffer = {id(b): o for b, o in zip(arena, offsets, strict=True)}
        return _Packed(order, buffers, moves, by_buffer, size)

    def peak(order: tuple[Node, ...]) -> int:
        return peak_of(_needs(sharing, order, in_place, scratch)[-1], alignment)

    graph_order = tuple(graph.op_nodes)
    if not search:
        return packed(graph_order)
    orders = OrderSearch(sharing, in_place, scratch, alignment)
    lowest = orders.lowest_peak()
    candidate_orders = candidates(graph, lowest)
    if len(graph_order) > MAX_SEARCHED_NODES:
        return packed(min(candidate_orders, key=peak))
    best = min(map(packed, candidate_orders), key=lambda p: p.size)
    if lowest is None or best.size <= lowest[0]:
        return best
    # Another order, even one with a higher peak, may leave smaller gaps.
    for order in islice(orders.below(best.size), MAX_PACKED_ORDERS):
        best = min(best, packed(order, MAX_PACKINGS_PER_ORDER), key=lambda p: p.size)
        if best.size == lowest[0]:
            break
    return best


def _needs(
    sharing: BufferSharing, order: Sequence[Node], in_place: InPlace, scratch: Scratch
) -> tuple[list[Lifetime], list[Move], list[Lifetime]]:
    """Return the buffers of an order, the copies at its end, and the buffers of the arena."""
    buffers = lifetimes_in(sharing, order, in_place)
    moves = state_moves(sharing, buffers, len(order))
    waiting = [move.waits for move in moves if move.waits is not None]
    arena = [b for b in buffers if b.region is Region.ARENA]
    return buffers, moves, [*arena, *scratch_lifetimes(order, scratch), *waiting]
