"""The memory plan as a picture: memory over time.

Tests: tests/unit/memory/test_picture.py
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from rlx.memory.picture import (
    BoxKind,
    alive_bytes,
    arena_size,
    headline,
    memory_boxes,
    node_labels,
    planned_names,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir.module import MemoryPlan
    from rlx.memory.picture import MemoryBox, ScratchPlace

_LEFT, _RIGHT, _TOP, _BOTTOM, _HEIGHT = 84, 20, 56, 102, 320
_CHARACTER_WIDTH: Final = 6.2
"""Estimated width of a character of the labels, in pixels: SVG does not measure its text."""
_TEXTS: Final = {
    BoxKind.VALUE: "values",
    BoxKind.SHARED: "several values in turn, in place",
    BoxKind.SCRATCH: "scratch memory of a layer",
}
_STYLE: Final = """\
.rlx-memory { font: 11px sans-serif; background: #ffffff; }
.rlx-memory text { fill: #1f2328; }
.rlx-memory .axis { fill: none; stroke: #656d76; }
.rlx-memory .grid { stroke: #656d76; stroke-opacity: 0.25; }
.rlx-memory rect { stroke: #ffffff; }
.rlx-memory .value { fill: #4878a8; }
.rlx-memory .shared { fill: #3f8f5f; }
.rlx-memory .scratch { fill: #7d858e; }
.rlx-memory .alive { fill: none; stroke: #1f2328; stroke-width: 1.5; }
.rlx-memory .limit { stroke: #d1242f; stroke-width: 1.5; stroke-dasharray: 6 3; }
.rlx-memory .inside { fill: #ffffff; pointer-events: none; }
@media (prefers-color-scheme: dark) {
.rlx-memory { background: #0d1117; }
.rlx-memory text { fill: #e6edf3; }
.rlx-memory rect { stroke: #0d1117; }
.rlx-memory .alive { stroke: #e6edf3; }
.rlx-memory .inside { fill: #ffffff; }
}
"""


def memory_picture(
    plan: MemoryPlan, scratch: Sequence[ScratchPlace] = (), *, limit: int | None = None
) -> str:
    """Return the arena as SVG: layers to the right, addresses upwards, a box for each buffer.

    A line shows how many bytes are alive at each step.

    Args:
        plan: The plan.
        scratch: Memory that layers need while they run.
        limit: Bytes that the arena may have, drawn as a line; None for no line.
    """
    boxes = memory_boxes(plan, scratch)
    size = arena_size(plan, boxes)
    return _Chart(plan, boxes, alive_bytes(plan, scratch), size, limit).svg()


class _Chart:
    """Coordinates and parts of the picture."""

    def __init__(
        self,
        plan: MemoryPlan,
        boxes: list[MemoryBox],
        alive: list[int],
        size: int,
        limit: int | None,
    ) -> None:
        self._plan, self._boxes, self._alive = plan, boxes, alive
        self._size, self._limit = size, limit
        steps = max(len(plan.schedule), 1)
        self._step = min(max(640 / steps, 22.0), 64.0)
        self._end = _LEFT + steps * self._step
        # A limit far above the arena would leave nothing to see: it is written, not drawn.
        self._drawn = limit if limit is not None and limit <= 2 * size else None
        self._scale = _HEIGHT / max(size, self._drawn or 0, 1)

    def svg(self) -> str:
        """Return the whole picture."""
        title = headline(self._size, self._alive)
        legend = self._legend()
        width = max(self._end + _RIGHT, _LEFT + len(title) * _CHARACTER_WIDTH, legend[1])
        height = _TOP + _HEIGHT + _BOTTOM
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="rlx-memory" width="{width:.0f}"'
            f' height="{height}" viewBox="0 0 {width:.0f} {height}" role="img">',
            f"<style>\n{_STYLE}</style>",
            f'<text x="8" y="18" font-weight="bold">{escape(title)}</text>',
            *legend[0],
            *self._axes(),
            *(self._box(box) for box in self._boxes),
            self._alive_line(),
            *self._limit_line(),
        ]
        return "\n".join([*filter(None, parts), "</svg>", ""])

    def _x(self, step: float) -> float:
        return _LEFT + step * self._step

    def _y(self, address: float) -> float:
        return _TOP + _HEIGHT - address * self._scale

    def _legend(self) -> tuple[list[str], float]:
        """Return a sample and a word for each kind of box and for the lines, and where it ends."""
        kinds = sorted({box.kind for box in self._boxes}, key=list(BoxKind).index)
        parts, x = [], 8.0
        for kind in kinds:
            parts.append(f'<rect class="{kind.value}" x="{x:.0f}" y="28" width="14" height="11"/>')
            x = self._word(parts, x, _TEXTS[kind])
        if self._alive:
            parts.append(f'<path class="alive" d="M{x:.0f} 34h14"/>')
            x = self._word(parts, x, "bytes alive")
        if self._limit is not None:
            parts.append(f'<path class="limit" d="M{x:.0f} 34h14"/>')
            x = self._word(parts, x, f"limit: {self._limit:,} bytes")
        return parts, x

    def _word(self, parts: list[str], x: float, text: str) -> float:
        parts.append(f'<text x="{x + 19:.0f}" y="38">{text}</text>')
        return x + 34 + len(text) * _CHARACTER_WIDTH

    def _axes(self) -> list[str]:
        """Return both axes with numbers and names."""
        bottom = _TOP + _HEIGHT
        marks = _marks(_HEIGHT / self._scale)
        parts = [
            f'<path class="grid" d="M{_LEFT} {self._y(mark):.1f}H{self._end:.1f}"/>'
            f'<text x="{_LEFT - 6}" y="{self._y(mark) + 4:.1f}" text-anchor="end">{mark:,}</text>'
            for mark in marks
        ]
        parts.append(f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{self._end:.1f}"/>')
        middle = _TOP + _HEIGHT / 2
        parts.append(
            f'<text transform="translate(16 {middle:.0f}) rotate(-90)" text-anchor="middle">'
            "address in the arena, bytes</text>"
        )
        names, labels = planned_names(self._plan), node_labels(self._plan)
        for step, node in enumerate(self._plan.schedule):
            x, y = self._x(step + 0.5) + 4, bottom + 12
            parts.append(
                f'<text transform="translate({x:.1f} {y}) rotate(-50)" text-anchor="end">'
                f"{escape(names[node])}<title>{escape(labels[node])}</title></text>"
            )
        x = (_LEFT + self._end) / 2
        name = "layer, in order of execution"
        parts.append(f'<text x="{x:.0f}" y="{bottom + 92}" text-anchor="middle">{name}</text>')
        return parts

    def _box(self, box: MemoryBox) -> str:
        """Return one rectangle with a tooltip, and its bytes where they fit."""
        x, width = self._x(box.first), (box.last - box.first + 1) * self._step
        height = max(box.nbytes * self._scale, 1)
        y = self._y(box.offset) - height
        tip = f"{box.label}: {box.nbytes:,} bytes at {box.offset:,}, steps {box.first}-{box.last}"
        size = f"{box.nbytes:,}"
        size_label = ""
        if height >= 14 and width >= len(size) * _CHARACTER_WIDTH + 6:
            size_label = (
                f'<text class="inside" x="{x + width / 2:.1f}" y="{y + height / 2 + 4:.1f}"'
                f' text-anchor="middle">{size}</text>'
            )
        return (
            f'<rect class="{box.kind.value}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}"'
            f' height="{height:.1f}"><title>{escape(tip)}</title></rect>{size_label}'
        )

    def _alive_line(self) -> str:
        """Return the bytes alive at each step, as stairs."""
        if not self._alive:
            return ""
        stairs = "".join(
            f"V{self._y(count):.1f}H{self._x(step + 1):.1f}"
            for step, count in enumerate(self._alive)
        )
        return f'<path class="alive" d="M{_LEFT} {self._y(0):.1f}{stairs}"/>'

    def _limit_line(self) -> list[str]:
        if self._drawn is None:
            return []
        y = self._y(self._drawn)
        return [f'<path class="limit" d="M{_LEFT} {y:.1f}H{self._end:.1f}"/>']


def _marks(most: float) -> list[int]:
    """Return 4 to 10 round addresses from 0 on, powers of two or five apart from 1 KiB on."""
    step = 1
    while most / step >= 8:
        step *= 2
    return list(range(0, int(most) + 1, step))
