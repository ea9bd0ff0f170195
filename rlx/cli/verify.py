"""``rlx verify``: run what was emitted and compare every output with the reference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlx.cli.common import json_option, print_json, print_table, progress
from rlx.verifier import TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Mapping


@click.command(name="verify")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--inputs", type=click.IntRange(1), help="Golden vectors to run. Default: all.")
@click.option(
    "--with",
    "tools",
    metavar="NAMES",
    help="Simulators, separated by commas. C: host, sanitize, qemu, unicorn (qemu:zig and so on"
    " names a compiler). FPGA: verilator, cocotb, testbench, testbench:icarus. Default: what is"
    " installed.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=TIMEOUT_S,
    show_default=True,
    help="Seconds that each step may take.",
)
@click.option(
    "--waves",
    type=click.Path(path_type=Path, dir_okay=False),
    help="FPGA: write a waveform of the first simulation to this file (.vcd or .fst).",
)
@click.option(
    "--no-cache",
    is_flag=True,
    help="Run again what passed before, even if neither folder nor tools have changed.",
)
@json_option
def command(
    folder: Path,
    inputs: int | None,
    tools: str | None,
    timeout: float,
    waves: Path | None,
    no_cache: bool,
    as_json: bool,
) -> int:
    """Run the output FOLDER of 'rlx emit' and compare every output with the reference.

    Exit status 1 if any output differs.
    """
    from rlx import api

    with progress(enabled=not as_json) as show:
        result = api.verify(
            folder,
            inputs=inputs,
            tools=tools.split(",") if tools else None,
            timeout_s=timeout,
            waves=waves,
            cache=not no_cache,
            progress=show,
        )
    report = result.as_json()
    if as_json:
        print_json(report)
    else:
        _print(report, passed=result.passed)
    return 0 if result.passed else 1


def _print(report: Mapping[str, Any], *, passed: bool) -> None:
    """Print the figures, the runs, the first mismatches and the verdict."""
    simple = {
        key.replace("_", " "): value
        for key, value in report.items()
        if isinstance(value, int | float | str) and key not in ("target", "inputs", "equal")
    }
    print_table(f"{report['target']}: figures", ["figure", "value"], list(simple.items()))
    runs = report.get("runs", [])
    if runs:
        columns = list(dict.fromkeys(k for run in runs for k in run if k != "tools"))
        rows = [[run.get(c) for c in columns] for run in runs]
        print_table("runs", columns, rows)
    for mismatch in report["mismatches"][:5]:
        print("differs: " + ", ".join(f"{k} {v}" for k, v in mismatch.items()))
    tools = ", ".join(f"{name} {version}" for name, version in report["tools"].items())
    print(f"tools: {tools}")
    for note in report.get("notes", []):
        print(f"note: {note}")
    verdict = "all equal" if passed else "NOT EQUAL"
    print(f"{verdict}: {report['equal']} of {report['inputs']} inputs give the reference's bits")
    if "cached" in report:
        print(f"(from the cache, ran {report['cached']}; --no-cache runs it again)")
