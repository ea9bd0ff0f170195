"""View of a network's report: its layers as a table, its needs as figures.

Tests: tests/targets/cortexm/test_target.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.support.text.tables import Column, Figures, ReportFigure, Table, share_text, text_of
from rlx.targets.milliseconds import CycleTiming, Milliseconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.support.text.tables import View


def view(report: Mapping[str, Any], device: str, *, timed: bool) -> View:
    """Return the layers and the needs that ``rlx_cortexm.estimate`` reports.

    Args:
        report: Result of ``estimate``.
        device: Processor that it was made for.
        timed: Whether cycles were requested.
    """
    return [_layers(report, device), Figures("", _figures(report, timed=timed))]


def _layers(report: Mapping[str, Any], device: str) -> Table:
    layers, whole = report["layers"], report["instructions"]
    timed = [key for key in ("cycles", "milliseconds") if layers and layers[0].get(key) is not None]
    rows = tuple(
        (
            one["name"], _op(one["op"]), _shape(one["result"]), one["macs"],
            one["instructions"], *(one[key] for key in timed),
            share_text(one["instructions"], whole), _flash(one, report), one["ram_bytes"],
            one["constant_bytes"], one["code_bytes"], one["scratch_bytes"], one["weight_bits"],
            one["kernel"], one["result"],
        )
        for one in layers
    )  # fmt: skip
    heaviest = max(range(len(layers)), key=lambda i: layers[i]["instructions"], default=None)
    title = f"Layers on a {device}, predicted"
    return Table(title, _columns(report, timed), rows, heaviest, total="all")


def _columns(report: Mapping[str, Any], timed: Sequence[str]) -> tuple[Column, ...]:
    """Return the columns of the layers; those of cycles are among the given keys."""
    stored = report.get("weights_file_bytes", 0)
    flash = report["constant_bytes"] + report["code_bytes"]
    times = [
        Column("cycles", total=report["cycles"]) if key == "cycles"
        else Column("ms", total=report["timing"]["milliseconds"])
        for key in timed
    ]  # fmt: skip
    return (
        Column("layer", shortest=12),
        Column("op", priority=3),
        Column("out", priority=5),
        Column("MACs", priority=4, total=report["macs"]),
        Column("instr.", total=report["instructions"]),
        *times,
        Column("%", priority=2, right=True, total="100", meaning="share of the instructions"),
        Column("flash", "B", priority=1, total=flash),
        Column("RAM", "B", priority=1, total=report["arena_bytes"]),
        Column("constants", "B", priority=6, total=stored or report["constant_bytes"]),
        Column("code", "B", priority=7, total=report["code_bytes"]),
        Column("scratch", "B", priority=8),
        Column("weight bits", priority=9),
        Column("kernel", priority=10),
        Column("type", priority=11),
    )


def _flash(layer: Mapping[str, Any], report: Mapping[str, Any]) -> int:
    """Return the bytes of flash of a layer: its code, and its constants unless in a file."""
    stored = report.get("weights_file_bytes", 0)
    return int((0 if stored else layer["constant_bytes"]) + layer["code_bytes"])


def _op(name: str) -> str:
    """Return the name of an op without its dialect."""
    return name.rpartition(".")[2]


def _shape(result: str) -> str:
    """Return ``25x5x64`` for ``i8[1, 25, 5, 64]``: the shape for one frame."""
    sizes = result.partition("[")[2].rstrip("]").split(", ")
    return "x".join(sizes[1:] if sizes[0] == "1" and len(sizes) > 1 else sizes)


def _figures(report: Mapping[str, Any], *, timed: bool) -> tuple[ReportFigure, ...]:
    constants, code, macs = report["constant_bytes"], report["code_bytes"], report["macs"]
    packed = report["packed_bytes"]
    each = f"{report['instructions'] / macs:.2f} per MAC" if macs else ""
    peak = report["peak"]["name"] or "no layer"
    check = report.get("self_check_bytes", 0)
    savings = f"; several weights in a byte save {text_of(packed)}" if packed else ""
    return (
        ReportFigure("instructions", report["instructions"], note=each),
        *(_cycles(report) if timed else ()),
        *_time(report),
        ReportFigure(
            "flash", constants + code, "B",
            f"{_part_share(report, 'flash', constants + code)}"
            f"constants {text_of(constants)}, code {text_of(code)} (layers share code"
            f"{f'; self-check {text_of(check)}' if check else ''}){savings}",
        ),
        *_weights_file(report),
        *_states(report),
        ReportFigure(
            "RAM", report["arena_bytes"], "B",
            f"{_part_share(report, 'ram', report['arena_bytes'])}arena, without the stack;"
            f" peak in {peak}",
        ),
    )  # fmt: skip


def _weights_file(report: Mapping[str, Any]) -> tuple[ReportFigure, ...]:
    """Return the bytes of the file with the constants; nothing if they are in the code."""
    nbytes = report.get("weights_file_bytes")
    if nbytes is None:
        return ()
    return (ReportFigure("weights", nbytes, "B", "a file of its own, not part of flash"),)


def _states(report: Mapping[str, Any]) -> tuple[ReportFigure, ...]:
    """Return the bytes of the states, which the caller keeps; nothing without states."""
    states = report.get("states", ())
    if not states:
        return ()
    nbytes = sum(one["bytes"] for one in states)
    names = ", ".join(one["name"] for one in states)
    return (ReportFigure("states", nbytes, "B", f"RAM in a struct of yours: {names}"),)


def _cycles(report: Mapping[str, Any]) -> tuple[ReportFigure, ...]:
    """Return the predicted cycles, or the reason why there are none."""
    if "timing" not in report:
        note = "not predicted: no rates of this core with this memory"
        return (ReportFigure("cycles", None, note=note),)
    return (ReportFigure("cycles", report["cycles"], note=CycleTiming(**report["timing"]).basis),)


def _time(report: Mapping[str, Any]) -> tuple[ReportFigure, ...]:
    """Return the range of milliseconds, or what to give for one."""
    values = report.get("milliseconds")
    if values is None:
        return (ReportFigure("time", None, "", "needs a clock or a part"),)
    time = Milliseconds(**values)
    return (ReportFigure("time", time.range_text, "ms", time.basis),)


def _part_share(report: Mapping[str, Any], memory: str, nbytes: int) -> str:
    """Return ``12 % of 1,048,576 B of STM32F746xG; ``; empty without a part's size."""
    part = report.get("part", {})
    whole = part.get(f"{memory}_bytes")
    if whole is None:
        return ""
    return f"{share_text(nbytes, whole)} % of {text_of(whole)} B of {part['name']}; "
