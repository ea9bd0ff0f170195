"""How the report of a design is shown: its layers as a table, rate and cells as figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx.tables import Column, Figure, Figures, Table, share_text, text_of
from rlx_fpga.costs import PORTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx.tables import View

_CELLS: Final = (("LUT", "lut"), ("FF", "ff"), ("DSP", "dsp"), ("BRAM", "bram"))
"""Heading and key of each kind of cell."""


def view(report: Mapping[str, Any]) -> View:
    """Return the layers and the figures of a report of any style (``rlx_fpga.styles``)."""
    device, clock = report["device"], report["clock_mhz"]
    title = f"Layers on {device} at {clock:g} MHz, predicted"
    table = _TABLES[report.get("style", "stream")](title, report)
    figures = (*_rate(report), *_style_figures(report), *_cells(report))
    return [table, Figures("", figures)]


def _stream(title: str, report: Mapping[str, Any]) -> Table:
    """Return the layers of a design with one unit for each: they work at the same time."""
    interval = report["interval"]
    columns = (
        Column("layer", shortest=12),
        Column("op", priority=6),
        Column("MACs", priority=7, total=_sum(report, "macs")),
        Column("PE", priority=5, meaning="output channels that are computed at the same time"),
        Column("SIMD", priority=5, meaning="products of each of them at the same time"),
        Column("cycles", total=interval),
        Column("busy", "%", right=True, priority=4, meaning="share of the interval"),
        *_cell_columns(report),
        Column("memory", "bits", priority=8, total=_sum(report, "memory_bits")),
        Column("queues", "bits", priority=9, total=_sum(report, "queue_bits")),
    )
    return _table(
        title, report, columns,
        lambda one: (
            one["name"], _op(one["op"]), one["macs"], one["pe"], one["simd"], one["cycles"],
            share_text(one["cycles"], interval), *(one[key] for _, key in _CELLS),
            one["memory_bits"], one["queue_bits"],
        ),
    )  # fmt: skip


def _folded(title: str, report: Mapping[str, Any]) -> Table:
    """Return the layers of an engine, which runs them one after the other."""
    interval = report["interval"]
    columns = (
        Column("layer", shortest=12),
        Column("op", priority=2),
        Column("MACs", priority=1, total=_sum(report, "macs")),
        Column("lanes", priority=3, meaning="multipliers in use"),
        Column("cycles", total=interval),
        Column("%", right=True, total="100", meaning="share of the interval"),
    )
    return _table(
        title, report, columns,
        lambda one: (
            one["name"], _op(one["op"]), one["macs"], one["lanes"], one["cycles"],
            share_text(one["cycles"], interval),
        ),
    )  # fmt: skip


def _unrolled(title: str, report: Mapping[str, Any]) -> Table:
    """Return the layers of a design that takes a frame in every cycle."""
    columns = (
        Column("layer", shortest=12),
        Column("op", priority=3),
        Column("MACs", priority=4, total=_sum(report, "macs")),
        Column("latency", "cycles", priority=1, total=report["latency"]),
        Column("adders", priority=2, total=report["adders"]),
        *_cell_columns(report)[:2],
        Column("adder bits", priority=5, total=report["adder_bits"]),
    )
    return _table(
        title, report, columns,
        lambda one: (
            one["name"], _op(one["op"]), one["macs"], one["latency"], one["adders"], one["lut"],
            one["ff"], one["adder_bits"],
        ),
        weight="lut",
    )  # fmt: skip


_TABLES: Final[Mapping[str, Callable[[str, Mapping[str, Any]], Table]]] = {
    "stream": _stream,
    "folded": _folded,
    "unrolled": _unrolled,
}


def _table(
    title: str,
    report: Mapping[str, Any],
    columns: Sequence[Column],
    cells: Callable[[Mapping[str, Any]], tuple[object, ...]],
    weight: str = "cycles",
) -> Table:
    """Return a table of layers; the one with the highest ``weight`` is emphasized."""
    layers = report["layers"]
    rows = tuple(cells(one) for one in layers)
    heaviest = max(range(len(layers)), key=lambda i: layers[i][weight], default=None)
    return Table(title, tuple(columns), rows, heaviest, total="all")


def _cell_columns(report: Mapping[str, Any]) -> tuple[Column, ...]:
    priorities = (1, 2, 1, 1)
    return tuple(
        Column(heading, priority=priority, total=report[key])
        for (heading, key), priority in zip(_CELLS, priorities, strict=True)
    )


def _rate(report: Mapping[str, Any]) -> tuple[Figure, ...]:
    """Return rate and latency."""
    clock, interval = report["clock_mhz"], report["interval"]
    slowest = report["slowest"]
    cause = "the ports are slowest" if slowest == PORTS else f"{slowest} is slowest"
    rate = Figure(
        "rate", report["fps"], "frames/s",
        f"one frame in {text_of(interval)} cycles (the interval) at {clock:g} MHz; {cause}",
    )  # fmt: skip
    if "latency" not in report:
        return (rate,)
    time = f"{report['latency'] / clock:,.4g} µs from the first input to the last output"
    return (rate, Figure("latency", report["latency"], "cycles", time))


def _style_figures(report: Mapping[str, Any]) -> tuple[Figure, ...]:
    """Return what only some styles have."""
    found = []
    if "fill" in report:
        note = "held back by line buffers and by layers that need a whole frame"
        found.append(Figure("frames under way", report["fill"], "", note))
    if "busy" in report:
        note = f"share of the interval in which the {report['lanes']} lanes multiply"
        found.append(Figure("multipliers busy", round(100 * report["busy"], 1), "%", note))
    if report["multipliers"] != report["dsp"]:
        note = "LUTs make those for which there is no DSP slice"
        found.append(Figure("multipliers", report["multipliers"], "", note))
    if report["memory_bits"]:
        note = "weights, tables, line buffers and queues"
        found.append(Figure("memory", report["memory_bits"], "bits", _memory(report) or note))
    if "weights" in report:
        found.append(Figure("weights loaded", report["weights"]))
    return tuple(found)


def _memory(report: Mapping[str, Any]) -> str:
    """Return the parts of an engine's memory; empty for other styles."""
    parts = {"activations": "activation_bits", "weights": "weight_bits", "tables": "table_bits"}
    return ", ".join(f"{name} {text_of(report[k])}" for name, k in parts.items() if k in report)


def _cells(report: Mapping[str, Any]) -> tuple[Figure, ...]:
    """Return the cells of the device, with their shares of it."""
    device = report["device"]
    found = [
        Figure(heading, report[key], "", f"{report[f'{key}_percent']:g} % of {device}")
        for heading, key in _CELLS
    ]
    if "logic_cells" in report:
        share = f"{report['logic_cells_percent']:g} % of {device}; hold a LUT and a flip-flop"
        found.append(Figure("logic cells", report["logic_cells"], "", share))
    if "spram" in report:
        found.append(Figure("SPRAM", report["spram"]))
    if "fits" in report:
        found.append(Figure("fits", report["fits"]))
    return tuple(found)


def _sum(report: Mapping[str, Any], key: str) -> int:
    return sum(one[key] or 0 for one in report["layers"])


def _op(name: str) -> str:
    """Return the name of an op without its dialect."""
    return name.rpartition(".")[2]
