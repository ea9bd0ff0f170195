"""The memory plan as table rows, as boxes and as text."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rlx.ir.layer_names import name_nodes
from rlx.ir.module import Region
from rlx.support.text.names import comment_text
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node
    from rlx.ir.module import MemoryPlan, Placement

_MAX_ROWS: Final = 24
"""Rows of the map, of which each is a range of bytes."""
_MARKS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SCRATCH_MARK: Final = "#"


@dataclass(frozen=True, slots=True)
class ScratchPlace:
    """Memory of the arena that a layer needs while it runs.

    Attributes:
        step: Step of the layer.
        offset: Bytes from the start of the arena.
        nbytes: Size in bytes.
    """

    step: int
    offset: int
    nbytes: int


class BoxKind(enum.Enum):
    """Purpose of some bytes of the arena."""

    VALUE = "value"
    SHARED = "shared"
    SCRATCH = "scratch"


@dataclass(frozen=True, slots=True)
class MemoryBox:
    """Bytes of the arena over some steps: a buffer that values share, or scratch memory.

    Attributes:
        label: Name and op of the nodes whose values it holds.
        first: First step of the schedule at which it is used.
        last: Last one.
        offset: Bytes from the start of the arena.
        nbytes: Size in bytes.
        mark: Letter in the text form.
        kind: Its purpose.
    """

    label: str
    first: int
    last: int
    offset: int
    nbytes: int
    mark: str
    kind: BoxKind


def memory_table(plan: MemoryPlan) -> list[dict[str, Any]]:
    """Return one row for each placement: value, name, region, bytes, offset, steps, alias."""
    names = planned_names(plan)
    return [
        {
            "value": p.value.node.label,
            "name": names.get(p.value.node, p.value.name),
            "op": p.value.node.op.name,
            "region": p.region.value,
            "offset": p.offset,
            "bytes": p.nbytes,
            "first": p.first,
            "last": p.last,
            "alias_of": p.alias_of.node.label if p.alias_of else None,
        }
        for p in plan.placements
    ]


def alive_bytes(plan: MemoryPlan, scratch: Sequence[ScratchPlace] = ()) -> list[int]:
    """Return the bytes of the arena that are in use at each step of the schedule."""
    boxes = memory_boxes(plan, scratch)
    return [
        sum(box.nbytes for box in boxes if box.first <= step <= box.last)
        for step in range(len(plan.schedule))
    ]


def memory_text(plan: MemoryPlan, scratch: Sequence[ScratchPlace] = ()) -> str:
    """Return the arena as text: a line for each step, one for each buffer, and a map."""
    boxes = memory_boxes(plan, scratch)
    alive, labels = alive_bytes(plan, scratch), node_labels(plan)
    lines = [headline(arena_size(plan, boxes), alive), "", "step   bytes alive  layer"]
    lines += [
        f"{step:>4} {alive[step]:>13,}  {labels[node]}" for step, node in enumerate(plan.schedule)
    ]
    lines += ["", "     offset       bytes     steps  buffer"]
    lines += [
        f"{box.mark} {box.offset:>9,} {box.nbytes:>11,} {f'{box.first}-{box.last}':>9}  {box.label}"
        for box in sorted(boxes, key=lambda box: (box.first, box.offset))
    ]
    return "\n".join([*lines, "", *_map(plan, boxes), ""])


def planned_names(plan: MemoryPlan) -> dict[Node, str]:
    """Return the name of each input and layer of a plan."""
    return name_nodes([*plan.schedule, *(p.value.node for p in plan.placements)])


def node_labels(plan: MemoryPlan) -> dict[Node, str]:
    """Return name and op of each node of a plan; parameters and constants have their own names."""
    names = planned_names(plan)
    others = (p.value.node for p in plan.placements if p.value.node not in names)
    names |= {node: comment_text(node.name) for node in others}
    return {node: f"{name} ({node.op.name})".lstrip() for node, name in names.items()}


def memory_boxes(plan: MemoryPlan, scratch: Sequence[ScratchPlace]) -> list[MemoryBox]:
    """Return the buffers in the arena, values that share bytes as one box."""
    last = {p.value: p.last for p in plan.placements}
    first = {p.value: p.first for p in plan.placements}
    shared: dict[Any, list[str]] = {}
    labels = node_labels(plan)
    for p in plan.placements:
        root = p.alias_of or p.value
        last[root] = max(last[root], p.last)
        first[root] = min(first[root], p.first)
        shared.setdefault(root, []).append(labels[p.value.node])
    roots = [p for p in plan.placements if p.region is Region.ARENA and p.alias_of is None]
    boxes = [
        _buffer(number, p, first[p.value], last[p.value], shared[p.value])
        for number, p in enumerate(roots)
    ]
    return boxes + [
        MemoryBox(
            f"scratch of {labels[plan.schedule[s.step]]}", s.step, s.step, s.offset, s.nbytes,
            _SCRATCH_MARK, BoxKind.SCRATCH,
        )
        for s in scratch
    ]  # fmt: skip


def _buffer(
    number: int, placement: Placement, first: int, last: int, labels: Sequence[str]
) -> MemoryBox:
    return MemoryBox(
        " = ".join(labels), max(first, 0), last, placement.offset, placement.nbytes,
        _MARKS[number % len(_MARKS)], BoxKind.SHARED if len(labels) > 1 else BoxKind.VALUE,
    )  # fmt: skip


def arena_size(plan: MemoryPlan, boxes: Sequence[MemoryBox]) -> int:
    """Return the bytes of the arena, scratch memory included."""
    return max(plan.arena_bytes, *(box.offset + box.nbytes for box in boxes), 0)


def headline(size: int, alive: Sequence[int]) -> str:
    """Return size and peak of the arena in one line."""
    text = f"arena {size:,} bytes, {counted(len(alive), 'step')}"
    if not alive:
        return text
    peak = max(alive)
    return f"{text}, at most {peak:,} bytes alive (step {alive.index(peak)})"


def _map(plan: MemoryPlan, boxes: Sequence[MemoryBox]) -> list[str]:
    """Return addresses downwards from the end of the arena, a column for each step."""
    size = arena_size(plan, boxes)
    rows = min(_MAX_ROWS, size)
    columns: list[list[MemoryBox]] = [[] for _ in plan.schedule]
    for box in boxes:
        for step in range(box.first, min(box.last + 1, len(columns))):
            columns[step].append(box)
    lines = []
    for row in reversed(range(rows)):
        address = row * size // rows
        cells = (_mark_at(column, address) for column in columns)
        lines.append(f"{address:>11,} {''.join(cells).rstrip()}")
    return lines


def _mark_at(boxes: Sequence[MemoryBox], address: int) -> str:
    for box in boxes:
        if box.offset <= address < box.offset + box.nbytes:
            return box.mark
    return " "
