"""Pictures of ranges and of signal-to-noise ratios, layer by layer (extra ``plot``).

Tests: tests/unit/calibration/test_quantize.py
"""

from __future__ import annotations

import importlib
import math
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import ToolMissingError, UsageError
from rlx.support.files.outputs import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rlx.calibration.report import QuantizationReport
    from rlx.metrics.comparison_result import Comparison

FORMATS: Final = (".png", ".svg")
_ROW_INCHES: Final = 0.26
"""Height of a layer's row, in inches."""
_MAX_LABEL_CHARS: Final = 40
"""Characters of a layer's label."""


def plot_report(report: QuantizationReport, path: Path) -> None:
    """Write a picture of the ranges and the signal-to-noise ratio of each layer.

    Raises:
        ToolMissingError: matplotlib is not installed.
        UsageError: The name ends in neither ``.png`` nor ``.svg``.
    """
    rows = report.layers
    names = [_short(layer.name) for layer in rows]
    ratios = [math.nan if layer.closeness is None else layer.closeness.sqnr_db for layer in rows]
    figure, axes = _figure(path, len(rows), 2)
    for row, layer in enumerate(rows):
        low = layer.scale * (-128 - layer.zero_point)
        high = layer.scale * (127 - layer.zero_point)
        axes[0].plot([layer.minimum, layer.maximum], [row, row], color="0.6", linewidth=1)
        axes[0].plot([low, high], [row, row], color="C0", linewidth=4, solid_capstyle="butt")
    axes[0].set_yticks(range(len(names)), names)
    axes[0].set_xscale("symlog", linthresh=1.0)
    axes[0].set_title("range: int8 (wide) of what was seen (thin)")
    _ratios(axes[1], ratios)
    _save(figure, path)


def plot_comparison(comparison: Comparison, path: Path) -> None:
    """Write a picture of the signal-to-noise ratio of each layer; errors as :func:`plot_report`."""
    rows = comparison.layers
    figure, axes = _figure(path, len(rows), 1)
    _ratios(axes[0], [layer.closeness.sqnr_db for layer in rows])
    axes[0].set_yticks(range(len(rows)), [_short(layer.name) for layer in rows])
    _save(figure, path)


def _short(text: str) -> str:
    return text if len(text) <= _MAX_LABEL_CHARS else text[: _MAX_LABEL_CHARS - 3] + "..."


def check_plot(path: Path) -> None:
    """Check, before any work is done, that a picture can be written.

    Raises:
        ToolMissingError: matplotlib is not installed.
        UsageError: The name ends in neither ``.png`` nor ``.svg``.
    """
    _matplotlib(path)


def _matplotlib(path: Path) -> tuple[Any, Any]:
    """Return matplotlib and its module of figures."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(
            f"a picture cannot be written as {path.name!r}",
            hint=f"end the name in {' or '.join(FORMATS)}",
        )
    try:
        return (
            importlib.import_module("matplotlib"),
            importlib.import_module("matplotlib.figure"),
        )
    except ImportError:
        raise ToolMissingError(
            "matplotlib is not installed",
            where="plot",
            hint="install it with: pip install 'rlx[plot]'",
        ) from None


def _figure(path: Path, rows: int, columns: int) -> tuple[Any, Sequence[Any]]:
    matplotlib, figures = _matplotlib(path)
    # Without random identifiers: the same figures result in the same file.
    matplotlib.rcParams["svg.hashsalt"] = "rlx"
    figure = figures.Figure(
        figsize=(6 * columns, 1.4 + _ROW_INCHES * max(rows, 1)), layout="constrained"
    )
    axes = figure.subplots(1, columns, sharey=True, squeeze=False)[0]
    axes[0].invert_yaxis()
    return figure, axes


def _ratios(axes: Any, ratios: Sequence[float]) -> None:  # noqa: ANN401 - of matplotlib
    finite = [r if math.isfinite(r) else 0.0 for r in ratios]
    axes.barh(range(len(finite)), finite, color="C1")
    axes.set_title("signal to quantization noise, dB")
    axes.grid(axis="x", alpha=0.3)


def _save(figure: Any, path: Path) -> None:  # noqa: ANN401 - of matplotlib
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else {}
    made = BytesIO()
    figure.savefig(made, format=path.suffix[1:].lower(), metadata=metadata, dpi=110)
    write_file(path, made.getvalue())
