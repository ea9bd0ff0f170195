"""``rlx compare``: two models on the same data.

Tests: tests/cli/commands/test_quantize.py
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlx.cli.commands.quantize import summary
from rlx.cli.common import json_option, print_json, progress_bar
from rlx.cli.model_command import load_bound, model_command
from rlx.cli.progress import progress_option
from rlx.cli.samples import FILES, data_of, scaling_options
from rlx.cli.table import prose, show_table, wide_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.metrics.comparison_result import Comparison
    from rlx.metrics.criteria import Criteria

_LIMITS = {
    "max_abs": "Largest absolute difference allowed in an output.",
    "max_rel": "Largest difference allowed relative to MODEL's value.",
    "cosine": "Smallest cosine allowed between the outputs, as vectors.",
    "sqnr": "Smallest ratio of signal to noise allowed, in dB.",
}


def _criteria_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options from which :func:`_criteria` makes criteria."""
    for name, text in reversed(_LIMITS.items()):
        flag = "--" + name.replace("_", "-")
        function = click.option(flag, type=float, metavar="NUMBER", help=text)(function)
    preset = click.option(
        "--criteria",
        "preset",
        metavar="NAME",
        help="Tolerance for outputs: exact, strict (float32) or half (float16).",
    )
    exact = click.option("--exact", is_flag=True, help="Every value of every output is the same.")
    return preset(exact(function))


def _criteria(preset: str | None, limits: dict[str, Any]) -> Criteria | None:
    """Return the criteria that the options give; None if they give none."""
    from rlx.metrics.criteria import Criteria, criteria_of

    given = {name: value for name, value in limits.items() if value not in (None, False)}
    if preset is not None:
        return replace(criteria_of(preset), **given)
    return Criteria(**given) if given else None


@model_command(
    "compare",
    examples=(
        "rlx compare digits.onnx digits.q.rlx --data test.npz",
        "rlx compare digits.tflite digits.rlx --data samples.npz --exact",
    ),
)
@click.argument("other", type=click.Path(path_type=Path))
@click.option(
    "--data",
    required=True,
    type=click.Path(path_type=Path),
    help=f"Samples: {FILES}; 'y' for labels.",
)
@scaling_options
@_criteria_options
@click.option("--only-outputs", is_flag=True, help="Compare outputs only, not layers.")
@click.option("--plot", type=click.Path(path_type=Path), help="Picture to write, .png or .svg.")
@wide_option
@json_option
@progress_option
def command(
    model: Path,
    other: Path,
    data: Path,
    *,
    preset: str | None,
    only_outputs: bool,
    plot: Path | None,
    as_json: bool,
    **limits: Any,  # noqa: ANN401 - numbers and --exact
) -> int:
    """Run MODEL and OTHER on the same data; show how far outputs and layers are apart.

    With criteria the exit status is 1 if an output does not meet them.
    """
    from rlx.api import compare
    from rlx.calibration.plots import check_plot, plot_comparison

    criteria = _criteria(preset, limits)
    if plot is not None:
        check_plot(plot)
    first, second = load_bound(model, [data]), load_bound(other, [data], other=True)
    samples = data_of(data, first.graph)
    with progress_bar(enabled=not as_json) as show:
        comparison = compare(
            first, second, samples, criteria=criteria, nodes=not only_outputs, progress=show
        )
    if plot is not None:
        plot_comparison(comparison, plot)
    if as_json:
        print_json(comparison.as_json())
    else:
        _print(comparison, model.name, other.name)
    return 1 if comparison.passed is False else 0


def _print(comparison: Comparison, model: str, other: str) -> None:
    """Print outputs and layers, what is known of the whole, and the verdict.

    Args:
        comparison: The differences.
        model: Name of the first model's file.
        other: Name of the second model's file.
    """
    for number, table in enumerate(comparison.tables()):
        if number:
            print()
        show_table(replace(table, title=f"{other} against {model}: {table.title}"))
    for line in summary(comparison, model):
        prose(line)
    if equalized := comparison.equalized:
        prose(
            f"not compared: {', '.join(equalized)}: one network has scaled their channels on"
            " purpose (cross-layer equalization); 'rlx report --quantization' shows their SQNR"
        )
    if worst := comparison.worst:
        prose(f"lowest SQNR: {', '.join(layer.name for layer in worst)}")
    _print_verdict(comparison)


def _print_verdict(comparison: Comparison) -> None:
    """Print the criteria that are not kept; without any, the first numbers that are not finite."""
    for output in comparison.outputs:
        bad = output.closeness.first_nonfinite
        if bad is not None and comparison.criteria is None:
            prose(f"{output.name}: NaN or infinity, the first: {bad}")
        for text in output.failures:
            prose(f"{output.name}: {text}")
    if comparison.passed is not None:
        verdict, colour = ("met", "green") if comparison.passed else ("NOT MET", "red")
        prose(f"{verdict}: {comparison.criteria}", fg=colour, bold=True)
