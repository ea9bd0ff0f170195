"""View of a design's report: its layers as a table, rate and cells as figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx.support.text.tables import Column, Figures, ReportFigure, Table, float_text, text_of
from rlx_fpga.architectures import architecture
from rlx_fpga.cost.costs import PORTS
from rlx_fpga.devices import boards, devices
from rlx_fpga.explore.advice import MAX_CLOCK_RATIO
from rlx_fpga.report import doubt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx.support.text.tables import View

CELLS: Final = (("LUT", "lut"), ("FF", "ff"), ("DSP", "dsp"), ("BRAM", "bram"))
"""Heading and key of each kind of cell."""


def view(report: Mapping[str, Any]) -> View:
    """Return the layers and the figures of a report of any architecture."""
    device, clock = report["device"], report["clock_mhz"]
    title = f"Layers on {device} at {clock:g} MHz, predicted"
    table = architecture(report["architecture"]).layers(title, report)
    figures = (*_rate(report), *_own_figures(report), *_cells(report))
    return [table, Figures("", figures)]


def layers_table(
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


def cell_columns(report: Mapping[str, Any]) -> tuple[Column, ...]:
    """Return a column for each kind of cell."""
    priorities = (1, 2, 1, 1)
    return tuple(
        Column(heading, priority=priority, total=report[key])
        for (heading, key), priority in zip(CELLS, priorities, strict=True)
    )


def _rate(report: Mapping[str, Any]) -> tuple[ReportFigure, ...]:
    """Return rate and latency."""
    clock, interval = report["clock_mhz"], report["interval"]
    slowest = report["slowest"]
    cause = "the ports are slowest" if slowest == PORTS else f"{slowest} is slowest"
    rate = ReportFigure(
        "rate", report["fps"], "frames/s",
        f"one frame in {text_of(interval)} cycles (the interval) at {clock:g} MHz; {cause}",
    )  # fmt: skip
    routed = _reachable_mhz(report["device"])
    figures = [rate]
    if clock > routed:
        note = f"above the {routed:g} MHz that routed designs reach: timing may fail"
        figures.append(ReportFigure("clock", clock, "MHz", note))
    if "latency" not in report:
        return tuple(figures)
    time = f"{float_text(report['latency'] / clock)} µs from the first input to the last output"
    return (*figures, ReportFigure("latency", report["latency"], "cycles", time))


def _reachable_mhz(name: str) -> float:
    """Return the clock up to which designs are expected to meet timing on a device or board."""
    return MAX_CLOCK_RATIO * (devices().get(name) or boards()[name]).clock_mhz


def _own_figures(report: Mapping[str, Any]) -> tuple[ReportFigure, ...]:
    """Return the figures that only some architectures have."""
    figures = []
    if "fill" in report:
        note = "kept in line buffers and in layers that need a whole frame"
        figures.append(ReportFigure("frames in flight", report["fill"], "", note))
    if "busy" in report:
        note = f"share of the interval in which the {report['lanes']} lanes multiply"
        figures.append(ReportFigure("multipliers busy", round(100 * report["busy"], 1), "%", note))
    if report["multipliers"] != report["dsp"]:
        note = "LUTs implement those without a DSP slice"
        figures.append(ReportFigure("multipliers", report["multipliers"], "", note))
    if report["memory_bits"]:
        note = "weights, tables, line buffers and queues"
        figures.append(
            ReportFigure("memory", report["memory_bits"], "bits", _memory(report) or note)
        )
    if "weights" in report:
        figures.append(ReportFigure("weights loaded", report["weights"]))
    return tuple(figures)


def _memory(report: Mapping[str, Any]) -> str:
    """Return the parts of an engine's memory; empty for others."""
    parts = {"activations": "activation_bits", "weights": "weight_bits", "tables": "table_bits"}
    return ", ".join(f"{name} {text_of(report[k])}" for name, k in parts.items() if k in report)


def _cells(report: Mapping[str, Any]) -> tuple[ReportFigure, ...]:
    """Return the cells of the device, with their shares of it."""
    device = report["device"]
    figures = [
        ReportFigure(heading, report[key], "", f"{report[f'{key}_percent']:g} % of {device}")
        for heading, key in CELLS
    ]
    if "logic_cells" in report:
        share = f"{report['logic_cells_percent']:g} % of {device}; hold a LUT and a flip-flop"
        figures.append(ReportFigure("logic cells", report["logic_cells"], "", share))
    if "spram" in report:
        figures.append(ReportFigure("SPRAM", report["spram"]))
    fits = report.get("fits", True)
    reason = doubt(report) if fits else str(report.get("short", ""))
    if "fits" in report or reason:
        figures.append(ReportFigure("fits", fits, "", reason))
    return tuple(figures)


def total(report: Mapping[str, Any], key: str) -> int:
    """Return the sum of an entry of all layers."""
    return sum(one[key] or 0 for one in report["layers"])


def plain_op(name: str) -> str:
    """Return the name of an op without its dialect."""
    return name.rpartition(".")[2]
