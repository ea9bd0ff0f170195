"""Views of measurements: tables and figures for ``rlx verify`` and ``rlx build``.

Tests: tests/sim/test_verify.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx.support.text.tables import Column, Figures, ReportFigure, Table, share_text, text_of
from rlx.targets.milliseconds import Milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx.support.text.tables import View

_SIMULATORS: Final = {
    "host": "this machine",
    "sanitize": "this machine, under sanitizers",
    "qemu": "QEMU",
    "unicorn": "unicorn",
}


def firmware_view(network: str, report: Mapping[str, Any]) -> View:
    """Return the runs of emitted C and the resources of its firmware.

    Args:
        network: Prefix of its identifiers.
        report: ``as_json()`` of the verification.
    """
    columns = (
        Column("ran on", shortest=12),
        Column("compiler", priority=2),
        Column("equal frames"),
        Column("instr.", meaning="for the slowest frame"),
        Column("code", "B", priority=3),
        Column("stack", "B", priority=1),
    )
    rows = tuple(
        (
            _SIMULATORS.get(run["simulator"], run["simulator"]), run["compiler"],
            f"{run['equal']} of {report['inputs']}", run["instructions"], run["text_bytes"],
            run["stack_bytes"],
        )
        for run in report["runs"]
    )  # fmt: skip
    view: list[Table | Figures] = [Table(f"Runs of {network}", columns, rows)]
    if "cpu" in report:
        emulator = _SIMULATORS[report["emulator"]]
        built = f"built by {report['compiler']}, under {emulator}"
        title = f"Measured: {network} on a {report['cpu']}, {built}"
        view.append(Figures(title, _firmware_figures(report)))
    if "milliseconds" in report:
        view.append(_milliseconds(report))
    return [*view, *_time(report)]


def host_view(network: str, report: Mapping[str, Any]) -> View:
    """Return the runs of a host program; arguments as above."""
    columns = (Column("ran on", shortest=12), Column("compiler", priority=2), Column("equal"))
    rows = tuple(
        (
            _SIMULATORS[run["simulator"]], run["compiler"],
            f"{run['equal']} of {report['inputs']}",
        )
        for run in report["runs"]
    )  # fmt: skip
    is_native = report["compared_with"] == "native"
    reference = "the native backend on this machine" if is_native else "NumPy"
    figures = [
        ReportFigure("compared with", reference, "", "bit for bit"),
        ReportFigure("instruction set", report["instruction_set"]),
    ]
    if is_native:
        difference = f"{report['largest_difference']:.3g}"
        note = "largest, of an output; sums of floats are in another order"
        figures.append(ReportFigure("difference from NumPy", difference, "", note))
    title = f"Comparison of {network}"
    return [Table(f"Runs of {network}", columns, rows), Figures(title, tuple(figures)),
            *_time(report)]  # fmt: skip


def _milliseconds(report: Mapping[str, Any]) -> Figures:
    """Return the time that the measured instructions take at a clock."""
    time = Milliseconds(**report["milliseconds"])
    modelled = report.get("modelled")
    device = modelled["device"] if modelled else report.get("part", {}).get("name", report["cpu"])
    figure = ReportFigure("time", time.range_text, "ms", time.basis)
    return Figures(f"Computed for {device}", (figure,))


_PARTS: Final = ("lint", "synthesize", "compile", "simulate", "compare")
"""Parts of a simulation whose time is measured, in the order of a table."""


def _time(report: Mapping[str, Any]) -> list[Table]:
    """Return the seconds of the parts of each simulation; empty without measurements."""
    seconds = report.get("seconds", ())
    parts = [part for part in _PARTS if any(part in row for row in seconds)]
    if not parts:
        return []
    columns = [Column("time of", shortest=12)]
    columns += [Column(part, "s", right=True) for part in parts]
    rows = [
        (_SIMULATORS.get(row["simulation"], row["simulation"]), *map(_seconds_of(row), parts))
        for row in seconds
    ]
    return [Table("Where the time went", tuple(columns), tuple(rows))]


def _seconds_of(row: Mapping[str, Any]) -> Callable[[str], str]:
    return lambda part: f"{row[part]:.1f}" if part in row else "-"


def _firmware_figures(report: Mapping[str, Any]) -> tuple[ReportFigure, ...]:
    code, constants = report["text_bytes"], report["const_bytes"]
    arena, ram = report["arena_bytes"], report["ram_bytes"]
    bound = report["stack_bound_bytes"]
    note = f"measured {text_of(report['stack_measured_bytes'])}"
    if bound is not None:
        note += f", at most {text_of(bound)} by the code"
    fewest = f"for the slowest frame, {text_of(report['instructions_min'])} for the fastest"
    return (
        ReportFigure("instructions", report["instructions"], "", fewest),
        ReportFigure(
            "flash", code + constants, "B",
            f"{_share(report, 'flash', code + constants)}"
            f"constants {text_of(constants)}, code {code:,}",
        ),
        ReportFigure(
            "RAM", ram, "B",
            f"{_share(report, 'ram', ram)}"
            f"arena {text_of(arena)}, variables {text_of(ram - arena)}",
        ),
        ReportFigure("stack", report["stack_bytes"], "B", note),
        *_weights_file(report),
    )  # fmt: skip


def _weights_file(report: Mapping[str, Any]) -> tuple[ReportFigure, ...]:
    """Return the bytes of the file with the constants; nothing if they are in the code."""
    nbytes = report.get("weights_file_bytes")
    if nbytes is None:
        return ()
    return (ReportFigure("weights", nbytes, "B", "a file of its own, not part of flash"),)


def _share(report: Mapping[str, Any], memory: str, nbytes: int) -> str:
    """Return the share of a part's memory that is needed; empty without a part's size."""
    part = report.get("part", {})
    whole = part.get(f"{memory}_bytes")
    if whole is None:
        return ""
    return f"{share_text(nbytes, whole)} % of {text_of(whole)} B of {part['name']}; "


def hardware_view(network: str, report: Mapping[str, Any]) -> View:
    """Return the simulations of a design and its measured cycles; arguments as above."""
    columns = (
        Column("simulation", shortest=12),
        Column("equal frames"),
        Column("latency", "cycles", priority=1),
        Column("interval", "cycles"),
    )
    rows = tuple(
        (
            run["simulation"],
            "-" if run["equal"] is None else f"{run['equal']} of {run['inputs']}",
            run["latency"], run["interval"],
        )
        for run in report["runs"]
    )  # fmt: skip
    predicted = report["predicted_interval"]
    note = "" if predicted is None else f"from one frame to the next; predicted {predicted:,}"
    figures = [
        ReportFigure("interval", report["interval"], "cycles", note),
        ReportFigure(
            "latency", report["latency"], "cycles", "from the first input to the last output"
        ),
        ReportFigure("lint", report["lint"]),
    ]
    if "waves" in report:
        layouts = report.get("layouts", ())
        note = f"layouts: {', '.join(layouts)}" if layouts else ""
        figures.append(ReportFigure("waveform", report["waves"], "", note))
    simulator = "Verilator" if "verilator" in report["tools"] else "Icarus Verilog"
    return [
        Table(f"Simulations of {network}", columns, rows),
        Figures(f"Measured: {network} in {simulator}", tuple(figures)),
        *_time(report),
    ]


def build_view(report: Mapping[str, Any]) -> View:
    """Return cells, seeds and clock of a build; ``report`` is its ``as_json()``."""
    top, device = report["top"], report["device"]
    view: list[Table | Figures] = [_cells(f"Cells of {top} in {device}", report["resources"])]
    if report["layers"]:
        what = "layer" if any(row["op"] for row in report["layers"]) else "part"
        view.append(_layers(f"Cells of each {what} of {top}, after synthesis", what, report))
    if report["seeds"]:
        view.append(_seeds(f"Place and route on {device}", report["seeds"]))
    fmax, rate = report["fmax_mhz"], report["frames_per_second"]
    figures = [ReportFigure("part", report["part"])]
    if fmax is not None:
        runs = f"median of {len(report['seeds'])} seeds" if len(report["seeds"]) > 1 else "one seed"
        figures.append(ReportFigure("clock", fmax, "MHz", runs))
    if rate is not None:
        note = f"at that clock, one in {text_of(report['interval'])} cycles"
        figures.append(ReportFigure("rate", rate, "frames/s", note))
    netlist = report["netlist"]
    if netlist is not None:
        stalled = netlist["stalled"]
        equal = f"{netlist['equal']} of {netlist['inputs']} frames equal"
        note = (
            f"with pauses {stalled['equal']} of {stalled['inputs']}; latency"
            f" {text_of(netlist['latency'])}, interval {text_of(netlist['interval'])} cycles"
        )
        figures.append(ReportFigure("netlist", equal, "", note))
    return [*view, Figures(f"Measured: {top} on {device}", tuple(figures))]


def _cells(title: str, resources: Sequence[Mapping[str, Any]]) -> Table:
    columns = (
        Column("cells"),
        Column("predicted", priority=2, right=True),
        Column("synthesis", right=True),
        Column("placed", priority=1, right=True),
        Column("in the device", priority=3, right=True),
        Column("used", "%", right=True),
    )
    rows = tuple(
        (
            row["resource"].upper().replace("_", " "), row["estimate"], row["synthesis"],
            row["placed"], row["available"],
            _cell_share(row),
        )
        for row in resources
    )  # fmt: skip
    return Table(title, columns, rows)


def _cell_share(row: Mapping[str, Any]) -> str | None:
    """Return the share of the device's cells that the design takes, placed if that was done."""
    taken = row["synthesis"] if row["placed"] is None else row["placed"]
    return share_text(taken, row["available"]) if row["available"] else None


_KINDS: Final = (("LUT", "lut", 1), ("FF", "ff", 2), ("DSP", "dsp", 3), ("BRAM", "bram", 3))
"""Heading and key of each kind of cell, and the priority of its prediction."""


def _layers(title: str, what: str, report: Mapping[str, Any]) -> Table:
    """Return the cells of each layer, or other part; totals are those of the design."""
    whole = {row["resource"]: row for row in report["resources"]}
    rows = report["layers"]
    predicted = rows[0]["estimate"] is not None
    columns = [Column(what, shortest=12), Column("node of the model", priority=4, shortest=8)]
    for heading, key, priority in _KINDS:
        total = whole[key]
        columns.append(Column(heading, right=True, total=total["synthesis"]))
        if predicted:
            total_predicted = sum(row["estimate"][key] for row in rows)
            columns.append(
                Column("predicted", priority=priority, right=True, total=total_predicted)
            )
    cells = [
        (
            row["layer"], row["node"],
            *(
                row[part][key]
                for _, key, _ in _KINDS
                for part in (("synthesis", "estimate") if predicted else ("synthesis",))
            ),
        )
        for row in rows
    ]  # fmt: skip
    return Table(title, tuple(columns), tuple(cells), total="all")


def _seeds(title: str, seeds: Sequence[Mapping[str, Any]]) -> Table:
    columns = (
        Column("seed", right=True),
        Column("clock", "MHz", right=True),
        Column("logic", "ns", priority=2),
        Column("routing", "ns", priority=2),
        Column("longest path from", priority=3, shortest=16),
        Column("to", priority=3, shortest=16),
    )
    rows = []
    for seed in seeds:
        path = seed["longest"] or {}
        parts = (path.get(key) for key in ("logic_ns", "routing_ns", "from", "to"))
        rows.append((seed["seed"], seed["fmax_mhz"], *parts))
    return Table(title, columns, tuple(rows))
