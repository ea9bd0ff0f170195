"""``rlx build``: synthesize, place and route what was emitted, and measure it.

Tests: tests/sim/synthesis/test_build.py
"""

from __future__ import annotations

from pathlib import Path

import click

from rlx.cli.command import subcommand
from rlx.cli.common import executor_option, json_option, print_json, progress
from rlx.cli.number import Number, hertz
from rlx.cli.progress import progress_option
from rlx.cli.table import prose, show, wide_option
from rlx.support.errors import DoesNotFitError
from rlx.support.files.outputs import read_manifest
from rlx.support.parallel import workers
from rlx.targets import builder

DEFAULT_TIMEOUT_S = 3600
"""Seconds that each step of a build may take."""


@subcommand(
    "build",
    examples=("rlx build hw --seeds 1 -o built", "rlx build hw --seeds 0"),
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--device", metavar="NAME", help="Device to build for.  [default: the one it was emitted for]"
)
@click.option(
    "--seeds",
    type=Number(int, 0, 100),
    default=3,
    show_default=True,
    help="Runs of place and route; the clock is their median. 0: synthesis only; at most 100.",
)
@click.option(
    "--clock",
    metavar="HERTZ",
    help="Clock to reach, as 100MHz; exit status 3 if the median is below it.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for netlist, reports and logs.  [default: they are deleted]",
)
@click.option(
    "--simulate/--no-simulate",
    default=None,
    help="Simulate the netlist on golden vectors, with pauses.  [default: if that takes at most"
    " four minutes, as predicted]",
)
@click.option(
    "--timeout",
    type=Number(float, 1),
    metavar="SECONDS",
    default=DEFAULT_TIMEOUT_S,
    show_default=True,
    help="Seconds that each run of a tool may take.",
)
@executor_option
@wide_option
@json_option
@progress_option
def command(
    folder: Path,
    device: str | None,
    seeds: int,
    clock: str | None,
    out: Path | None,
    simulate: bool | None,
    timeout: float,
    executor: str | None,
    as_json: bool,
) -> int:
    """Synthesize, place and route the output FOLDER of 'rlx emit', and report clock and cells.

    The mapped netlist is simulated and compared with the reference before it is placed.

    Exit status 1 if it computes something else, or has a latch or a net with several drivers;
    3 if it does not fit the device or misses the clock.
    """
    clock_mhz = None if clock is None else hertz(clock) / 1e6
    manifest = read_manifest(folder)
    plugin = builder.load(manifest.producer.target)
    with progress(enabled=not as_json, minimum_s=0.0) as show, workers(executor) as pool:
        result = plugin.build(
            folder,
            device=device,
            seeds=seeds,
            clock_mhz=clock_mhz,
            timeout_s=timeout,
            keep=out,
            simulate=simulate,
            progress=show,
            **({} if executor is None else {"pool": pool}),
        )
    if as_json:
        print_json(result.as_json())
    else:
        _print(result)
    return DoesNotFitError.exit_status if result.problems else 0


def _print(result: builder.Build) -> None:
    """Print resources, seeds, figures, notes and problems."""
    report = result.as_json()
    show(builder.view_of(result))
    print()
    prose("tools: " + ", ".join(f"{name} {version}" for name, version in report["tools"].items()))
    for note in report["notes"]:
        prose(f"note: {note}")
    for problem in report["problems"]:
        prose(f"problem: {problem}", fg="red", bold=True)
