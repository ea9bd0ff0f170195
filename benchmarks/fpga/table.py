"""The page of the documentation with the stored results beside those of other systems."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from benchmarks import stored
from benchmarks.fpga import adders, cells, clock, cycles, folded, predicted
from benchmarks.fpga.plot import plot
from benchmarks.fpga.points import BUDGETS, NETWORKS, ROOT, bound, is_current, point_of
from benchmarks.markdown import markdown_table
from rlx_fpga.devices import device

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from benchmarks.fpga.points import PointKey

PAGE = ROOT / "docs" / "reference" / "benchmarks-fpga.md"
PEERS = ROOT / "benchmarks" / "peers" / "fpga"

Row = dict[str, Any]

_INTRODUCTION = """\
# Benchmarks of FPGA designs

This page is written by `python -m benchmarks fpga --update`; do not edit it. The networks are
TinyConv (`examples/mnist`, 28x28 pixels) and the int8 models of MLPerf Tiny: keyword spotting
(KWS), image classification (IC), visual wake words (VWW), anomaly detection (AD). Each is folded
for two devices, and on each for three budgets of multiplier blocks: few, about half, and all.
Cycles are those of the emitted core under Verilator, every output equal to the reference's; where
that was not run they are predicted and marked with \\*.
"""

_CELLS = """\
Counts by {tools} before place and route: places of LUTs (those of carry chains and small memories
too, unlike the other systems' counts below), flip-flops, multipliers (MULT18X18D, DSP48E1), block
memories (DP16KD; RAMB36E1, halves for RAMB18E1). Beside them is what `rlx estimate` tells, and by
how much that is wrong; multipliers and block memories it tells exactly. Designs marked with \\* are
of an earlier folding or have other queues, with the interval that is told.
"""

_CLOCK = """\
Median of three seeds of nextpnr's greatest clock, each seed's, and the frames a second that follow;
for the AMD device there is no nextpnr. TinyConv, VWW and AD were placed as they are emitted now,
with the reset on a global wire, by nextpnr as Debian builds it; KWS and IC before that, by the
YoWASP wheel. The two builds find other places for the same seed.
"""

_FOLDED = """\
Style `folded` for devices too small for a pipeline. Weights come with the bitstream (`mem`), by a
stream after each reset (`load`) or by one in every frame (`stream`). Cycles are exact
(`tests/targets/fpga/folded`), if no weight has to be waited for; memories above 100 % do not fit.
"""

_ADDERS = """\
Style `unrolled`: bits of all adders that need a carry, about as many lookup tables, without
requantizers.
"""


def files() -> dict[Path, str]:
    """Return what is written for the stored results, by path."""
    known = _by_point(predicted.STORED)
    return {PAGE: page(), **{_picture(device): plot(known, device) for device in BUDGETS}}


def _picture(device: str) -> Path:
    return PAGE.with_name(f"{PAGE.stem}-{device}.svg")


def page() -> str:
    """Return the page for what is stored."""
    known = _by_point(predicted.STORED)
    measured = _by_point(cycles.STORED)
    peers = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(PEERS.glob("*.json"))]
    parts = [
        _INTRODUCTION,
        "## Cycles\n\n" + _cycles(known, measured),
        "A frame's interval is that of the slowest layer; *busy* is the part of it in which the\n"
        "products of the slowest array are at work. *Fill* is the frames that line buffers, and\n"
        "layers that need all of a frame, hold back before the last layer gives anything: what is\n"
        "above two intervals comes from there. The bound is the multiplications of layers\n"
        "whose products are not made of lookup tables, divided by what the design's multipliers\n"
        "can do in a cycle: a product each on ECP5, two on Artix-7.\n",
        *(f"![Interval by multipliers, {one}]({_picture(one).name})\n" for one in BUDGETS),
        "## Cells\n\n" + _cells(known),
        "## Clock\n\n" + _CLOCK + "\n" + _clocks(known),
        "## One shared array\n\n" + _FOLDED + "\n" + _folded(),
        "## Products by shifts and additions\n\n" + _ADDERS + "\n" + _adders(peers),
        "## Other systems\n\n" + _peers(peers),
        "## Where the others' figures come from\n\n"
        + "\n".join(f"- **{peer['name']}**: {peer['source']}." for peer in peers)
        + "\n",
        "## Layer by layer\n\nWith all multipliers of a device.\n",
        *(
            _layers(row)
            for (_, device, budget), row in known.items()
            if budget == BUDGETS[device][-1]
        ),
    ]
    return "\n".join(parts)


def _by_point(path: Path) -> dict[PointKey, Row]:
    """Return stored rows by point, in the order of the tables."""
    rows = {point_of(row): row for row in stored.read(path)}
    keys = [(name, device, n) for name in NETWORKS for device in BUDGETS for n in BUDGETS[device]]
    return {key: rows[key] for key in keys if key in rows}


def _cycles(known: dict[PointKey, Row], measured: dict[PointKey, Row]) -> str:
    head = ["network", "device", "budget", "multipliers", "interval", "bound", "latency",
            "told", "latency / interval", "fill", "busy", "slowest"]  # fmt: skip
    body = []
    for point, row in known.items():
        found = measured.get(point, {})
        current = cycles.is_current(found, row)
        interval = found["interval"] if current else row["interval"]
        latency = found["latency"] if current else None
        body.append([
            *map(str, point), f"{row['multipliers']:,}",
            f"{interval:,}" + ("" if current else " \\*"),
            f"{math.ceil(bound(row)):,}",
            f"{latency:,}" if latency else "-",
            f"{row['latency']:,}",
            f"{(latency or row['latency']) / interval:.1f}", f"{row['fill']:.1f}",
            f"{100 * row['busy']:.1f} %", f"`{row['slowest']}`",
        ])  # fmt: skip
    return markdown_table(head, body, texts=2)


def _cells(known: dict[PointKey, Row]) -> str:
    rows = stored.read(cells.STORED)
    tools = ", ".join(sorted({row["tool"].replace("yosys", "Yosys") for row in rows}))
    by_point = {point_of(row): row for row in rows}
    head = ["network", "device", "budget", "interval", "LUT", "estimated", "FF", "estimated",
            "multipliers", "block memories"]  # fmt: skip
    body = []
    for point, row in ((point, by_point[point]) for point in known if point in by_point):
        now = known[point]
        current = is_current(row, now)
        body.append([
            *map(str, point), f"{row['interval']:,}" + ("" if current else " \\*"),
            *(text for name in ("lut", "ff") for text in (
                f"{row[name]:,}", _estimate(now[name], row[name]) if current else "-",
            )),
            *(f"{row[name]:,}" for name in ("dsp", "bram")),
        ])  # fmt: skip
    text = _CELLS.format(tools=tools or "Yosys") + "\n" + markdown_table(head, body, texts=2)
    return text + _left(point for point in known if point not in by_point)


def _estimate(told: int, found: int) -> str:
    """Return an estimate, and by how much it is wrong."""
    return f"{told:,} ({100 * (told - found) / found:+.0f} %)"


def _clocks(known: dict[PointKey, Row]) -> str:
    body = []
    for row in stored.read(clock.STORED):
        now = known.get(point_of(row), {})
        mark = "" if is_current(row, now) else " \\*"
        body.append([
            *map(str, point_of(row)), f"{row['interval']:,}{mark}",
            f"{row['fmax_mhz']:.1f} MHz", ", ".join(f"{one:.0f}" for one in row["seeds"]),
            f"{1e6 * row['fmax_mhz'] / row['interval']:,.0f}",
        ])  # fmt: skip
    head = ["network", "device", "budget", "interval", "clock", "of each seed", "frames a second"]
    found = {point_of(row) for row in stored.read(clock.STORED)}
    left = (point for point in known if device(point[1]).pnr and point not in found)
    return markdown_table(head, body, texts=2) + _left(left)


def _left(points: Iterable[PointKey]) -> str:
    """Return a sentence that tells what was not measured yet."""
    budgets: dict[str, list[str]] = {}
    for network, place, budget in points:
        budgets.setdefault(f"{network} on {place}", []).append(str(budget))
    left = "; ".join(f"{name} with {', '.join(some)}" for name, some in budgets.items())
    return f"\nNot measured yet: {left}.\n" if left else ""


def _folded() -> str:
    head = ["network", "device", "weights", "lanes", "cycles", "lanes busy", "clock",
            "frames a second", "block memories", "large ones"]  # fmt: skip
    body = [
        [row["network"], row["device"], f"`{row['weights']}`", str(row["lanes"]),
         f"{row['interval']:,}", f"{100 * row['busy']:.0f} %", f"{row['clock_mhz']:g} MHz",
         f"{row['fps']:,.0f}", f"{row['bram_percent']:.0f} %",
         f"{row['spram_percent']:.0f} %" if row["spram"] else "-"]
        for name in NETWORKS for row in stored.read(folded.STORED) if row["network"] == name
    ]  # fmt: skip
    return markdown_table(head, body, texts=3)


def _adders(peers: list[Row]) -> str:
    head = ["system", "product", "weights", "adders", "adder bits", "for each weight"]
    rows = [("**rlx**", row["product"], row) for row in stored.read(adders.STORED)] + [
        (peer["name"], product, row)
        for peer in peers for product, row in peer.get("products", {}).items()
    ]  # fmt: skip
    body = [
        [system, product, f"{row['weights']:,}", f"{row['adders']:,}" if "adders" in row else "-",
         f"{row['adder_bits']:,}", f"{row['adder_bits'] / row['weights']:.1f}"]
        for system, product, row in sorted(rows, key=lambda one: one[1])
    ]  # fmt: skip
    return markdown_table(head, body, texts=2)


def _peers(peers: list[Row]) -> str:
    head = ["system", "network", "design", "interval", "multipliers", "LUT", "FF",
            "block memories", "clock"]  # fmt: skip
    body = [
        [
            peer["name"], one["network"], f"{one['design']}, {one['family']}",
            *(f"{one[name]:,}" if name in one else "-"
              for name in ("interval", "multiplier", "lut", "ff", "block_ram")),
            f"{one['fmax_mhz']:g} MHz" if "fmax_mhz" in one else "-",
        ]
        for peer in peers for one in peer["designs"]
    ]  # fmt: skip
    return markdown_table(head, body, texts=3)


def _layers(row: Row) -> str:
    head = ["layer", "op", "MACs", "pe", "simd", "cycles", "multipliers"]
    body = [
        [f"`{one['name']}`", f"`{one['op']}`",
         *(f"{one[name]:,}" for name in ("macs", "pe", "simd", "cycles", "multipliers"))]
        for one in row["layers"]
    ]  # fmt: skip
    title = (
        f"### {row['network']}, {row['device']}: {row['multipliers']:,} multipliers,"
        f" {row['interval']:,} cycles"
    )
    return f"{title}\n\n{markdown_table(head, body, texts=2)}"
