"""``rlx verify``: run what was emitted and compare every output with the reference.

Tests: tests/cli/test_require.py
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlx.cli.command import subcommand
from rlx.cli.common import executor_option, json_option, print_json, progress
from rlx.cli.completions import simulators
from rlx.cli.not_run import print_not_run
from rlx.cli.number import Number
from rlx.cli.progress import progress_option
from rlx.cli.table import prose, show, wide_option
from rlx.driver.verification.mismatches import mismatch_lines
from rlx.support.errors import UsageError
from rlx.support.files.outputs import read_manifest
from rlx.targets.verifier import DEFAULT_TIMEOUT_S, view_of

if TYPE_CHECKING:
    from rlx.targets.verifier import Verification


@subcommand(
    "verify",
    examples=("rlx verify out", "rlx verify out --with host --frames 4"),
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--frames", type=Number(int, 1), help="Golden vectors to run.  [default: all]")
@click.option(
    "--with",
    "tools",
    metavar="NAMES",
    shell_complete=simulators,
    help="Simulators, separated by commas. C: host, sanitize, qemu, unicorn (qemu:zig and so on"
    " names a compiler). FPGA: verilator, cocotb, testbench, testbench:icarus, netlist."
    "  [default: what is installed]",
)
@click.option(
    "--require",
    metavar="NAME",
    multiple=True,
    help="Simulator that must run, or 'all' for each that runs by default; it is an error if its"
    " tool is missing. For CI; may be repeated.",
)
@click.option(
    "--netlist",
    is_flag=True,
    help="FPGA: map the design to its device too, and simulate the netlist.",
)
@click.option(
    "--bound",
    is_flag=True,
    help="C: also derive, from the machine code, the instructions that no input exceeds.",
)
@click.option(
    "--cycles",
    is_flag=True,
    help="C: also model the cycles of each layer, from a traced run and the core's timings.",
)
@click.option(
    "--part",
    metavar="NAME",
    help="Model cycles with flash and clock of this microcontroller or board."
    "  [default: that of the folder]",
)
@click.option(
    "--clock",
    metavar="CLOCK",
    help="Model cycles, and milliseconds at this clock, as 64MHz."
    "  [default: that of the folder, or the maximum of --part]",
)
@click.option(
    "--flash-wait",
    metavar="STATES",
    help="Model cycles with these wait states of the flash: 4, or 4:64 for reads of 64 bits."
    "  [default: those of the part, else 0]",
)
@click.option(
    "--timeout",
    type=Number(float, 1),
    metavar="SECONDS",
    default=DEFAULT_TIMEOUT_S,
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
@click.option(
    "--budget",
    type=click.Path(path_type=Path),
    help="Budget file, as rlx.toml; exit status 3 if a limit is exceeded.",
)
@click.option(
    "--build",
    type=click.Path(path_type=Path),
    help="With --budget: folder of 'rlx build -o', for cells and clock as built, not as estimated.",
)
@click.option(
    "--junit",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File for the results as JUnit XML: a test for each simulation and each limit.",
)
@executor_option
@wide_option
@json_option
@progress_option
def command(
    folder: Path,
    frames: int | None,
    tools: str | None,
    require: tuple[str, ...],
    netlist: bool,
    bound: bool,
    cycles: bool,
    part: str | None,
    clock: str | None,
    flash_wait: str | None,
    timeout: float,
    waves: Path | None,
    no_cache: bool,
    budget: Path | None,
    build: Path | None,
    junit: Path | None,
    executor: str | None,
    as_json: bool,
) -> int:
    """Run the output FOLDER of 'rlx emit' and compare every output with the reference.

    Simulators that are not installed are skipped, and listed; --require makes that an error.

    Exit status 1 if any output differs, 3 if a budget limit is exceeded, 6 if a tool that
    was named or is required is missing, or if nothing can run.
    """
    from rlx import api
    from rlx.cli.bounds import derived_bounds, show_bounds
    from rlx.cli.check_results import Checks
    from rlx.cli.cycles import modelled_figures, show_modelled, with_figures
    from rlx.driver.verification import budget as budgets

    checks = Checks(folder, budget, build, junit)
    with checks.prepared(), progress(enabled=not as_json, minimum_s=0.0) as show:
        memory = {"part": part, "clock": clock, "flash_wait": flash_wait}
        modelled = {}
        if cycles or any(value is not None for value in memory.values()):
            # Before the simulations: what does not fit is refused at once.
            modelled = modelled_figures(folder, **memory, timeout_s=timeout, progress=show)
        result = api.verify(
            folder,
            frames=frames,
            tools=_simulators(folder, tools, netlist=netlist),
            require=require,
            timeout_s=timeout,
            waves=waves,
            cache=not no_cache,
            executor=executor,
            progress=show,
        )
        bounds = derived_bounds(folder, progress=show) if bound else {}
    result = with_figures(result, modelled)
    checks.add(result)
    if as_json:
        rows = {} if budget is None else {"budget": budgets.as_json(checks.rows)}
        print_json({**result.as_json(), **bounds, **rows})
    else:
        _print(result, folder)
        show_bounds(bounds)
        show_modelled(modelled)
        checks.show()
    return checks.status(result)


def _simulators(folder: Path, names: str | None, *, netlist: bool) -> list[str] | None:
    """Return the simulators that were asked for; None for the default ones."""
    simulators = names.split(",") if names else None
    if not netlist:
        return simulators
    if read_manifest(folder, check_files=False).producer.target != "fpga":
        raise UsageError(
            "only FPGA folders have a netlist, this one holds C",
            where="--netlist",
            hint="leave --netlist out",
        )
    return [*(simulators or ("verilator", "cocotb")), "netlist"]


def _print(result: Verification, folder: Path) -> None:
    """Print runs and figures, the differences of each simulator and the verdict."""
    report = result.as_json()
    show(view_of(result))
    print()
    for line in mismatch_lines(report["mismatches"]):
        prose(line)
    if report["mismatches"]:
        prose(f"rlx verify {shlex.quote(str(folder))} --json lists the first of each frame")
    prose("tools: " + ", ".join(f"{name} {version}" for name, version in report["tools"].items()))
    for note in report.get("notes", []):
        prose(f"note: {note}")
    print_not_run(result)
    verdict = "all equal" if result.passed else "NOT EQUAL"
    prose(
        f"{verdict}: {report['equal']} of {report['inputs']} frames give the reference's bits",
        fg="green" if result.passed else "red",
        bold=True,
    )
    if "cached" in report:
        prose(f"(from the cache, ran {report['cached']}; --no-cache runs it again)")
