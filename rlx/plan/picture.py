"""The memory plan as a table and as a picture for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from rlx.ir.module import Region

if TYPE_CHECKING:
    from rlx.ir.module import MemoryPlan, Placement

_STEP, _ROW, _LEFT = 22, 320, 60
_COLOURS = ("#4878a8", "#6aa84f", "#c0783c", "#8e6bb0", "#b04f6a", "#5aa5a5", "#888844")


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


def memory_picture(plan: MemoryPlan) -> str:
    """Return the arena as SVG: steps to the right, addresses upwards, one box a buffer."""
    boxes = [p for p in plan.placements if p.region is Region.ARENA and p.alias_of is None]
    last = {p.value: p.last for p in plan.placements}
    for p in plan.placements:
        if p.alias_of is not None:
            last[p.alias_of] = max(last[p.alias_of], p.last)
    steps = len(plan.schedule)
    width, height = _LEFT + steps * _STEP + 20, _ROW + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        ' font-family="sans-serif" font-size="10">',
        f'<text x="4" y="14">arena {plan.arena_bytes} bytes, {steps} steps</text>',
    ]
    parts += [
        _box(p, last[p.value], plan.arena_bytes, _COLOURS[i % len(_COLOURS)])
        for i, p in enumerate(boxes)
    ]
    return "\n".join([*parts, "</svg>", ""])


def _box(placement: Placement, last: int, arena_bytes: int, colour: str) -> str:
    """Return one rectangle with a tooltip."""
    scale = _ROW / max(arena_bytes, 1)
    x = _LEFT + placement.first * _STEP
    width = (last - placement.first + 1) * _STEP
    height = max(placement.nbytes * scale, 1)
    y = 30 + _ROW - placement.offset * scale - height
    label = escape(f"{placement.value.node.label} {placement.nbytes} bytes at {placement.offset}")
    return (
        f'<rect x="{x}" y="{y:.1f}" width="{width}" height="{height:.1f}" fill="{colour}"'
        f' stroke="white"><title>{label}</title></rect>'
    )
