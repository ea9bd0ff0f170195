"""Options of commands that run a network on this machine: its device, backend and threads.

Tests: tests/cli/commands/test_bench.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rlx.cli.completions import backend_names, engine_names
from rlx.cli.number import Number
from rlx.support import plugins
from rlx.support.config import MAX_THREADS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.runtime import CompileOptions


class BackendOption(click.Option):
    """An option for a backend, whose help lists the names."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its text."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        return record[0], f"{record[1]}  Names: {', '.join(plugins.names('rlx.backends'))}."


def host_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--device``, ``--backend`` and ``--threads`` to a command that gets these arguments."""
    options = (
        click.option(
            "--device",
            metavar="NAME",
            default="cpu",
            help="Device to run on; see 'rlx devices'.  [default: cpu]",
        ),
        click.option(
            "--backend",
            metavar="NAME",
            cls=BackendOption,
            help="Backend that runs the model there; 'rlx devices' shows which can be used.",
            shell_complete=backend_names,
        ),
        click.option(
            "--threads",
            type=Number(int, 1, MAX_THREADS),
            help="Threads of the backend native; results do not depend on it.  [default: 1]",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def against_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--against`` to a command that measures a model."""
    option = click.option(
        "--against",
        metavar="ENGINE",
        help="Measure another engine too, in turns, and compare its outputs: a backend of 'rlx"
        " devices', or onnxruntime for an ONNX file.",
        shell_complete=engine_names,
    )
    return option(function)


def compile_options(backend: str | None, threads: int | None) -> CompileOptions:
    """Return the options of compilation of a command; None for the setting."""
    from rlx.runtime import CompileOptions

    return CompileOptions().changed(backend=backend, threads=threads)
