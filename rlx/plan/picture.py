"""The memory plan as table rows, as text and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rlx.ir.module import Region
from rlx.names import comment_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node
    from rlx.ir.module import MemoryPlan, Placement

_STEP, _HEIGHT, _LEFT, _TOP, _BOTTOM = 22, 320, 70, 40, 24
_LETTER: Final = 6
_LABEL: Final = 40
_COLOURS: Final = (
    "#4878a8", "#6aa84f", "#c0783c", "#8e6bb0", "#b04f6a", "#5aa5a5", "#888844",
)  # fmt: skip
_SCRATCH_COLOUR: Final = "#bbbbbb"
_MAP_ROWS: Final = 24
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


@dataclass(frozen=True, slots=True)
class _Box:
    """Bytes of the arena over some steps: a buffer that values share, or scratch memory."""

    label: str
    first: int
    last: int
    offset: int
    nbytes: int
    mark: str
    colour: str


def memory_table(plan: MemoryPlan) -> list[dict[str, Any]]:
    """Return one row for each placement: value, region, bytes, offset, steps, alias."""
    return [
        {
            "value": p.value.node.label,
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
    boxes = _boxes(plan, scratch)
    return [
        sum(box.nbytes for box in boxes if box.first <= step <= box.last)
        for step in range(len(plan.schedule))
    ]


def memory_text(plan: MemoryPlan, scratch: Sequence[ScratchPlace] = ()) -> str:
    """Return the arena as text: a line for each step, one for each buffer, and a map."""
    boxes = _boxes(plan, scratch)
    alive = alive_bytes(plan, scratch)
    lines = [_headline(_size(plan, boxes), alive), "", "step   bytes alive  layer"]
    lines += [
        f"{step:>4} {alive[step]:>13,}  {_label(node)}" for step, node in enumerate(plan.schedule)
    ]
    lines += ["", "     offset       bytes     steps  buffer"]
    lines += [
        f"{box.mark} {box.offset:>9,} {box.nbytes:>11,} {f'{box.first}-{box.last}':>9}  {box.label}"
        for box in sorted(boxes, key=lambda box: (box.first, box.offset))
    ]
    return "\n".join([*lines, "", *_map(plan, boxes), ""])


def memory_picture(plan: MemoryPlan, scratch: Sequence[ScratchPlace] = ()) -> str:
    """Return the arena as SVG: steps to the right, addresses upwards, a box for each buffer."""
    boxes = _boxes(plan, scratch)
    size = _size(plan, boxes)
    title = _headline(size, alive_bytes(plan, scratch))
    width = max(_LEFT + len(plan.schedule) * _STEP, len(title) * _LETTER) + 20
    bottom = _TOP + _HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{bottom + _BOTTOM}"'
        ' font-family="sans-serif" font-size="10">',
        f'<text x="4" y="16">{title}</text>',
        f'<text x="{_LEFT - 4}" y="{_TOP + 4}" text-anchor="end">{size:,}</text>',
        f'<text x="{_LEFT - 4}" y="{bottom}" text-anchor="end">0</text>',
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{width - 20}" fill="none" stroke="black"/>',
    ]
    parts += [
        f'<text x="{_LEFT + (step + 0.5) * _STEP}" y="{bottom + 14}" text-anchor="middle">{step}'
        f"<title>{_label(node)}</title></text>"
        for step, node in enumerate(plan.schedule)
    ]
    parts += [_rectangle(box, size) for box in boxes]
    return "\n".join([*parts, "</svg>", ""])


def _label(node: Node) -> str:
    """Return op and name of a node, without characters special to XML."""
    return f"{node.op.name} {comment_text(node.name)[:_LABEL]}".rstrip()


def _boxes(plan: MemoryPlan, scratch: Sequence[ScratchPlace]) -> list[_Box]:
    """Return the buffers in the arena, values that share bytes as one box."""
    last = {p.value: p.last for p in plan.placements}
    first = {p.value: p.first for p in plan.placements}
    shared: dict[Any, list[str]] = {}
    for p in plan.placements:
        root = p.alias_of or p.value
        last[root] = max(last[root], p.last)
        first[root] = min(first[root], p.first)
        shared.setdefault(root, []).append(_label(p.value.node))
    roots = [p for p in plan.placements if p.region is Region.ARENA and p.alias_of is None]
    boxes = [
        _buffer(number, p, first[p.value], last[p.value], " = ".join(shared[p.value]))
        for number, p in enumerate(roots)
    ]
    return boxes + [
        _Box(f"scratch of {_label(plan.schedule[s.step])}", s.step, s.step, s.offset, s.nbytes,
             _SCRATCH_MARK, _SCRATCH_COLOUR)
        for s in scratch
    ]  # fmt: skip


def _buffer(number: int, placement: Placement, first: int, last: int, label: str) -> _Box:
    mark, colour = _MARKS[number % len(_MARKS)], _COLOURS[number % len(_COLOURS)]
    return _Box(label, max(first, 0), last, placement.offset, placement.nbytes, mark, colour)


def _size(plan: MemoryPlan, boxes: Sequence[_Box]) -> int:
    return max(plan.arena_bytes, *(box.offset + box.nbytes for box in boxes), 0)


def _headline(size: int, alive: Sequence[int]) -> str:
    text = f"arena {size:,} bytes, {len(alive)} steps"
    if not alive:
        return text
    peak = max(alive)
    return f"{text}, at most {peak:,} bytes alive (step {alive.index(peak)})"


def _map(plan: MemoryPlan, boxes: Sequence[_Box]) -> list[str]:
    """Return addresses downwards from the end of the arena, a column for each step."""
    size = _size(plan, boxes)
    rows = min(_MAP_ROWS, size)
    columns: list[list[_Box]] = [[] for _ in plan.schedule]
    for box in boxes:
        for step in range(box.first, min(box.last + 1, len(columns))):
            columns[step].append(box)
    lines = []
    for row in reversed(range(rows)):
        address = row * size // rows
        cells = (_mark_at(column, address) for column in columns)
        lines.append(f"{address:>11,} {''.join(cells).rstrip()}")
    return lines


def _mark_at(boxes: Sequence[_Box], address: int) -> str:
    for box in boxes:
        if box.offset <= address < box.offset + box.nbytes:
            return box.mark
    return " "


def _rectangle(box: _Box, size: int) -> str:
    """Return one rectangle with a tooltip."""
    scale = _HEIGHT / max(size, 1)
    width = (box.last - box.first + 1) * _STEP
    height = max(box.nbytes * scale, 1)
    y = _TOP + _HEIGHT - box.offset * scale - height
    label = f"{box.label}: {box.nbytes:,} bytes at {box.offset:,}"
    return (
        f'<rect x="{_LEFT + box.first * _STEP}" y="{y:.1f}" width="{width}" height="{height:.1f}"'
        f' fill="{box.colour}" stroke="white"><title>{label}</title></rect>'
    )
