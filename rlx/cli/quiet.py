"""``rlx --quiet``: no steps and times on standard error.

Tests: tests/cli/test_progress.py
"""

from __future__ import annotations

from typing import Final

import click

from rlx.support.config import current

QUIET: Final = "rlx.quiet"
"""Entry of the context's ``meta``."""


def add_quiet(command: click.Command) -> None:
    """Let a subcommand accept ``-q`` too; its help does not list it, as that of ``rlx`` does."""
    if any("-q" in param.opts for param in command.params):
        return
    command.params.append(
        click.Option(
            ["-q", "--quiet"], is_flag=True, hidden=True, expose_value=False, callback=_set_quiet
        )
    )


def _set_quiet(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    if value:
        ctx.meta[QUIET] = True


def is_quiet() -> bool:
    """Whether the user wants no steps."""
    ctx = click.get_current_context(silent=True)
    return current().quiet or (ctx is not None and bool(ctx.meta.get(QUIET)))
