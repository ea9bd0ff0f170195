"""``rlx targets``: what is installed and what it supports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rlx import target as targets
from rlx.cli.common import json_option, print_json, print_table
from rlx.errors import TargetNotFoundError

if TYPE_CHECKING:
    from rlx.target import Target


@click.command(name="targets")
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the installed targets, or the ops that target NAME supports."""
    if name is None:
        _list_all(as_json=as_json)
        return
    chosen = targets.load(name)
    support = _support(chosen)
    if as_json:
        print_json({"target": chosen.name, "summary": chosen.summary, "ops": support})
        return
    rows = [[op, reason is None, reason or ""] for op, reason in support.items()]
    print_table(f"{chosen.name}: {chosen.summary}", ["op", "supported", "why not"], rows)


def _support(target: Target) -> dict[str, str | None]:
    """Return, for each integer op, None or the reason why the target refuses it."""
    from rlx.ops.q import Q_OPS

    return {op.name: target.reason(op) for op in Q_OPS}


def _list_all(*, as_json: bool) -> None:
    found: dict[str, str] = {}
    for name in targets.names():
        try:
            found[name] = targets.load(name).summary
        except TargetNotFoundError as e:
            found[name] = f"not usable: {e.message} ({e.hint})"
    if as_json:
        print_json({"targets": found})
    else:
        print_table("targets", ["name", "what it makes"], list(found.items()))
