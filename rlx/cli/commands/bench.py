"""``rlx bench``: how long a model takes on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rlx.cli.common import json_option, print_json, print_table, progress
from rlx.cli.model_command import load_bound, model_command
from rlx.cli.number import Number
from rlx.cli.progress import progress_option
from rlx.cli.table import prose, wide_option
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from pathlib import Path


@model_command(
    "bench",
    examples=("rlx bench digits.tflite", "rlx bench digits.tflite --batch 32 --seconds 1"),
)
@click.option("--batch", type=Number(int, 1), default=1, help="Inputs in one call.  [default: 1]")
@click.option(
    "--seconds",
    type=Number(float, 0),
    metavar="SECONDS",
    default=2.0,
    help="Time to measure; 10 calls at least.  [default: 2]",
)
@click.option("--against", metavar="ENGINE", help="Run an ONNX file in onnxruntime too, in turns.")
@wide_option
@json_option
@progress_option
def command(model: Path, batch: int, seconds: float, against: str | None, as_json: bool) -> None:
    """Show how long MODEL takes on this machine, and how much there is to compute.

    Inputs are random. OPENBLAS_NUM_THREADS=1 gives figures for one thread, which vary less.
    """
    from rlx.runtime.latency import bench

    graph = load_bound(model).graph
    with progress(enabled=not as_json) as show:
        show(f"running {model.name}")
        result = bench(graph, batch=batch, seconds=seconds, against=against, file=model)
    if as_json:
        print_json(result.as_json())
        return
    engines = {"rlx": result.latency}
    if result.other is not None:
        engines[result.engine] = result.other
    rows = [
        [name, *(s * 1e3 for s in (t.minimum, t.median, t.p90)), t.calls]
        for name, t in engines.items()
    ]
    print_table(
        f"{model.name}, milliseconds", ["engine", "minimum", "median", "p90", "calls"], rows
    )
    macs = "unknown" if result.macs is None else f"{result.macs:,}"
    prose(
        f"{counted(result.ops, 'op')}, {macs} MACs and {result.constant_bytes:,} bytes of constants"
        f" in a call of {result.batch}"
    )
    if result.ratio is not None:
        prose(
            f"rlx takes {result.ratio:.2f} times as long as {result.engine};"
            f" outputs differ by {result.difference:.2g} at most"
        )
