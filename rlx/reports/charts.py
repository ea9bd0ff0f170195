"""Pictures of a report as SVG: memory over time, timeline, clock, histogram, box plot.

Colours are classes of the page's style sheet. Every text that comes from a model is escaped.

Tests: tests/unit/reports/test_page.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from rlx.reports.kinds import colour_of
from rlx.reports.tables import number_text
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.metrics.spread import Spread
    from rlx.reports.model import Clock, Layer, Memory, MemoryBox, Weights
    from rlx.reports.report import Report

_MAX_NAME_CHARS: Final = 24
"""Characters of a layer's name."""
_TIMELINE_WIDTH: Final = 980
"""Width of the drawing of a timeline, in pixels."""
_MAX_LIMIT_RATIO: Final = 2.5
"""Limit, relative to the arena, up to which it is drawn: one further away flattens the picture."""
_SPREAD_WIDTH: Final = 160
_SPREAD_MARGIN: Final = 16
"""Width of a box plot, and of its margins for values outside the range, in pixels."""
_STEPS: Final = (1, 2, 2.5, 5, 10)


def memory_svg(memory: Memory, layers: Sequence[Layer]) -> Markup:
    """Return the arena over time: steps to the right, addresses upwards."""
    left, top, height, bottom = 76, 18, 300, 46
    step = max(18.0, min(72.0, 860 / max(len(layers), 1)))
    limit = memory.limit if _near(memory) else None
    ticks = _ticks(max(memory.bytes, limit or 0, 1))
    scale, width = height / max(ticks[-1], limit or 0), left + step * len(layers) + 24
    base = top + height
    parts = [_grid(left, width - 24, base - tick * scale, f"{tick:,}") for tick in ticks]
    parts += [_memory_box(b, layers, left, base, step, scale) for b in memory.boxes]
    parts += [
        Markup('<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(
            left + (one.index + 0.5) * step, base + 16, one.index
        )
        for one in layers
        if one.index % max(1, round(26 / step)) == 0
    ]
    parts.append(_axis(left, top, base, width - 24))
    parts.append(_axis_name((left + width - 24) / 2, base + 38, "layer, in order of execution"))
    parts.append(_axis_name(16, top + height / 2, "address in the arena, bytes", turned=True))
    if limit is not None:
        parts.append(_limit(left, width - 24, base - limit * scale, f"limit {limit:,} B"))
    return _svg(parts, width, base + bottom, "memory", "Memory over time")


def timeline_svg(report: Report) -> Markup:
    """Return a bar for each layer: its cycles of a frame against the initiation interval."""
    left, top, row = 190, 26, 26
    spans = _spans(report)
    end = max((stop for _, _, stop in spans), default=1) or 1
    ticks = _ticks(end)
    width, base = _TIMELINE_WIDTH, top + row * len(spans)
    scale = (width - left - 90) / max(ticks[-1], end)
    parts = [
        Markup('<path class="grid" d="M{0:.1f} {1}V{2}"/>'
               '<text class="tick" x="{0:.1f}" y="{3}" text-anchor="middle">{4:,}</text>').format(
            left + tick * scale, top, base, base + 16, tick
        )
        for tick in ticks
    ]  # fmt: skip
    parts += [
        _span(layer, start, stop, left, top + row * number, scale)
        for number, (layer, start, stop) in enumerate(spans)
    ]
    parts.append(_axis_name((left + width) / 2, base + 38, "clock cycles"))
    interval = next((one for one in report.figures if one.name == "interval"), None)
    if report.pipelined and interval is not None and interval.best:
        x = left + interval.best * scale
        what = "predicted" if interval.measured is None else "measured"
        text = f"interval {interval.best:,} ({what})"
        parts.append(
            Markup(
                '<path class="limit" d="M{0:.1f} {1}V{2}"/>'
                '<text class="limit-text" x="{0:.1f}" y="{3}" text-anchor="end">{4}</text>'
            ).format(x, top - 6, base, top - 10, text)
        )
    return _svg(parts, width, base + 46, "timeline", "Cycles of each layer")


def clock_svg(clock: Clock) -> Markup:
    """Return each seed as a dot on an axis of MHz, with the median and the target."""
    values = [mhz for _, mhz in clock.seeds]
    known = [one for one in (*values, clock.target) if one is not None]
    ticks = _ticks(max(known) * 1.05)
    left, right, base, width = 40, 40, 64, 620
    scale = (width - left - right) / ticks[-1]
    parts = [
        Markup('<path class="grid" d="M{0:.1f} 18V64"/>'
               '<text class="tick" x="{0:.1f}" y="80" text-anchor="middle">{1}</text>').format(
            left + tick * scale, number_text(tick)
        )
        for tick in ticks
    ]  # fmt: skip
    parts.append(Markup('<path class="axis" d="M{} {}H{}"/>').format(left, base, width - right))
    if clock.target is not None:
        parts.append(
            Markup('<path class="limit" d="M{0:.1f} 14V64"/><text class="limit-text" x="{0:.1f}"'
                   ' y="10" text-anchor="middle">assumed {1} MHz</text>').format(
                left + clock.target * scale, number_text(clock.target)
            )
        )  # fmt: skip
    parts += [
        Markup('<circle class="dot" cx="{:.1f}" cy="42" r="6"><title>seed {}: {:.2f} MHz</title>'
               "</circle>").format(left + mhz * scale, seed, mhz)
        for seed, mhz in clock.seeds
    ]  # fmt: skip
    parts.append(_axis_name(width / 2, 98, "MHz"))
    return _svg(parts, width, 104, "clock", "Clock reached by each seed")


def histogram_svg(weights: Weights) -> Markup:
    """Return the histogram of a layer's weights; the page's script shows the count of a bar."""
    width, height = 300 / len(weights.counts), 90 / max(*weights.counts, 1)
    path = "".join(f"V{count}h1" for count in weights.counts)
    return Markup(
        '<svg class="histogram" viewBox="0 0 320 120" role="img" aria-label="Histogram of the'
        ' weights" data-low="{}" data-step="{}">'
        '<path transform="translate(10 98) scale({:g} -{:g})"'
        ' d="M0 0{}V0"/>'
        '<path class="axis" d="M10 98H310"/><text class="tick" x="10" y="114">{:,}</text>'
        '<text class="tick" x="310" y="114" text-anchor="end">{:,}</text></svg>'
    ).format(
        weights.low, weights.step, width, height, path, weights.low, weights.high,
    )  # fmt: skip


def spread_svg(spread: Spread) -> Markup:
    """Return a box plot of values over the range of their type.

    The range is the band between the margins; values further away are at the end of a margin.
    """
    low, high = spread.lowest, spread.highest
    width = _SPREAD_WIDTH - 2 * _SPREAD_MARGIN

    def x(step: float) -> float:
        place = _SPREAD_MARGIN + (step - low) / (high - low) * width
        return round(min(max(place, 2.0), _SPREAD_WIDTH - 2.0), 1)

    smallest, first, left, median, right, last, largest = spread.steps
    dots = Markup("").join(
        Markup('<circle{} cx="{:g}"/>').format(
            "" if low - 0.5 <= step <= high + 0.5 else Markup(' class="out"'), x(step)
        )
        for step in (smallest, largest)
    )
    return Markup(
        '<svg class="spread" viewBox="0 0 {} 14" role="img"><title>{}</title><path d="M{:g} 7H{:g}"'
        '/><path class="box" d="M{:g} 7H{:g}"/><path class="median" d="M{:g} 2v10"/>{}</svg>'
    ).format(
        _SPREAD_WIDTH, _spread_text(spread), x(first), x(last), x(left), x(right) + 0.5,
        x(median), dots,
    )  # fmt: skip


def _spread_text(spread: Spread) -> str:
    first, low, median, high, last = (f"{value:.3g}" for value in spread.percentiles)
    return (
        f"{spread.minimum:.3g} to {spread.maximum:.3g}, 99.8 % {first} to {last}, half {low} to"
        f" {high}, median {median};"
        f" range {spread.low:.3g} to {spread.high:.3g}, {spread.outside:.3%} outside"
    )


def _memory_box(
    box: MemoryBox, layers: Sequence[Layer], left: float, base: float, step: float, scale: float
) -> Markup:
    owner = layers[box.layer] if 0 <= box.layer < len(layers) else None
    name = "input" if owner is None else owner.name
    what = f"scratch of {name}" if box.scratch else name
    steps = f"layers {box.first} to {box.last}" if box.last > box.first else f"layer {box.first}"
    title = f"{what}: {counted(box.bytes, 'byte')} at {box.offset:,}, {steps}"
    kind = "scratch" if box.scratch else colour_of(owner.op) if owner else "k-other"
    tall = max(box.bytes * scale, 1.0)
    return Markup(
        '<rect class="buffer {}"{} x="{:g}" y="{:g}" width="{:g}" height="{:g}">'
        "<title>{}</title></rect>"
    ).format(
        kind,
        Markup(' data-layer="{}"').format(box.layer) if owner else "",
        round(left + box.first * step + 1, 1),
        round(base - box.offset * scale - tall, 1),
        round((box.last - box.first + 1) * step - 2, 1),
        round(tall, 1),
        title,
    )


def _spans(report: Report) -> list[tuple[Layer, int, int]]:
    """Return begin and end of each layer: all at 0 in a pipeline, else one after the other."""
    spans, start = [], 0
    for layer in report.layers:
        time = (layer.predicted if layer.measured is None else layer.measured) or 0
        spans.append((layer, start, start + time))
        start += 0 if report.pipelined else time
    return spans


def _span(layer: Layer, start: int, stop: int, left: float, y: float, scale: float) -> Markup:
    return Markup(
        '<g class="span {kind}" data-layer="{index}"><title>{name}: {text} cycles</title>'
        '<text class="row" x="{label}" y="{line}" text-anchor="end">{short}</text>'
        '<rect class="bar" x="{x:.1f}" y="{y}" width="{width:.1f}" height="16" rx="2"/>'
        '<text class="value" x="{after}" y="{line}" text-anchor="end">{text}</text></g>'
    ).format(
        kind=colour_of(layer.op), index=layer.index, name=layer.name, text=f"{stop - start:,}",
        short=_short(f"{layer.index}  {layer.name}"), label=left - 10, line=y + 17,
        x=left + start * scale, y=y + 5, width=max((stop - start) * scale, 1),
        after=_TIMELINE_WIDTH - 4,
    )  # fmt: skip


def _near(memory: Memory) -> bool:
    return memory.limit is not None and memory.limit <= _MAX_LIMIT_RATIO * memory.bytes


def _ticks(top: float) -> list[int | float]:
    """Return about five round numbers from 0 to ``top`` or a little more."""
    rough = max(top / 5, 1e-9)
    power = 10.0 ** len(f"{int(rough)}") / 10
    step = next(power * factor for factor in _STEPS if power * factor >= rough)
    count = int(-(-top // step))
    numbers = [round(step * number, 6) for number in range(count + 1)]
    return [int(one) if one == int(one) else one for one in numbers]


def _grid(left: float, right: float, y: float, text: str) -> Markup:
    return Markup(
        '<path class="grid" d="M{} {:.1f}H{:.1f}"/>'
        '<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>'
    ).format(left, y, right, left - 8, y + 4, text)


def _axis(left: float, top: float, base: float, right: float) -> Markup:
    return Markup('<path class="axis" d="M{} {}V{}H{:.1f}"/>').format(left, top, base, right)


def _axis_name(x: float, y: float, text: str, *, turned: bool = False) -> Markup:
    turn = Markup(' transform="rotate(-90 {:.1f} {:.1f})"').format(x, y) if turned else ""
    return Markup(
        '<text class="axis-name" x="{:.1f}" y="{:.1f}" text-anchor="middle"{}>{}</text>'
    ).format(x, y, turn, text)


def _limit(left: float, right: float, y: float, text: str) -> Markup:
    return Markup(
        '<path class="limit" d="M{} {:.1f}H{:.1f}"/>'
        '<text class="limit-text" x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>'
    ).format(left, y, right, right, y - 5, text)


def _short(name: str) -> str:
    return name if len(name) <= _MAX_NAME_CHARS else f"{name[: _MAX_NAME_CHARS - 1]}…"


def _svg(
    parts: Sequence[Markup], width: float, height: float, name: str, label: str, *,
    fixed: bool = False,
) -> Markup:  # fmt: skip
    """Return a picture of its own width, or one that grows with the page."""
    size = Markup(' width="{:.0f}" height="{:.0f}"').format(width, height) if fixed else ""
    return Markup(
        '<svg class="{}" viewBox="0 0 {:.0f} {:.0f}"{} role="img" aria-label="{}">\n{}\n</svg>'
    ).format(name, width, height, size, label, Markup("\n").join(parts))
