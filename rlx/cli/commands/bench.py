"""``rlx bench``: how long a model takes on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rlx.cli.common import json_option, print_json, progress
from rlx.cli.host_options import against_option, compile_options, host_options
from rlx.cli.model_command import load_bound, model_command
from rlx.cli.number import Number
from rlx.cli.progress import progress_option
from rlx.cli.table import prose, show_table, wide_option

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.runtime.latency import Benchmark


@model_command(
    "bench",
    examples=(
        "rlx bench digits.tflite",
        "rlx bench digits.tflite --batch 32 --seconds 1",
        "rlx bench digits.tflite --backend native --against numpy",
        "rlx bench digits.onnx --against onnxruntime",
    ),
)
@host_options
@click.option("--batch", type=Number(int, 1), default=1, help="Inputs in one call.  [default: 1]")
@click.option(
    "--seconds",
    type=Number(float, 0),
    metavar="SECONDS",
    default=2.0,
    help="Time to measure; 10 calls at least.  [default: 2]",
)
@against_option
@wide_option
@json_option
@progress_option
def command(
    model: Path,
    *,
    device: str,
    backend: str | None,
    threads: int | None,
    batch: int,
    seconds: float,
    against: str | None,
    as_json: bool,
) -> None:
    """Show how long MODEL takes on this machine, and how much there is to compute.

    Inputs are random. With --against both engines run the same network on the same inputs, in
    turns. OPENBLAS_NUM_THREADS=1 gives figures for one thread, which vary less.
    """
    from rlx.runtime.latency import bench

    graph = load_bound(model).graph
    with progress(enabled=not as_json) as show:
        show(f"running {model.name}")
        result = bench(
            graph,
            batch=batch,
            seconds=seconds,
            against=against,
            file=model,
            device=device,
            options=compile_options(backend, threads),
        )
    if as_json:
        print_json(result.as_json())
        return
    _print(result)


def _print(result: Benchmark) -> None:
    show_table(result.table())
    for line in result.remarks():
        prose(line)
    for line in result.origins():
        prose(line, dim=True)
