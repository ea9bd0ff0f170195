"""Offsets in the arena."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.errors import DoesNotFitError
from rlx.ir.module import GraphModule, MemoryPlan, Placement, Region, Stage
from rlx.ir.verify import verify
from rlx.plan.lifetimes import elementwise_in_place, lifetimes
from rlx.plan.schedule import schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, Node, Value
    from rlx.plan.lifetimes import InPlace, Lifetime


def plan_memory(
    graph: Graph,
    *,
    alignment: int = 4,
    in_place: InPlace = elementwise_in_place,
    limit_bytes: int | None = None,
) -> MemoryPlan:
    """Choose an order of execution and a place for every value.

    Buffers are placed one after the other, each at the lowest offset where it meets no buffer
    that is alive at the same time; several orders of placing are tried and the smallest arena is
    kept. The result is never larger than placing by size alone.

    Args:
        graph: The graph, with static shapes.
        alignment: Every arena offset becomes a multiple of this, in bytes.
        in_place: Which operands a node may overwrite.
        limit_bytes: Greatest arena allowed, or None.

    Raises:
        DoesNotFitError: The arena exceeds ``limit_bytes``.
    """
    order = schedule(graph, in_place)
    buffers = lifetimes(graph, order, in_place)
    arena = [b for b in buffers if b.region is Region.ARENA]
    offsets, size = _best_offsets(arena, alignment)
    if limit_bytes is not None and size > limit_bytes:
        raise DoesNotFitError(
            f"the arena needs {size} bytes, {limit_bytes} are given", where=f"graph {graph.name!r}"
        )
    by_buffer = {id(b): o for b, o in zip(arena, offsets, strict=True)}
    last_reads = _last_reads(order)
    placements = [
        _placement(buffer, number, by_buffer.get(id(buffer), 0), last_reads)
        for buffer in buffers
        for number in range(len(buffer.values))
    ]
    return MemoryPlan(order, tuple(placements), size, alignment)


def to_lir(
    module: GraphModule,
    *,
    alignment: int = 4,
    in_place: InPlace = elementwise_in_place,
    limit_bytes: int | None = None,
) -> GraphModule:
    """Return ``module`` at stage LIR, with a verified plan. Arguments as ``plan_memory``."""
    plan = plan_memory(
        module.graph, alignment=alignment, in_place=in_place, limit_bytes=limit_bytes
    )
    planned = GraphModule(module.graph, Stage.LIR, plan)
    verify(planned)
    return planned


def _last_reads(order: Sequence[Node]) -> dict[Value, tuple[int, int]]:
    """Return, for each value that a step makes or reads, its step of birth and of last use."""
    steps: dict[Value, tuple[int, int]] = {}
    for step, node in enumerate(order):
        for value in node.operands:
            steps[value] = (steps[value][0] if value in steps else -1, step)
        for value in node.results:
            steps[value] = (step, step)
    return steps


def _placement(
    buffer: Lifetime, number: int, offset: int, steps: dict[Value, tuple[int, int]]
) -> Placement:
    """Return the placement of one of the values that share ``buffer``."""
    value = buffer.values[number]
    first, last = steps.get(value, (-1, -1))
    return Placement(
        value=value,
        region=buffer.region,
        offset=offset,
        nbytes=value.type.nbytes,
        first=first,
        last=buffer.last if number + 1 == len(buffer.values) else last,
        alias_of=buffer.values[0] if number else None,
    )


def _best_offsets(buffers: Sequence[Lifetime], alignment: int) -> tuple[list[int], int]:
    """Return an offset for each buffer and the arena's size, the smallest of several tries."""
    sizes = [-(-b.nbytes // alignment) * alignment for b in buffers]
    meets = [[j for j, o in enumerate(buffers) if j != i and b.overlaps(o)]
             for i, b in enumerate(buffers)]  # fmt: skip
    indices = range(len(buffers))
    starts = (
        sorted(indices, key=lambda i: -sizes[i]),
        sorted(indices, key=lambda i: -sizes[i] * (buffers[i].last - buffers[i].first + 1)),
        sorted(indices, key=lambda i: (buffers[i].first, -sizes[i])),
        sorted(indices, key=lambda i: (-sum(sizes[j] for j in meets[i]), -sizes[i])),
    )
    best = min((_place(list(s), sizes, meets) for s in starts), key=lambda placed: placed[1])
    return _move_to_front(best, list(starts[0]), sizes, meets)


def _move_to_front(
    best: tuple[list[int], int],
    order: list[int],
    sizes: Sequence[int],
    meets: Sequence[Sequence[int]],
) -> tuple[list[int], int]:
    """Try to place first, again and again, the buffer that ends highest."""
    for _ in range(2 * len(order)):
        offsets, _size = _place(order, sizes, meets)
        top = max(order, key=lambda i: offsets[i] + sizes[i], default=None)
        if top is None or order[0] == top:
            break
        order.remove(top)
        order.insert(0, top)
        candidate = _place(order, sizes, meets)
        if candidate[1] < best[1]:
            best = candidate
    return best


def _place(
    order: Sequence[int], sizes: Sequence[int], meets: Sequence[Sequence[int]]
) -> tuple[list[int], int]:
    """Place buffers in ``order``, each at the lowest offset free of those that it meets."""
    offsets = [-1] * len(sizes)
    for i in order:
        taken = sorted((offsets[j], offsets[j] + sizes[j]) for j in meets[i] if offsets[j] >= 0)
        offset = 0
        for start, end in taken:
            if offset + sizes[i] <= start:
                break
            offset = max(offset, end)
        offsets[i] = offset
    return offsets, max((o + s for o, s in zip(offsets, sizes, strict=True)), default=0)
