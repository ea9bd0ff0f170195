"""Command line of rlx: one module for each subcommand, imported only when it is used."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import traceback

import click

from rlx import __version__
from rlx.errors import RlxError

COMMANDS = ("build", "doctor", "emit", "estimate", "inspect", "run", "targets", "verify")

EXIT_INTERNAL = 70
GARBAGE = (100_000, 50, 100)
"""When the garbage collector looks for circles: graphs and designs live until a command ends."""

EXIT_INTERRUPTED = 130


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
        command: click.Command = importlib.import_module(f"rlx.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands without importing what they need."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, SUMMARIES[name]) for name in self.list_commands(ctx)])


SUMMARIES = {
    "build": "Synthesize, place and route what was emitted; report clock and cells.",
    "doctor": "Show which tools are there, and the command that adds each missing one.",
    "emit": "Compile a model for a target into an output folder.",
    "estimate": "Show bytes, MACs and cycles or instructions without emitting.",
    "inspect": "Show a model's graph, layer by layer, or compare two.",
    "run": "Run a model on the host.",
    "targets": "List targets, the ops that each supports and its devices.",
    "verify": "Run what was emitted and compare every output with the reference.",
}


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rlx")
@click.option("--debug", is_flag=True, help="Show a traceback for every error.")
def root(debug: bool) -> None:
    """Compile trained networks to C, SystemVerilog and a host program with equal results."""
    del debug


def main(argv: list[str] | None = None) -> int:
    """Run ``rlx`` and return its exit status.

    0 ok, 1 verification or simulation failed, 2 usage, 3 does not fit, 4 malformed model,
    5 unsupported model, 6 tool missing, 7 time limit, 70 internal error, 130 interrupted.
    """
    arguments = sys.argv[1:] if argv is None else argv
    gc.set_threshold(*GARBAGE)
    try:
        status = root.main(args=arguments, prog_name="rlx", standalone_mode=False)
    except RlxError as e:
        if "--debug" in arguments:
            traceback.print_exc()
        print(_error_text(e), file=sys.stderr)
        return e.exit_status
    except click.ClickException as e:
        e.show()
        return e.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("rlx: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away, as `rlx inspect ... | head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:
        traceback.print_exc()
        print("rlx: internal error: this is a bug of rlx, please report it", file=sys.stderr)
        return EXIT_INTERNAL
    return status if isinstance(status, int) else 0


def _error_text(error: RlxError) -> str:
    """Return the lines that tell a user what is wrong, where, and what to do."""
    place = f"{error.where}: " if error.where else ""
    lines = [f"error[{error.code}]: {place}{error.message}"]
    if error.hint:
        lines.append(f"  try: {error.hint}")
    return "\n".join(lines)
