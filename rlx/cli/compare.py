"""``rlx compare``: two models on the same data."""

from __future__ import annotations

from pathlib import Path

import click

from rlx.cli.common import json_option, print_json, progress_bar
from rlx.cli.model_command import load_model, model_command
from rlx.cli.quantize import SQNR, summary
from rlx.cli.samples import FILES, data_of, scaling_options
from rlx.cli.table import print_table, prose, wide_option
from rlx.tables import Column


@model_command("compare")
@click.argument("other", type=click.Path(path_type=Path))
@click.option(
    "--data",
    required=True,
    type=click.Path(path_type=Path),
    help=f"Samples: {FILES}; 'y' for labels.",
)
@scaling_options
@click.option("--plot", type=click.Path(path_type=Path), help="Picture to write, .png or .svg.")
@wide_option
@json_option
def command(model: Path, other: Path, data: Path, plot: Path | None, as_json: bool) -> None:
    """Run MODEL and OTHER on the same data; show how far outputs and layers are apart."""
    from rlx.api import compare
    from rlx.calibration.plots import check_plot, plot_comparison

    if plot is not None:
        check_plot(plot)
    first, second = load_model(model), load_model(other, other=True)
    samples = data_of(data, first.graph)
    with progress_bar(enabled=not as_json) as show:
        found = compare(first, second, samples, progress=show)
    if plot is not None:
        plot_comparison(found, plot)
    if as_json:
        print_json(found.as_json())
        return
    rows = [
        [layer.place or layer.name, layer.op, *figures.values()]
        for layer in found.layers
        for figures in [layer.closeness.as_json()]
    ]
    columns = [
        Column("layer", shortest=16),
        Column("op", priority=3),
        Column("largest", priority=2, meaning="largest difference of a value"),
        Column("mean", priority=2, meaning="mean difference"),
        Column("cosine", priority=1),
        SQNR,
    ]
    print_table(f"{other.name} against {model.name}", columns, rows)
    for line in summary(found):
        prose(line)
    prose("lowest SQNR: " + ", ".join(layer.place or layer.name for layer in found.worst))
