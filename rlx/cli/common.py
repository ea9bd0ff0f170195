"""Helpers that subcommands share: policies, JSON; tables and progress have their own modules.

Tests: tests/cli/test_commands.py
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import click

from rlx.cli.progress import progress as progress
from rlx.cli.progress import progress_bar as progress_bar
from rlx.cli.table import print_table as print_table
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rlx.passes import Policies

policy_option = click.option(
    "--policy",
    "policies",
    metavar="[OP=]POLICY",
    multiple=True,
    callback=lambda _ctx, _param, value: _policies(value),
    help="For every op or for one kind: prefer-native (keep ops the target has; the default),"
    " common (always decompose) or native (never decompose)."
    " May be repeated.",
)


def _policies(texts: tuple[str, ...]) -> Policies | None:
    """Return the policies that the user typed; None without any."""
    if not texts:
        return None
    import rlx.ops  # noqa: F401 - policies name ops
    from rlx.passes import Policies

    return Policies.parse(texts)


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


executor_option = click.option(
    "--executor",
    metavar="N|ADDRESS",
    help="Run parts of the work in N processes, or on the cluster of dask.distributed at an"
    " address such as dask:tcp://host:8786. Results do not depend on it.  [default: this process]",
)


def keep_inputs(out: Path | None, *inputs: Path | None) -> None:
    """Refuse a file to write that the command reads: it would be lost.

    Raises:
        UsageError: Both are one file, by whatever path.
    """
    if out is None or not out.exists():
        return
    for path in inputs:
        if path is not None and path.exists() and out.samefile(path):
            raise UsageError(
                f"{str(out)!r} is read by this command, and would be replaced",
                hint="name another file to write",
            )


def typed(path: Path) -> str:
    """Return a path as it is typed in a shell."""
    return shlex.quote(str(path))


def print_json(data: Mapping[str, Any]) -> None:
    """Print one JSON object with sorted keys."""
    print(json.dumps(data, indent=2, sort_keys=True))
