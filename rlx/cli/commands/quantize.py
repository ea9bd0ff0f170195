"""``rlx quantize``: a float model to an integer one."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rlx.cli.common import (
    executor_option,
    json_option,
    keep_inputs,
    print_json,
    progress_bar,
    typed,
)
from rlx.cli.model_command import load_bound, model_command
from rlx.cli.number import Number, Width
from rlx.cli.progress import progress_option
from rlx.cli.samples import FILES, data_of, scaling_options
from rlx.cli.table import prose, show_table, wide_option
from rlx.ir.inspect import printable
from rlx.support.errors import UsageError
from rlx.support.text.tables import text_of
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from rlx.calibration.report import QuantizationReport
    from rlx.ir.module import GraphModule
    from rlx.metrics.classes import Classes
    from rlx.metrics.comparison_result import Comparison

_FEW_SAMPLES = 10
"""Samples below which losses on the calibration data are called uncertain."""
OBSERVERS = ("min-max", "moving-average", "percentile", "mse", "kl")


@model_command(
    "quantize",
    examples=(
        "rlx quantize digits.onnx --calib calib.npz -o digits.q.rlx",
        "rlx quantize digits.onnx --calib calib.npz --test test.npz --max-drop 1% -o digits.q.rlx",
    ),
)
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="Integer model to write, .rlx.",
)
@click.option(
    "--calib",
    type=click.Path(path_type=Path),
    help=f"Samples to take ranges from: {FILES}; 'y' for labels."
    " Without: MODEL holds its own scales (ONNX with QuantizeLinear and DequantizeLinear, int8"
    " .tflite).",
)
@click.option(
    "--test",
    type=click.Path(path_type=Path),
    help="Other samples, on which the loss is measured.  [default: the calibration data]",
)
@click.option(
    "--weights",
    type=Width(["8", "4", "2", "auto"]),
    default="8",
    show_default=True,
    help="Bits of a weight; 2 is ternary, auto chooses for each layer.",
)
@click.option(
    "--observer",
    type=click.Choice(OBSERVERS),
    default="mse",
    show_default=True,
    help="How ranges of activations are chosen.",
)
@click.option("--symmetric", is_flag=True, help="Activations with the zero point 0.")
@click.option(
    "--equalize/--no-equalize",
    default=None,
    help="Balance channels across layers.  [default: where it helps]",
)
@click.option(
    "--bias-correction/--no-bias-correction",
    default=True,
    show_default=True,
    help="Let biases make up for what weights lose on average.",
)
@click.option(
    "--max-drop", metavar="SHARE", help="Largest loss allowed, such as 0.5%; else exit status 3."
)
@click.option(
    "--min-sqnr",
    metavar="DB",
    type=float,
    default=10,
    show_default=True,
    help="Ratio of signal to noise that every output must have; else exit status 3.",
)
@click.option(
    "--min-agreement",
    metavar="SHARE",
    default="80%",
    show_default=True,
    help="Share of samples that must keep their class, where an output has one; else exit status"
    " 3.",
)
@click.option(
    "--bits",
    type=Number(float, 2, 8),
    help="With --weights auto: mean bits of a weight, from 2 to 8.",
)
@click.option(
    "--flash",
    metavar="BYTES",
    help="With --weights auto: bytes of weights, packed, such as 65536 or 64K.",
)
@click.option(
    "--settings",
    type=click.Path(path_type=Path),
    help="Settings of layers, .toml: bits, observer or range of each.",
)
@click.option(
    "--write-settings",
    type=click.Path(path_type=Path),
    help="Settings file to write: those that were used for each layer.",
)
@click.option(
    "--fix-ranges",
    is_flag=True,
    help="With --write-settings: write ranges in place of observers, for a network that is trained"
    " again.",
)
@scaling_options
@click.option("--plot", type=click.Path(path_type=Path), help="Picture to write, .png or .svg.")
@executor_option
@wide_option
@json_option
@progress_option
def command(
    model: Path,
    out: Path,
    plot: Path | None,
    write_settings: Path | None,
    fix_ranges: bool,
    max_drop: str | None,
    as_json: bool,
    calib: Path | None,
    **settings: Any,  # noqa: ANN401 - of rlx.quantize
) -> None:
    """Quantize MODEL, a float network, to integers, and report what that lost.

    Without --calib, MODEL holds its own scales and weights, which are taken as they are; it is
    measured on --test, or on random numbers.

    Loss: drop in accuracy if there are labels, else the share of samples whose class changes; loss
    of precision if an output has no classes; growth of the reconstruction error for autoencoders.
    With several outputs, the largest loss counts.
    """
    from rlx.api import quantize
    from rlx.calibration.settings import share_of
    from rlx.ir.file_errors import check_suffix
    from rlx.metrics.quantization_file import check_path, path_beside
    from rlx.support.files.outputs import write_file

    for path in (out, plot, path_beside(out), write_settings):
        keep_inputs(path, model, calib, settings["test"], settings["settings"])
    _check_write_settings(write_settings, fix_ranges=fix_ranges)
    check_suffix(out, only=True)
    check_path(path_beside(out))
    share = None if max_drop is None else share_of(max_drop, "--max-drop")
    settings["min_agreement"] = share_of(settings["min_agreement"], "--min-agreement")
    if plot is not None:
        from rlx.calibration.plots import check_plot

        check_plot(plot)
    module = load_bound(model, [calib, settings["test"]])
    if calib is None:
        _refuse_options_without_samples(click.get_current_context())
        _convert(module, model, out, settings, as_json=as_json)
        return
    samples = data_of(calib, module.graph)
    test = settings.pop("test")
    tested = None if test is None else data_of(test, module.graph)
    with progress_bar(enabled=not as_json) as show:
        quantized = quantize(
            module, samples, test=tested, max_drop=share, progress=show, **settings
        )
    _save(quantized.module, quantized.report, out)
    if write_settings is not None:
        text = quantized.report.settings_text(fix_ranges=fix_ranges)
        write_file(write_settings, text.encode())
    if plot is not None:
        from rlx.calibration.plots import plot_report

        plot_report(quantized.report, plot)
    if as_json:
        print_json(quantized.report.as_json())
        return
    _print(quantized.report, out)
    if write_settings is not None:
        print(f"wrote {write_settings}; to use it: --settings {typed(write_settings)}")


def _check_write_settings(path: Path | None, *, fix_ranges: bool) -> None:
    """Refuse ``--fix-ranges`` without a settings file to write."""
    if fix_ranges and path is None:
        raise UsageError(
            "has no effect without --write-settings",
            where="--fix-ranges",
            hint="add --write-settings FILE.toml, or leave it out",
        )


_WITHOUT_SAMPLES = (
    "model", "out", "test", "min_sqnr", "min_agreement", "scale", "mean", "std", "as_json", "wide",
    "quiet", "debug", "progress",
)  # fmt: skip
"""Parameters of the command for a model that holds its own scales."""


def _convert(
    module: GraphModule, model: Path, out: Path, options: dict[str, Any], *, as_json: bool
) -> None:
    """Convert a model that holds its own scales, and report what that lost."""
    from rlx.calibration.own_scales import convert_graph
    from rlx.calibration.settings import settings_of

    settings = settings_of(**{k: options[k] for k in ("min_sqnr", "min_agreement")})
    test = None if options["test"] is None else data_of(options["test"], module.graph)
    with progress_bar(enabled=not as_json) as show:
        conversion = convert_graph(module.graph, test, settings, show)
    report = conversion.report
    _save(conversion.module, report, out)
    if as_json and report is not None:
        print_json(report.as_json())
        return
    if report is not None:
        where = f"random numbers ({counted(report.comparison.samples, 'sample')})"
        for line in summary(report.comparison):
            prose(f"{line}, on {where if report.random else report.measured_on}")
    for layer in conversion.bounded:
        prose(
            f"note: no scale after {layer}: assumed the range that its weights allow, which is"
            " wide; measure it with --calib SAMPLES.npz"
        )
    print(f"wrote {out} with the scales of {model.name}; next: rlx inspect {typed(out)}")


def _refuse_options_without_samples(ctx: click.Context) -> None:
    """Refuse options that need samples where there are none."""
    refused = [
        param.opts[-1]
        for param in ctx.command.params
        if ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        and param.name not in _WITHOUT_SAMPLES
    ]
    if refused:
        raise UsageError(
            "nothing is calibrated without samples",
            where=refused[0],
            hint="give --calib SAMPLES.npz, or leave it out where the model holds its own scales",
        )


def _save(module: GraphModule, report: QuantizationReport | None, out: Path) -> None:
    """Write the integer network, and beside it what is known about its losses."""
    from rlx.ir.file import save
    from rlx.metrics.quantization_file import path_beside, write_result

    save(module, out)
    if report is not None:
        write_result(
            path_beside(out), report.as_json(), hashlib.sha256(out.read_bytes()).hexdigest()
        )


def _print(report: QuantizationReport, out: Path) -> None:
    from rlx.metrics.quantization_file import path_beside

    show_table(report.table())
    where = "test data" if report.tested else "the calibration data (give --test for others)"
    for line in summary(report.comparison):
        prose(f"{line}, on {where}")
    if not report.tested and report.comparison.samples < _FEW_SAMPLES:
        prose(
            f"note: {counted(report.comparison.samples, 'sample')}, from which the ranges were"
            " taken too, say little about the loss on others"
        )
    prose("most sensitive layers: " + ", ".join(layer.name for layer in report.worst))
    prose(
        f"weights: {report.mean_bits:.2f} bits on average, {report.weight_bytes:,} bytes packed;"
        f" cross-layer equalization: {'applied' if report.equalized else 'not applied'}"
    )
    if report.widened:
        prose("weights are wider than --max-drop allows: --min-sqnr and --min-agreement need it")
    print(f"wrote {out} and, for 'rlx report --quantization', {path_beside(out)}")


def summary(comparison: Comparison, reference: str = "the float network") -> list[str]:
    """Return lines about outputs and classes; ``reference`` names the first network."""
    from rlx.calibration.useful import lacks_hits

    lines = []
    if comparison.top1 is not None:
        a, b = comparison.top1
        lines.append(f"correct: {a:.2%} -> {b:.2%} of {comparison.samples}")
    if comparison.auc is not None:
        a, b = comparison.auc
        lines.append(f"AUC: {a:.4f} -> {b:.4f}")
    if comparison.reconstruction is not None:
        a, b = comparison.reconstruction
        lines.append(f"mean squared reconstruction error: {text_of(a)} -> {text_of(b)}")
    for output in comparison.outputs:
        name = f"output {printable(output.name)!r}" if len(comparison.outputs) > 1 else "output"
        if output.classes is not None:
            lines.append(
                _agreement(
                    output.classes, f"{name}: " if len(comparison.outputs) > 1 else "", reference
                )
            )
        if lacks_hits(output):
            lines.append(
                f"{name}: no sample comes near {output.span:.2g}, which it can reach: give samples"
                " with hits too, or their inputs may be out of range"
            )
        figures = output.closeness.as_json()
        ratio = "none" if figures["sqnr_db"] is None else f"{figures['sqnr_db']:.1f} dB"
        lines.append(
            f"{name}: largest difference {text_of(figures['max'])},"
            f" mean {text_of(figures['mean'])}, cosine {figures['cosine']:.6f}, SQNR {ratio}"
        )
    return lines


def _agreement(classes: Classes, name: str, reference: str) -> str:
    """Return the line on classes of an output."""
    from rlx.metrics.classes import ClassForm

    place = " on the largest value" if classes.form is ClassForm.LARGEST else ""
    shares = f"{classes.agreement:.2%} of {counted(classes.total, 'prediction')}"
    return f"{name}agreement with {reference}{place}: {shares}"
