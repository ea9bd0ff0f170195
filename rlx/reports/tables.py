"""A report as text: comma-separated values, Markdown, and rows for a terminal.

Tests: tests/unit/reports/test_report.py
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.reports.model import Changes, Figure, Layer, Losses
    from rlx.reports.report import Report

VELA_COLUMNS: Final = (
    "Original Operator", "NNG Operator", "Target", "Staging Usage", "Peak% (Staging)", "Op Cycles",
    "Network% (cycles)", "MAC Count", "Network% (MAC)", "Util% (MAC)", "Name",
)  # fmt: skip
"""Columns that Vela's per-layer file has under the same names.

``Op Cycles`` has the unit in ``Unit``: instructions on a Cortex-M. ``Util% (MAC)`` is given where
multipliers and cycles are known.
"""

OWN_COLUMNS: Final = (
    "Unit", "Predicted", "Measured", "Error%", "Cycles", "Modelled", "Board", "Flash", "Kernel",
)  # fmt: skip

FIGURE_HEADS: Final = ("predicted", "measured", "error", "limit", "note")
"""Headings of a table of figures, after the name."""

_MIN_WITHOUT_DECIMALS: Final = 10_000
"""Numbers from here on are shown without decimals."""

_TEXT: Final = frozenset("=+-@\t\r")
"""First characters with which a spreadsheet evaluates a text as a formula."""


def csv_text(report: Report) -> str:
    """Return a line for each layer: :data:`VELA_COLUMNS`, then :data:`OWN_COLUMNS`."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*VELA_COLUMNS, *OWN_COLUMNS])
    peak = max((layer.ram or 0 for layer in report.layers), default=0)
    macs = sum(layer.macs or 0 for layer in report.layers)
    for layer in report.layers:
        writer.writerow([*_vela_cells(report, layer, peak, macs), *_own_cells(report, layer)])
    return stream.getvalue()


def _vela_cells(report: Report, layer: Layer, peak: int, macs: int) -> list[object]:
    time = layer.predicted if layer.measured is None else layer.measured
    return [
        _safe(layer.op),
        _safe(layer.op.rpartition(".")[2]),
        report.target,
        layer.ram,
        _percent(layer.ram, peak),
        time,
        round(100 * layer.share, 2),
        layer.macs,
        _percent(layer.macs, macs),
        utilization(layer),
        _safe(layer.name),
    ]


def _own_cells(report: Report, layer: Layer) -> list[object]:
    error = None if layer.error is None else round(100 * layer.error, 2)
    return [
        report.unit, layer.predicted, layer.measured, error, layer.cycles, layer.modelled,
        layer.board, layer.flash, _safe(layer.kernel),
    ]  # fmt: skip


def utilization(layer: Layer) -> float | None:
    """Return the percentage of the cycles in which each multiplier is used; None if unknown."""
    fold = [layer.figures.get("pe"), layer.figures.get("simd")]
    if layer.macs and layer.predicted and all(isinstance(one, int) for one in fold):
        return round(100 * layer.macs / (layer.predicted * fold[0] * fold[1]), 2)  # type: ignore[operator]
    return None


def markdown_text(report: Report) -> str:
    """Return the verdict, the figures, the changes, and the layers and cells folded away."""
    lines = [f"### {_cell(f'{report.title}: {report.target} {report.device}')}", ""]
    lines += [_verdict(report), ""]
    lines += _table(("figure", *FIGURE_HEADS), figure_rows(report))
    if report.milliseconds is not None:
        lines += ["", _cell(str(report.milliseconds))]
    if report.changes is not None:
        lines += ["", *_change_rows(report.changes, report.unit)]
    if remark_lines := remarks(report):
        lines += ["", *(f"- {_cell(text)}" for text in remark_lines)]
    lines += ["", "<details><summary>Layers</summary>", "", *_layer_rows(report), "", "</details>"]
    if report.layer_cells:
        summary = "<details><summary>Cells of each layer or part after synthesis</summary>"
        lines += ["", summary, "", *_cell_rows(report), "", "</details>"]
    return "\n".join([*lines, ""])


def remarks(report: Report) -> list[str]:
    """Return a line for each warning, then one for each note."""
    warnings = [f"warning: {text}" for text in report.warnings]
    return warnings + [f"note: {text}" for text in report.notes]


def _cell_rows(report: Report) -> list[str]:
    """Return the cells of each layer, those that were predicted in brackets."""
    kinds = ("lut", "ff", "dsp", "bram")
    rows = [
        (
            one.name,
            *(
                number_text(one.synthesis[kind])
                + (f" ({number_text(one.predicted[kind])})" if one.predicted else "")
                for kind in kinds
            ),
        )
        for one in report.layer_cells
    ]
    return _table(("layer (predicted)", *(kind.upper() for kind in kinds)), rows)


def timed(report: Report) -> dict[str, str]:
    """Return the kinds of time besides those in the report's unit that layers have.

    A key is an attribute of the layers, its value a heading.
    """
    headings = {
        "cycles": "cycles, predicted", "modelled": "cycles, modelled", "board": "board, measured",
    }  # fmt: skip
    return {
        name: heading
        for name, heading in headings.items()
        if any(getattr(layer, name) is not None for layer in report.layers)
    }


def summary_rows(report: Report) -> list[list[object]]:
    """Return name, op, result, MACs, predicted, measured, error of each layer, times and share."""
    return [
        [
            layer.name,
            layer.op,
            layer.type_text,
            layer.macs,
            layer.predicted,
            layer.measured,
            percent_text(layer.error, sign=True),
            *(getattr(layer, name) for name in timed(report)),
            percent_text(layer.share),
        ]
        for layer in report.layers
    ]


def loss_rows(losses: Losses) -> list[list[object]]:
    """Return name, bits, loss, SQNR, cosine, and shares outside the range, of each layer."""
    return [
        [
            layer.name,
            layer.bits,
            layer.loss,
            layer.sqnr_db,
            layer.cosine,
            None if layer.weight_values is None else f"{layer.weight_values.outside:.2%}",
            f"{layer.results.outside:.2%}",
        ]
        for layer in losses.layers
    ]


def loss_text(losses: Losses) -> str:
    """Return the losses of the whole network in one line."""
    parts = [f"on {counted(losses.samples, 'sample')} ({losses.measured_on})"]
    if losses.agreement is not None:
        parts.append(f"{losses.agreement:.2%} keep their class")
    if losses.sqnr_db is not None:
        parts.append(f"SQNR of the output {losses.sqnr_db:.1f} dB")
    parts += [f"{losses.mean_bits:.3g} bits per weight", f"observer {losses.observer}"]
    return ", ".join(parts)


def number_text(value: float | None, unit: str = "") -> str:
    """Return a number with separators and its unit; a dash for none."""
    if value is None:
        return "-"
    whole = value == int(value) or abs(value) >= _MIN_WITHOUT_DECIMALS
    text = f"{value:,.0f}" if whole else f"{value:,.1f}"
    return f"{text} {unit}".rstrip()


def percent_text(share: float | None, *, sign: bool = False) -> str:
    """Return a share in percent; a dash for none."""
    if share is None:
        return "-"
    value = round(100 * share, 1) + 0.0  # no negative zero
    return f"{value:+.1f} %" if sign else f"{value:.1f} %"


def _verdict(report: Report) -> str:
    if report.verification is None:
        return "Not verified."
    mark = "✅" if report.verification.passed else "❌"
    return f"{mark} {_cell(report.verification.text)}"


def figure_rows(report: Report) -> list[tuple[str, ...]]:
    """Return the name of each figure, then the cells under :data:`FIGURE_HEADS`."""
    return [
        (
            one.name,
            number_text(one.predicted, one.unit),
            number_text(one.measured, one.unit),
            percent_text(one.error, sign=True),
            number_text(one.limit, one.unit),
            _note(one),
        )
        for one in report.figures
    ]


def _note(figure: Figure) -> str:
    """Return the figure that is computed or assumed, and where it comes from."""
    parts = [figure.basis] if figure.basis else []
    if figure.computed is not None:
        parts = [f"{number_text(figure.computed, figure.unit)} ({figure.basis})"]
    if figure.assumed is not None:
        parts.append(f"{number_text(figure.assumed, figure.unit)} assumed")
    return ", ".join(parts)


def origin_text(figure: Figure) -> str:
    """Return whether the best of a figure is measured, computed, predicted or assumed."""
    if figure.kind == "predicted":
        return f"predicted {figure.basis}".rstrip()
    parts = [figure.basis if figure.kind == "computed" else figure.kind]
    if figure.predicted is not None:
        error = "" if figure.error is None else f" ({percent_text(figure.error, sign=True)})"
        parts.append(f"predicted {number_text(figure.predicted)}{error}")
    if figure.kind == "computed" and figure.assumed is not None:
        parts.append(f"assumed {number_text(figure.assumed)}")
    return "; ".join(parts)


def _layer_rows(report: Report) -> list[str]:
    rows = [
        (
            layer.name, layer.op, layer.type_text, number_text(layer.macs),
            number_text(layer.predicted), number_text(layer.measured),
            percent_text(layer.error, sign=True),
            *(number_text(getattr(layer, name)) for name in timed(report)),
            percent_text(layer.share),
        )
        for layer in report.layers
    ]  # fmt: skip
    heads = (
        "layer", "op", "result", "MACs", "predicted", "measured", "error",
        *timed(report).values(), "share",
    )  # fmt: skip
    return _table(heads, rows, left=3)


def _change_rows(changes: Changes, unit: str) -> list[str]:
    rows = [
        (new.name, number_text(old.best, old.unit), number_text(new.best, new.unit),
         percent_text(_growth(old, new), sign=True))
        for old, new in changes.figures
        if old.best != new.best
    ]  # fmt: skip
    lines = _table(("changed", "before", "now", "difference"), rows) if rows else []
    lines += ["", *(f"- {_cell(text)}" for text in changes.ports)] if changes.ports else []
    layers = [
        (one.name, _time(one.old), _time(one.new), ", ".join(one.changed) or _old_state(one.old))
        for one in changes.layers
        if one.changed or None in (one.old, one.new)
    ]
    if layers:
        lines += ["", *_table((f"layer, {unit}", "before", "now", "what"), layers)]
    return lines or ["Nothing changed."]


def _growth(old: Figure, new: Figure) -> float | None:
    if old.best is None or new.best is None or not old.best:
        return None
    return (new.best - old.best) / old.best


def _old_state(old: Layer | None) -> str:
    return "added" if old is None else "removed"


def _time(layer: Layer | None) -> str:
    return "-" if layer is None else number_text(layer.predicted)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """Return a table in Markdown; columns but the first ones are aligned to the right."""
    rules = ["---" if column < left else "---:" for column in range(len(heads))]
    every = [heads, rules, *([_cell(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(row)} |" for row in every]


def _cell(text: str) -> str:
    """Return a text that Markdown shows unchanged, in one line."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    for mark in "\\|`*_[]":
        plain = plain.replace(mark, f"\\{mark}")
    return plain


def _percent(part: float | None, whole: float) -> float | None:
    return None if part is None else round(100 * part / whole, 2) if whole else 0.0


def _safe(text: str) -> str:
    """Return a text that no spreadsheet evaluates as a formula."""
    return f"'{text}" if text[:1] in _TEXT else text
