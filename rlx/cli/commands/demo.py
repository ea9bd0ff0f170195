"""``rlx demo``: see it work, on a network that ships with rlx."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlx.cli.command import subcommand
from rlx.cli.common import json_option, print_json, print_table, progress
from rlx.cli.progress import progress_option
from rlx.cli.table import prose
from rlx.support.files.scratch import work_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.cli.demo import Demonstration, PlatformRow

EXIT_MISSING = 6

_SHADES = {True: " ░▒▓█", False: " .+%@"}
"""Shades from dark to bright, where the terminal has block characters and where not."""

_BAR_CHARS = 24
"""Characters of a bar at a probability of 1."""

NEXT = """\
next, the same step by step; a .tflite of your own works the same way:
  rlx examples copy digits
  rlx emit digits/digits.tflite --target cortexm -o out
  rlx verify out"""


@subcommand(
    "demo",
    examples=("rlx demo", "rlx demo --fpga -o demo"),
)
@click.option("--fpga", is_flag=True, help="SystemVerilog too, simulated: about a minute more.")
@click.option(
    "-o",
    "--keep",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep what is emitted in this new folder.",
)
@json_option
@progress_option
def command(folder: Path | None, *, fpga: bool, as_json: bool) -> int:
    """Compile a network that ships with rlx, run it, and compare every output bit.

    A small network that knows handwritten digits is emitted as C, built, and run on this machine
    and on an emulated Cortex-M4, as far as tools are installed, on 100 digits that it was not
    trained on. It takes a few seconds and needs neither root nor a network connection.

    Exit status 1 if any output differs or a tool fails; 6 if --fpga was asked for and something is
    not installed.
    """
    from rlx.cli.demo import demonstrate

    if fpga and not as_json:
        click.echo("with hardware simulation: about a minute", err=True)
    with _work_folder(folder) as folder_for_run, progress(enabled=not as_json) as show:
        demo = demonstrate(folder_for_run, fpga=fpga, progress=show)
    if as_json:
        print_json(_as_json(demo))
    else:
        _print(demo, folder)
    if not demo.passed:
        return 1
    return EXIT_MISSING if fpga and len(demo.missing) > 0 else 0


@contextmanager
def _work_folder(folder: Path | None) -> Iterator[Path]:
    """Yield ``folder``, or one that is removed at the end.

    That is inside the work folder, which is locked: ``emit`` locks the folder that it writes to.
    """
    if folder is not None:
        yield folder
        return
    with work_folder("demo") as work:
        yield work / "out"


def _as_json(demo: Demonstration) -> dict[str, Any]:
    """Return the rows and what is missing."""
    return {
        "network": demo.network,
        "label": demo.label,
        "scores": demo.scores,
        "passed": demo.passed,
        "platforms": [asdict(row) for row in demo.rows],
        "missing": [asdict(one) for one in demo.missing],
    }


def _print(demo: Demonstration, folder: Path | None) -> None:
    """Print the digit, the table, what is missing, and what to type next."""
    frames = demo.rows[0].frames
    print(f"An int8 network of {demo.macs:,} multiplications reads {frames} handwritten digits")
    print("that it was not trained on. The first one:\n")
    print("\n".join(_side_by_side(_digit_lines(demo), _answer_lines(demo))), end="\n\n")
    _print_table(demo.rows)
    for run in demo.missing:
        if run.failed:
            print(f"not run: {run.platform}: {run.reason}\n  try: {run.command}")
        else:
            prose(f"not run: {run.platform}: {run.reason}; {run.command}", fg="yellow")
    if folder:
        print(f"emitted: {folder}, each target's folder with a README.md")
    print(f"\n{NEXT}")


def _digit_lines(demo: Demonstration) -> list[str]:
    """Return the digit as lines of characters, two for a pixel so that it looks square."""
    blocks = (sys.stdout.encoding or "").lower().startswith("utf")
    shades = _SHADES[blocks]
    steps = (demo.picture.astype(int) + 128) * (len(shades) - 1) / 255
    return ["".join(shades[round(step)] * 2 for step in row) for row in steps]


def _answer_lines(demo: Demonstration) -> list[str]:
    """Return the network's three best answers as lines with bars."""
    best = sorted(range(len(demo.scores)), key=lambda i: -demo.scores[i])[:3]
    lines = [
        f"{i}  {demo.scores[i]:6.1%}  {'#' * round(demo.scores[i] * _BAR_CHARS)}".rstrip()
        for i in best
    ]
    verdict = "right" if best[0] == demo.label else f"wrong: it is a {demo.label}"
    return ["", "the network's answers:", "", *lines, "", verdict]


def _side_by_side(left: list[str], right: list[str]) -> Iterator[str]:
    """Yield the lines of two texts side by side."""
    width = max(map(len, left))
    for i in range(max(len(left), len(right))):
        one = left[i] if i < len(left) else ""
        other = right[i] if i < len(right) else ""
        yield f"  {one:{width}}    {other}".rstrip()


_FIGURES = {
    "instructions": "instructions",
    "interval": "cycles",
    "flash": "flash, B",
    "ram": "RAM, B",
}
"""Heading of each measured figure."""


def _print_table(rows: tuple[PlatformRow, ...]) -> None:
    """Print a row for each platform, with the figures that any of them has."""
    figures = [f for f in _FIGURES if any(f in (row.figures or {}) for row in rows)]
    columns = ["platform", "correct", "equal bits", *(_FIGURES[f] for f in figures)]
    cells = [
        [
            row.platform,
            _count_text(row.correct, row),
            _count_text(row.equal, row),
            *((row.figures or {}).get(f) for f in figures),
        ]
        for row in rows
    ]
    print_table("one network on every platform", columns, cells)
    for row in rows:
        if row.figures and "latency" in row.figures:
            interval, latency = row.figures["interval"], row.figures["latency"]
            prose(
                f"cycles: {interval:,} from one frame to the next, {latency:,} from the first input"
                " to the last output"
            )


def _count_text(count: int | None, row: PlatformRow) -> str | None:
    """Return a count beside the number of frames."""
    return None if count is None else f"{count} of {row.frames}"
