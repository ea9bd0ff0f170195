"""``rlx profile``: where the time of a model goes on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlx.cli.common import json_option, keep_inputs, print_json, progress
from rlx.cli.host_options import compile_options, host_options
from rlx.cli.machine_option import METAVAR, machine_limits
from rlx.cli.model_command import load_bound, model_command
from rlx.cli.number import Number
from rlx.cli.progress import progress_option
from rlx.cli.table import prose, show_table, wide_option
from rlx.support.text.tables import float_text

if TYPE_CHECKING:
    from rlx.runtime.observation.profile import Profile


@model_command(
    "profile",
    examples=("rlx profile digits.tflite", "rlx profile digits.tflite --by-layer --runs 10"),
)
@host_options
@click.option("--batch", type=Number(int, 1), default=1, help="Inputs in one call.  [default: 1]")
@click.option("--runs", type=Number(int, 1), default=50, help="Calls to measure.  [default: 50]")
@click.option("--by-layer", is_flag=True, help="Show a row for each layer, not for each node.")
@click.option(
    "--machine",
    metavar=METAVAR,
    help="Compare with the limits in a file of 'rlx host --roofline --json', or with those of this"
    " machine.",
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    help="Write all calls as a trace, .json, which ui.perfetto.dev shows.",
)
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
    runs: int,
    by_layer: bool,
    machine: str | None,
    trace: Path | None,
    as_json: bool,
) -> None:
    """Run MODEL on this machine and show the time of each node.

    Inputs are random. OPENBLAS_NUM_THREADS=1 gives figures for one thread, which vary less.
    """
    from rlx.runtime.latency import compiled_for

    keep_inputs(trace, model)
    graph = load_bound(model).graph
    limits = None if machine is None else machine_limits(machine)
    with progress(enabled=not as_json) as show:
        show(f"running {model.name}")
        net, inputs = compiled_for(
            graph, batch=batch, device=device, options=compile_options(backend, threads)
        )
        profile = net.profile(inputs, runs=runs, machine=limits)
    if trace is not None:
        profile.to_perfetto(trace)
    if as_json:
        print_json(profile.as_json())
        return
    _print(profile, by_layer=by_layer)
    if trace is not None:
        print(f"wrote {trace}")


def _print(profile: Profile, *, by_layer: bool) -> None:
    """Print the table, and what is between the nodes."""
    show_table(profile.table(by_layer=by_layer))
    prose(
        f"a call takes {float_text(1e6 * profile.seconds)} us;"
        f" {float_text(1e6 * profile.between, 3)} us of it are between the nodes"
    )
