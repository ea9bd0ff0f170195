"""Plots the interval by multipliers in SVG, both axes logarithmic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import jinja2

from benchmarks.fpga.points import bound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.fpga.points import PointKey

WIDTH, HEIGHT = 640, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 110, 20, 50
COLOURS: Final = ("#1b6ca8", "#c1440e", "#2e7d32", "#7b1fa2", "#8d6e00")
X_RANGE = (32, 256)
Y_RANGE = (400, 1_000_000)

_TEMPLATE: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{ width }} {{ height }}" \
font-family="sans-serif" font-size="12">
<title>Initiation interval by multipliers of {{ device }}</title>
<rect width="{{ width }}" height="{{ height }}" fill="white"/>
{% for x, text in x_ticks %}
<path d="M{{ x }} {{ top }}V{{ bottom }}" stroke="#ddd"/>
<text x="{{ x }}" y="{{ bottom + 18 }}" text-anchor="middle">{{ text }}</text>
{% endfor %}
{% for y, text in y_ticks %}
<path d="M{{ left }} {{ y }}H{{ right }}" stroke="#ddd"/>
<text x="{{ left - 8 }}" y="{{ y + 4 }}" text-anchor="end">{{ text }}</text>
{% endfor %}
<text x="{{ (left + right) / 2 }}" y="{{ height - 8 }}" text-anchor="middle">\
multipliers of {{ device }}</text>
<text x="16" y="{{ (top + bottom) / 2 }}" text-anchor="middle" \
transform="rotate(-90 16 {{ (top + bottom) / 2 }})">initiation interval, cycles</text>
{% for name, colour, points, bounds in lines %}
<polyline points="{{ bounds }}" fill="none" stroke="{{ colour }}" stroke-dasharray="3 3"/>
<polyline points="{{ points | map("join", ",") | join(" ") }}" fill="none" stroke="{{ colour }}" \
stroke-width="2"/>
{% for x, y in points %}
<circle cx="{{ x }}" cy="{{ y }}" r="4" fill="{{ colour }}"/>
{% endfor %}
<text x="{{ points[-1][0] + 10 }}" y="{{ points[-1][1] + 4 }}" fill="{{ colour }}">{{ name }}</text>
{% endfor %}
<text x="{{ right - 4 }}" y="{{ top + 14 }}" text-anchor="end" fill="#555">dashed: \
lower bound</text>
</svg>
"""


def plot(rows: Mapping[PointKey, Mapping[str, Any]], device: str) -> str:
    """Return the plot of one device's predicted rows; the text is deterministic."""
    networks = dict.fromkeys(name for name, of, _ in rows if of == device)
    lines = []
    for name, colour in zip(networks, COLOURS, strict=False):
        mine = [row for (n, of, _), row in rows.items() if (n, of) == (name, device)]
        coordinates = sorted((row["multipliers"], row["interval"], bound(row)) for row in mine)
        bounds = " ".join(f"{_x(m)},{_y(limit)}" for m, _, limit in coordinates)
        lines.append((name, colour, [(_x(m), _y(i)) for m, i, _ in coordinates], bounds))
    template = jinja2.Environment(trim_blocks=True, autoescape=True).from_string(_TEMPLATE)
    return template.render(
        width=WIDTH, height=HEIGHT, left=LEFT, right=WIDTH - RIGHT, top=TOP,
        bottom=HEIGHT - BOTTOM, lines=lines, device=device,
        x_ticks=[(_x(n), n) for n in (32, 64, 128, 256)],
        y_ticks=[(_y(10**n), f"{10**n:,}") for n in (3, 4, 5, 6)],
    ) + "\n"  # fmt: skip


def _x(multipliers: float) -> float:
    return _position(multipliers, X_RANGE, LEFT, WIDTH - RIGHT)


def _y(cycles: float) -> float:
    return _position(cycles, Y_RANGE, HEIGHT - BOTTOM, TOP)


def _position(number: float, limits: tuple[int, int], start: int, end: int) -> float:
    """Return the position of a value on a logarithmic axis, to a tenth of a unit."""
    part = math.log(number / limits[0]) / math.log(limits[1] / limits[0])
    return round(start + part * (end - start), 1)
