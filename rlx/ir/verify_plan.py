"""Invariants of memory plans, checked without any of the planner's reasoning."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir.graph import Constant, Input, Param
from rlx.ir.module import Region
from rlx.ir.views import contents, join_offsets

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from rlx.ir.graph import Graph, Node, Value
    from rlx.ir.module import GraphModule, MemoryPlan, Placement

_MAX_ADDRESS: Final = 1 << 62
"""An address beyond all memory."""


def plan_problems(module: GraphModule) -> list[str]:
    """Return the problems of the plan of a module of stage LIR."""
    plan, graph = module.plan, module.graph
    if plan is None:
        return ["stage lir needs a memory plan"]
    if plan.alignment < 1:
        return [f"the plan's alignment must be at least 1, got {plan.alignment}"]
    broken = [*_schedule(graph, plan), *_coverage(graph, plan)]
    if broken:
        return broken  # the next checks need a step and a place for everything
    steps = {node: step for step, node in enumerate(plan.schedule)}
    spans = _spans(graph, steps)
    messages = [*_addresses(plan), *_lifetimes(plan, spans)]
    whole = contents(graph)
    cells = [_Cell(p, *spans[p.value], _root(plan, p.value), *whole[p.value])
             for p in plan.placements]  # fmt: skip
    messages += [*_input_problems(cells), *_overwrite_problems(cells)]
    return [*messages, *_homeless(graph, cells), *_next_values(graph, plan), *_copies(plan, cells)]


@dataclass(frozen=True, slots=True)
class _Cell:
    """A placement with the graph's facts about its value.

    Attributes:
        placement: The placement.
        first: Step that writes the value, -1 for inputs.
        last: Last step that reads it; the number of steps for outputs.
        root: The value at the end of the chain of aliases.
        content: The value whose bytes it has: itself, or the one that it is a view of.
        within: Bytes from the start of that value.
    """

    placement: Placement
    first: int
    last: int
    root: Value
    content: Value
    within: int

    @property
    def label(self) -> str:
        """Name of the value in messages."""
        return self.placement.value.node.label

    @property
    def buffer(self) -> Hashable:
        """Buffer that offsets count from; the root of the aliases for the caller's buffers."""
        region = self.placement.region
        return region if region is Region.ARENA else (region, self.root)


def _schedule(graph: Graph, plan: MemoryPlan) -> Iterator[str]:
    """Yield nodes that are missing from the schedule, foreign to it, or too early."""
    scheduled: set[Node] = set()
    op_nodes = set(graph.op_nodes)
    for node in plan.schedule:
        if node not in op_nodes:
            yield f"the schedule has {node.label}, which is not of the graph or computes nothing"
        if node in scheduled:
            yield f"the schedule has {node.label} twice"
        for operand in node.operands:
            if operand.node in op_nodes and operand.node not in scheduled:
                yield f"{node.label} is scheduled before {operand.node.label}, which it reads"
        scheduled.add(node)
    yield from (f"the schedule lacks {n.label}" for n in graph.op_nodes if n not in scheduled)


def _coverage(graph: Graph, plan: MemoryPlan) -> Iterator[str]:
    """Yield values without a placement, with two, or foreign to the graph."""
    required = {v for n in graph.nodes if not isinstance(n.op, Constant | Param) for v in n.results}
    placed: set[Value] = set()
    for placement in plan.placements:
        value = placement.value
        if value not in required:
            yield f"{value.node.label} has a placement, but is constant or not of the graph"
        if value in placed:
            yield f"{value.node.label} has two placements"
        if placement.alias_of is not None and placement.alias_of not in required:
            yield f"{value.node.label} is an alias of a value without a placement"
        placed.add(value)
    yield from (
        f"{v.node.label} has no placement"
        for n in graph.nodes
        for v in n.results
        if v in required and v not in placed
    )


def _spans(graph: Graph, steps: dict[Node, int]) -> dict[Value, tuple[int, int]]:
    """Return when each value is written and last read, by the schedule alone."""
    last = {v: steps.get(n, -1) for n in graph.nodes for v in n.results}
    for node, step in steps.items():
        for operand in node.operands:
            last[operand] = max(last[operand], step)
    for value in graph.outputs:
        last[value] = len(steps)
    return {v: (steps.get(v.node, -1), end) for v, end in last.items()}


def _addresses(plan: MemoryPlan) -> Iterator[str]:
    """Yield placements outside their buffer, too small, or at a crooked offset."""
    for placement in plan.placements:
        label, type_ = placement.value.node.label, placement.value.type
        if placement.nbytes < type_.nbytes:
            yield f"{label} has {placement.nbytes} bytes, but {type_} needs {type_.nbytes}"
        if placement.region is not Region.ARENA:
            whole = plan.of(_root(plan, placement.value)).nbytes
            if not 0 <= placement.offset <= whole - placement.nbytes:
                yield (
                    f"{label} is at {placement.offset} with {placement.nbytes} bytes,"
                    f" outside its buffer of {whole}"
                )
            continue
        if placement.offset % plan.alignment:
            yield f"{label} is at {placement.offset}, which is not aligned to {plan.alignment}"
        if placement.offset < 0 or placement.offset + placement.nbytes > plan.arena_bytes:
            yield (
                f"{label} is at {placement.offset} with {placement.nbytes} bytes,"
                f" outside an arena of {plan.arena_bytes}"
            )


def _lifetimes(plan: MemoryPlan, spans: dict[Value, tuple[int, int]]) -> Iterator[str]:
    """Yield placements that say less than the time for which their value is needed."""
    for placement in plan.placements:
        first, last = spans[placement.value]
        if placement.first > first or placement.last < last:
            yield (
                f"{placement.value.node.label} is placed for steps {placement.first} to"
                f" {placement.last}, but needed from {first} to {last}"
            )


def _root(plan: MemoryPlan, value: Value) -> Value:
    """Return the value at the end of the chain of aliases (or where the chain bites itself)."""
    # A file may hold a cycle of aliases.
    seen = {value}
    while (base := plan.of(value).alias_of) is not None and base not in seen:
        seen.add(base)
        value = base
    return value


def _input_problems(cells: list[_Cell]) -> Iterator[str]:
    """Yield values that are written into the caller's input."""
    for cell in cells:
        if cell.placement.region is Region.INPUT and not isinstance(cell.content.node.op, Input):
            yield f"{cell.label} overwrites an input buffer"


def _overwrite_problems(cells: list[_Cell]) -> Iterator[str]:
    """Yield pairs of which one overwrites the other while that is still needed."""
    buffers: defaultdict[Hashable, list[_Cell]] = defaultdict(list)
    for cell in sorted(cells, key=lambda c: (c.first, c.placement.value.node.index)):
        buffers[cell.buffer].append(cell)
    for shared in buffers.values():
        for later, earlier in _meetings(shared):
            if not _may_share(earlier, later):
                yield f"{later.label} overwrites {earlier.label}, which is still needed"


def _meetings(cells: list[_Cell]) -> Iterator[tuple[_Cell, _Cell]]:
    """Yield each cell with those that were written before, are still needed and meet it."""
    if len(cells) < 2:
        return
    begin = np.array([_clamp_address(c.placement.offset) for c in cells], np.int64)
    end = np.array(
        [_clamp_address(c.placement.offset + c.placement.nbytes) for c in cells], np.int64
    )
    last = np.array([c.last for c in cells], np.int64)
    for k, cell in enumerate(cells):
        meets = (last[:k] >= cell.first) & (begin[:k] < end[k]) & (begin[k] < end[:k])
        for i in np.flatnonzero(meets):
            yield cell, cells[i]


def _clamp_address(address: int) -> int:
    """Return an address of a file that may hold any integer, as one that NumPy accepts."""
    return max(-_MAX_ADDRESS, min(address, _MAX_ADDRESS))


def _may_share(earlier: _Cell, later: _Cell) -> bool:
    """Return whether two values may overlap in memory while both are alive."""
    if earlier.content == later.content:
        # They agree on every byte, if each is at its position in the whole.
        a, b = (cell.placement.offset - cell.within for cell in (earlier, later))
        return a == b
    if _is_part(earlier, later):
        return True
    return earlier.root == later.root and earlier.last == later.first and _in_place(earlier, later)


def _in_place(operand: _Cell, result: _Cell) -> bool:
    """Return whether a result has exactly the bytes of an operand of its node.

    Only then is element ``i`` overwritten after it was read, and by element ``i``: an operand that
    is a part of those bytes is broadcast, and read again later.
    """
    a, b = operand.placement, result.placement
    same = (a.offset, a.value.type.nbytes) == (b.offset, b.value.type.nbytes)
    return same and a.value in b.value.node.operands


def _is_part(part: _Cell, whole: _Cell) -> bool:
    """Return whether a value is at its place in the result of an op that joins its operands."""
    node = whole.placement.value.node
    offsets = join_offsets(node)
    if offsets is None or whole.placement.value != whole.content:
        return False
    begin = part.placement.offset - whole.placement.offset
    return (part.placement.value, begin) in zip(node.operands, offsets, strict=True)


def _homeless(graph: Graph, cells: list[_Cell]) -> Iterator[str]:
    """Yield values in a buffer of a state that no state has."""
    states = {state for state, _ in graph.states}
    for cell in cells:
        if cell.placement.region is Region.STATE and cell.root not in states:
            root = cell.root.node.label
            yield f"{cell.label} is in the buffer of a state, but {root} is not a state"


def _next_values(graph: Graph, plan: MemoryPlan) -> Iterator[str]:
    """Yield states in buffers of their own that do not get their next value, and others that do."""
    copied = Counter((copy.state, copy.source) for copy in plan.copies)
    for state, following in graph.states:
        if plan.of(state).region is not Region.STATE:
            continue
        count = copied.pop((state, following), 0)
        if not _is_at(plan, following, state) and count == 0:
            yield f"{state.node.label} does not get its next value, {following.node.label}"
        elif count > 1:
            yield f"{state.node.label} gets its next value {count} times"
    for state, source in copied:
        yield (
            f"{source.node.label} is copied to {state.node.label}, which is not a state with its"
            " own buffer, or has another next value"
        )


def _is_at(plan: MemoryPlan, value: Value, state: Value) -> bool:
    """Return whether a value is in the buffer of a state."""
    if isinstance(value.node.op, Constant | Param):
        return False
    place = plan.of(value)
    return place.region is Region.STATE and _root(plan, value) == state and place.offset == 0


def _copies(plan: MemoryPlan, cells: list[_Cell]) -> Iterator[str]:
    """Yield copies to states that lose bytes: read too late, or waiting in bytes in use."""
    homes = {c.placement.value: c.root for c in cells if c.placement.region is Region.STATE}
    end = len(plan.schedule)
    occupied = [
        (c.placement.offset, c.placement.nbytes, c.label)
        for c in cells
        if c.placement.region is Region.ARENA and c.last >= end
    ]
    written: set[Value] = set()
    for copy in plan.copies:
        label = copy.source.node.label
        if copy.through is None:
            if homes.get(copy.source) in written:
                yield f"{label} is copied to {copy.state.node.label} after it was overwritten"
        else:
            begin, nbytes = copy.through, copy.state.type.nbytes
            if begin % plan.alignment or not 0 <= begin <= plan.arena_bytes - nbytes:
                yield f"{label} waits at {begin} with {nbytes} bytes, not in the arena or unaligned"
            for offset, size, other in occupied:
                if begin < offset + size and offset < begin + nbytes:
                    yield f"{label} waits in the bytes of {other}, which is still needed"
            occupied.append((begin, nbytes, label))
        written.add(copy.state)
