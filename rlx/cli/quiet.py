"""``rlx --quiet``: no steps and times on standard error.

Tests: tests/cli/test_progress.py
"""

from __future__ import annotations

from typing import Final

import click

from rlx.support.config import current

QUIET: Final = "rlx.quiet"
"""Entry of the context's ``meta``."""


def quiet_option() -> click.Option:
    """Return ``-q`` for a subcommand; ``rlx`` has it too, for every one."""
    return click.Option(
        ["-q", "--quiet"],
        is_flag=True,
        expose_value=False,
        callback=_set_quiet,
        help="Show no steps and times on standard error.",
    )


def _set_quiet(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    if value:
        ctx.meta[QUIET] = True


def is_quiet() -> bool:
    """Whether the user wants no steps."""
    ctx = click.get_current_context(silent=True)
    return current().quiet or (ctx is not None and bool(ctx.meta.get(QUIET)))
