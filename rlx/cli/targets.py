"""``rlx targets``: the installed targets and what they support."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from rlx import target as targets
from rlx.cli.common import json_option, print_json
from rlx.cli.table import print_table, sentences, wide_option
from rlx.errors import TargetNotFoundError

if TYPE_CHECKING:
    from rlx.target import Target


@click.command(name="targets")
@click.argument("name", required=False)
@wide_option
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the installed targets, or what target NAME supports: ops, values of its options."""
    if name is None:
        _list_all(as_json=as_json)
        return
    chosen = targets.load(name)
    support, values = _support(chosen), _values(chosen)
    if as_json:
        print_json(
            {"target": chosen.name, "summary": chosen.summary, "ops": support, "options": values}
        )
        return
    rows = [[op, reason is None, reason or ""] for op, reason in support.items()]
    columns = ["op", "supported", sentences("reason")]
    print_table(f"{chosen.name}: {chosen.summary}", columns, rows)
    for option, meanings in values.items():
        print()
        print_table(
            option,
            ["value", sentences("meaning")],
            list(meanings.items()),
        )


def _support(target: Target) -> dict[str, str | None]:
    """Return, for each integer op, None or the reason why the target refuses it."""
    from rlx.ops.q import Q_OPS

    return {op.name: target.reason(op) for op in Q_OPS}


def _values(target: Target) -> dict[str, dict[str, str]]:
    """Return the values and their meanings, for each option that declares them."""
    return {
        f"--{field.name.replace('_', '-')}": dict(field.metadata["values"])
        for field in dataclasses.fields(target.options)
        if "values" in field.metadata
    }


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
        print_table("Targets", ["name", sentences("emits")], list(found.items()))
