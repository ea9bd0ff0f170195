"""``rlx targets``: the installed targets and what they support."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, cast

import click

from rlx import targets
from rlx.cli.command import Command
from rlx.cli.common import json_option, print_json
from rlx.cli.completions import target_names
from rlx.cli.plugin_options import PluginOptions
from rlx.cli.table import print_table, sentences, wide_option
from rlx.support.errors import TargetNotFoundError

if TYPE_CHECKING:
    from rlx.targets import Target

_TARGET: Final = "rlx.targets"
"""Key of the target with its options in the context."""


class TargetsCommand(Command):
    """A command that also takes the options of the target that it is about."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find the target, and add its options before the arguments are read."""
        name = next((text for text in args if text in targets.names()), None)
        if name is not None:
            ctx.meta[_TARGET] = PluginOptions("target", targets.load(name))
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options and those of the target."""
        found: PluginOptions | None = ctx.meta.get(_TARGET)
        return [*super().get_params(ctx), *(found.params() if found else ())]

    def plugin_groups(self, ctx: click.Context) -> list[tuple[str, list[click.Parameter]]]:
        """Return the options of the target."""
        found: PluginOptions | None = ctx.meta.get(_TARGET)
        return [(f"Options of the target {found.plugin.name}", [*found.params()])] if found else []


@click.command(
    "targets",
    cls=TargetsCommand,
    examples=("rlx targets", "rlx targets fpga --architecture engine"),
)
@click.argument("name", required=False, shell_complete=target_names)
@wide_option
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the installed targets, or what target NAME supports: ops, values of its options.

    With options of the target, such as 'fpga --architecture engine', the ops that it supports with
    them.
    """
    if name is None:
        _list_all(as_json=as_json)
        return
    known: PluginOptions | None = click.get_current_context().meta.get(_TARGET)
    group = known or PluginOptions("target", targets.load(name))
    target = cast("Target", group.plugin)
    support, values = _support(target, group.build()), _values(target)
    if as_json:
        print_json(
            {"target": target.name, "summary": target.summary, "ops": support, "options": values}
        )
        return
    rows = [[op, reason is None, reason or ""] for op, reason in support.items()]
    columns = ["op", "supported", sentences("reason")]
    print_table(f"{target.name}: {target.summary}", columns, rows)
    for option, meanings in values.items():
        print()
        print_table(
            option,
            ["value", sentences("meaning")],
            list(meanings.items()),
        )


def _support(target: Target, options: object) -> dict[str, str | None]:
    """Return, for each integer op, None or the reason why the target refuses it."""
    from rlx.ops.q import Q_OPS

    return {op.name: target.reason(op, options) for op in Q_OPS}


def _values(target: Target) -> dict[str, dict[str, str]]:
    """Return the values and their meanings, for each option that declares them."""
    return {
        f"--{field.name.replace('_', '-')}": dict(field.metadata["values"])
        for field in dataclasses.fields(target.options)
        if "values" in field.metadata
    }


def _list_all(*, as_json: bool) -> None:
    summaries: dict[str, str] = {}
    for name in targets.names():
        try:
            summaries[name] = targets.load(name).summary
        except TargetNotFoundError as e:
            summaries[name] = f"not usable: {e.message} ({e.hint})"
    if as_json:
        print_json({"targets": summaries})
    else:
        print_table("Targets", ["name", sentences("emits")], list(summaries.items()))
