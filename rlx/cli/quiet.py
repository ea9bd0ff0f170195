"""``rlx --quiet``: no steps and times on standard error."""

from __future__ import annotations

from typing import Final

import click

from rlx.support.config import current

QUIET: Final = "rlx.quiet"
"""Entry of the context's ``meta``."""


def is_quiet() -> bool:
    """Whether the user wants no steps."""
    ctx = click.get_current_context(silent=True)
    return current().quiet or (ctx is not None and bool(ctx.meta.get(QUIET)))
