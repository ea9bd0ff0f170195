"""``rlx build``: synthesize, place and route what was emitted, and measure it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlx import builder
from rlx.cli.common import json_option, print_json, print_table, progress
from rlx.errors import DoesNotFitError, UsageError
from rlx.outputs import read_manifest
from rlx.units import parse_clock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEFAULT_TIMEOUT_S = 3600.0


@click.command(name="build")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--device", metavar="NAME", help="Device to build for. Default: the one it was emitted for."
)
@click.option(
    "--seeds",
    type=click.IntRange(0, 100),
    default=3,
    show_default=True,
    help="Runs of place and route; the clock is their median. 0: synthesis only.",
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
    help="Folder for netlist, reports and logs. Default: none is kept.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=DEFAULT_TIMEOUT_S,
    show_default=True,
    help="Seconds that each run of a tool may take.",
)
@json_option
def command(
    folder: Path,
    device: str | None,
    seeds: int,
    clock: str | None,
    out: Path | None,
    timeout: float,
    as_json: bool,
) -> int:
    """Synthesize, place and route the output FOLDER of 'rlx emit', and report clock and cells.

    Exit status 3 if it does not fit the device or misses the clock.
    """
    clock_mhz = None if clock is None else _hertz(clock) / 1e6
    manifest = read_manifest(folder)
    chosen = builder.load(manifest.producer.target)
    with progress(enabled=not as_json) as show:
        result = chosen.build(
            folder,
            device=device,
            seeds=seeds,
            clock_mhz=clock_mhz,
            timeout_s=timeout,
            keep=out,
            progress=show,
        )
    report = result.as_json()
    if as_json:
        print_json(report)
    else:
        _print(report)
    return DoesNotFitError.exit_status if result.problems else 0


def _hertz(text: str) -> float:
    try:
        return parse_clock(text)
    except ValueError as e:
        raise UsageError(str(e), where="--clock", hint="write the unit, as in 100MHz") from None


def _print(report: Mapping[str, Any]) -> None:
    """Print resources, seeds, figures, problems and notes."""
    seeds = report.get("seeds", [])
    for title, rows in (("resources", report["resources"]), ("seeds", seeds)):
        _print_rows(f"{report['device']}: {title}", rows)
    for seed in seeds:
        if seed.get("longest"):
            path = ", ".join(f"{name} {value}" for name, value in seed["longest"].items())
            print(f"longest path of seed {seed['seed']}: {path}")
    for name, value in report.items():
        if isinstance(value, int | float | str) and name not in ("target", "device"):
            print(f"{name.replace('_', ' ')}: {value}")
    print("tools: " + ", ".join(f"{name} {version}" for name, version in report["tools"].items()))
    for title in ("notes", "problems"):
        for text in report[title]:
            print(f"{title.removesuffix('s')}: {text}")


def _print_rows(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the scalar columns of rows as a table, if there are rows."""
    if rows:
        columns = [name for name, value in rows[0].items() if not isinstance(value, dict)]
        print_table(title, columns, [[row[name] for name in columns] for row in rows])
