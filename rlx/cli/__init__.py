"""Command line of rlx: one module for each command in ``commands``, imported at its use.

``schemas`` describe what commands print as JSON; ``explanations`` are the pages on error codes.

Level 9.
"""

from __future__ import annotations

import gc
import importlib
import sys
from pathlib import Path

import click

from rlx.cli import failures
from rlx.cli.quiet import QUIET
from rlx.cli.signals import raised
from rlx.cli.streams import abandon, checked
from rlx.support import spelling
from rlx.support.config import current
from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean
from rlx.support.version import __version__

GROUPS = {
    "First steps": {
        "demo": "Compile a network, run it, compare every bit: 10 seconds.",
        "examples": "List the examples that ship with rlx, or copy one.",
        "new": "Write a project that builds: firmware, cmake, zephyr or litex.",
        "doctor": "Show for which jobs the tools are installed, and how to add the others.",
        "explain": "Show cause and cure of an error code.",
        "completion": "Print the script that completes commands in bash, zsh or fish.",
    },
    "A model": {
        "inspect": "Show a model's graph, layer by layer.",
        "draw": "Draw it as .svg, or as a page with layers and weights.",
        "passes": "Show what each step of compilation changes in it.",
        "devices": "List the devices of this machine and their backends.",
        "host": "Show what it needs on this machine, and what is fused there.",
        "run": "Run a model on the host.",
        "bench": "Show how long a model takes on this machine.",
        "profile": "Show the time of each node on this machine.",
        "import": "Read a model file and store its graph as a .rlx file.",
        "quantize": "Turn a float model into an integer one; report what that lost.",
        "compare": "Show how far two models are apart, layer by layer.",
        "export": "Write an integer model as .tflite or .onnx.",
    },
    "A target": {
        "targets": "List targets, the ops that each supports and its devices.",
        "check": "Show what a target or backend does with each op of a model.",
        "estimate": "Show bytes, MACs and cycles or instructions without emitting.",
        "emit": "Compile a model for a target into an output folder.",
        "paths": "Show where the files are that CMake and make include.",
    },
    "Emitted folders": {
        "verify": "Run it and compare every output with the reference.",
        "diff": "Show what differs between two folders, or two models.",
        "build": "Synthesize, place and route it; report clock and cells.",
        "report": "Compare predicted with measured, as a page or a table.",
    },
}
"""Name and summary of each subcommand by the job that it is for, in the order of ``rlx --help``.

A new command needs a line here and a module of its name in ``commands``; see the page
``docs/how-to/add-a-command.md``.
"""

SUMMARIES = {name: text for commands in GROUPS.values() for name, text in commands.items()}
COMMANDS = tuple(SUMMARIES)
_MODULES = {"import": "import_model"}
"""Modules of commands whose name is a Python keyword."""

MEANT = {
    "benchmark": "rlx bench",
    "compile": "rlx emit",
    "convert": "rlx import",
    "generate": "rlx emit",
    "help": "rlx --help",
    "info": "rlx inspect",
    "lower": "rlx passes",
    "memory": "rlx host --memory",
    "optimize": "rlx passes",
    "plot": "rlx draw",
    "roofline": "rlx host --roofline measured",
    "show": "rlx inspect",
    "simulate": "rlx verify",
    "summary": "rlx inspect",
    "synth": "rlx build",
    "test": "rlx verify",
    "version": "rlx --version",
    "visualize": "rlx draw",
}
"""Names of commands that other programs have, and what does the same here."""

GARBAGE = (100_000, 50, 100)
"""Rare collections of reference cycles: graphs and designs live until a command ends."""


class LazyGroup(click.Group):
    """A group whose subcommands are modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all subcommands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one subcommand."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = _MODULES.get(cmd_name, cmd_name)
        command: click.Command = importlib.import_module(f"rlx.cli.commands.{module}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return a subcommand and its arguments.

        Raises:
            UsageError: There is none of that name.
        """
        name = args[0]
        if name in COMMANDS or name.startswith("-"):
            return super().resolve_command(ctx, args)
        if name in MEANT:
            hint = f"did you mean {MEANT[name]}?"
        elif Path(name).exists():
            hint = f"a command comes first, such as: rlx inspect {name}"
        else:
            hint = did_you_mean(name, COMMANDS, what="commands")
        raise UsageError(f"no command is called {name!r}", hint=hint)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands by job, without importing what they need."""
        del ctx
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rlx")
@click.option("--debug", is_flag=True, help="Show a traceback for every error.")
@click.option("-q", "--quiet", is_flag=True, help="Show no steps and times on standard error.")
@click.pass_context
def root(ctx: click.Context, debug: bool, quiet: bool) -> None:
    """Compile networks to C for a Cortex-M and to SystemVerilog for an FPGA, with equal bits.

    \b
    rlx demo                                    see it work
    rlx emit model.tflite --target cortexm -o out && rlx verify out
    """  # noqa: D301 - click reads \b
    del debug
    current()  # a mistake in the environment is better reported now than in the middle of a job
    ctx.meta[QUIET] = quiet


def main(argv: list[str] | None = None) -> int:
    """Run ``rlx`` and return its exit status.

    0 ok, 1 verification or simulation failed, 2 usage or output, 3 does not fit, 4 malformed model,
    5 unsupported model, 6 tool missing, 7 time limit, 70 internal error; 129, 130 and 143 ended by
    the signals HUP, INT and TERM, 141 the reader of the output is gone.
    """
    arguments = sys.argv[1:] if argv is None else argv
    gc.set_threshold(*GARBAGE)
    with spelling.typed():
        status = _run(arguments, at_end_of_program=argv is None)
    abandon()
    return status


def _run(arguments: list[str], *, at_end_of_program: bool) -> int:
    """Run a command; turn every error into a message and a status."""
    try:
        with (
            raised(at_end_of_program=at_end_of_program),
            checked(),
            failures.plain_warnings(),
        ):
            status = root.main(args=arguments or ["--help"], prog_name="rlx", standalone_mode=False)
    except failures.EXPECTED as e:
        return failures.report(e, arguments)
    return status if isinstance(status, int) else 0
