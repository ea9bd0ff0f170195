"""Prints which simulations did not run for a missing tool, and how to install it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rlx.cli.table import prose

if TYPE_CHECKING:
    from rlx.targets.verifier import NotRun, Verification


def print_not_run(result: Verification) -> None:
    """Print what a verification did not run; in CI, how to make that an error."""
    missing: tuple[NotRun, ...] = getattr(result, "not_run", ())
    for one in missing:
        prose(f"not run: {one}", fg="yellow")
    if missing and os.environ.get("CI"):
        prose("note: CI is set; --require all makes a missing tool an error")
