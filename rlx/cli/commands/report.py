"""``rlx report``: the figures of an output folder, predicted next to measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlx.cli.command import subcommand
from rlx.cli.common import json_option, print_json, progress
from rlx.cli.progress import progress_option
from rlx.cli.table import print_table, prose, wide_option
from rlx.support.text.tables import Column
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.reports.model import Losses
    from rlx.reports.report import Report

_FILE = click.Path(path_type=Path, dir_okay=False)


@subcommand(
    "report",
    examples=("rlx report out", "rlx report out --no-run --html report.html"),
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--html", type=_FILE, help="Write one page that needs no network to this file.")
@click.option("--csv", type=_FILE, help="Write a line for each layer, with Vela's column names.")
@click.option("--md", type=_FILE, help="Write a Markdown table, as for a pull request.")
@click.option("--no-run", is_flag=True, help="Show only predictions; run nothing.")
@click.option(
    "--verified", type=_FILE, help="Output of 'rlx verify --json', instead of running it."
)
@click.option(
    "--build",
    type=click.Path(path_type=Path),
    help="FPGA: folder of 'rlx build -o', for cells and clock.",
)
@click.option("--diff", "old", metavar="FOLDER", type=click.Path(path_type=Path),
              help="Older output folder: show what has changed since.")  # fmt: skip
@click.option("--data", type=_FILE, help="Labelled samples (.npz of x and y): show the accuracy.")
@click.option("--labels", type=_FILE, help="Text file with the name of a class in each line.")
@click.option(
    "--model",
    type=_FILE,
    help="Model file, for the accuracy of the reference too; NET.q.json next to it has the losses.",
)
@click.option(
    "--quantization",
    type=_FILE,
    help="Show losses by quantization from this file, which 'rlx quantize' wrote: NET.q.json.",
)
@click.option(
    "--measured",
    "board",
    type=_FILE,
    help="Cycles or times of layers on a board: .json or .csv of name and number, or a log with"
    " the table of test/layer_cycles.c.",
)
@wide_option
@json_option
@progress_option
def command(
    folder: Path,
    html: Path | None,
    csv: Path | None,
    md: Path | None,
    no_run: bool,
    verified: Path | None,
    build: Path | None,
    old: Path | None,
    data: Path | None,
    labels: Path | None,
    model: Path | None,
    quantization: Path | None,
    board: Path | None,
    as_json: bool,
) -> int:
    """Show the figures of the output FOLDER of 'rlx emit', predicted next to measured.

    Without --no-run the folder is verified first, which takes as long as 'rlx verify', or no time
    if nothing has changed since. Exit status 1 if an output differs from the reference.
    """
    from rlx import api
    from rlx.samples import read_names

    with progress(enabled=not as_json, minimum_s=0.0) as show:
        report = api.report(
            folder,
            run=not no_run,
            verified=verified,
            build=build,
            board=board,
            data=data,
            labels=() if labels is None else read_names(labels),
            model=model,
            old=old,
            quantization=quantization,
            progress=show,
        )
    files: dict[Path, Callable[[], str]] = {
        path: make
        for path, make in ((html, report.to_html), (csv, report.to_csv), (md, report.to_markdown))
        if path is not None
    }
    _write(files, folder)
    if as_json:
        print_json(report.as_json())
    elif not files:
        _print(report)
    else:
        for text in report.warnings:
            prose(f"warning: {text}")
        prose("wrote " + ", ".join(map(str, files)))
    return 0 if report.verification is None or report.verification.passed else 1


def _write(files: dict[Path, Callable[[], str]], folder: Path) -> None:
    """Write files, none of them into the folder, whose content is known by its hashes.

    Raises:
        UsageError: A file would lie in the folder.
        OutputError: A file cannot be written.
    """
    from rlx.support.errors import UsageError
    from rlx.support.files.outputs import write_file

    for path in files:
        if path.resolve().is_relative_to(folder.resolve()):
            raise UsageError(
                "is inside the output folder, which holds only emitted files",
                where=str(path),
                hint=f"write it next to the folder: {folder.resolve().parent / path.name}",
            )
    for path, make in files.items():
        write_file(path, make().encode())


def _print(report: Report) -> None:
    """Print layers, figures, accuracy, changes, warnings, notes and the verdict."""
    from rlx.reports.tables import FIGURE_HEADS, figure_rows, remarks, summary_rows, timed

    columns = [
        Column("layer", shortest=12),
        Column("op", priority=3),
        Column("result", priority=4),
        Column("MACs", right=True, priority=2),
        Column("predicted", right=True),
        Column("measured", right=True),
        Column("error", right=True, priority=1),
        *(Column(heading, right=True) for heading in timed(report).values()),
        Column("share", right=True),
    ]
    print_table(f"{report.title}: layers, {report.unit}", columns, summary_rows(report))
    heads = [Column(head, right=head != "note") for head in FIGURE_HEADS]
    print_table("figures", ["figure", *heads], figure_rows(report))
    if report.milliseconds is not None:
        prose(f"time: {report.milliseconds}")
    if report.losses is not None:
        _print_losses(report.losses)
    if report.accuracy is not None:
        for name, correct in report.accuracy.correct.items():
            prose(f"{name}: {correct:,} of {report.accuracy.samples:,} classes correct")
    if report.changes is not None:
        prose(f"changed: {report.changes.count} of {counted(len(report.changes.layers), 'layer')}")
        for line in report.changes.ports:
            prose(line)
    for line in remarks(report):
        prose(line)
    prose("not verified" if report.verification is None else report.verification.text)


def _print_losses(losses: Losses) -> None:
    """Print the losses by quantization."""
    from rlx.reports.tables import loss_rows, loss_text

    columns = [
        Column("layer", shortest=12),
        Column("bits", priority=1),
        Column("loss alone", meaning="with this layer alone quantized"),
        Column("SQNR", "dB", meaning="signal to quantization noise; higher is closer"),
        Column("cosine", priority=2),
        Column("weights", priority=3, meaning="weights outside the range of their type"),
        Column("results", priority=3, meaning="results outside the range of int8"),
    ]
    print_table("losses by quantization", columns, loss_rows(losses))
    prose(loss_text(losses))
