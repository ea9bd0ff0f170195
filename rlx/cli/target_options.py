"""Command-line options that come from a target's options class."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import TYPE_CHECKING, Any

import click

from rlx import target as targets
from rlx.errors import UsageError

if TYPE_CHECKING:
    from rlx.target import Target


class TargetCommand(click.Command):
    """A command with ``--target NAME`` that also takes the options of that target."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Add the named target's options before the arguments are read."""
        name = _target_name(args)
        if name is not None:
            ctx.meta["rlx.target"] = targets.load(name)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options and those of the target."""
        params = super().get_params(ctx)
        found: Target | None = ctx.meta.get("rlx.target")
        return params if found is None else [*params, *_options(found)]


def _target_name(args: list[str]) -> str | None:
    """Return the value of ``--target`` in raw arguments."""
    for i, arg in enumerate(args):
        if arg == "--target" and i + 1 < len(args):
            return args[i + 1]
        if arg.startswith("--target="):
            return arg.partition("=")[2]
    return None


def build_options(target: Target, given: dict[str, Any]) -> Any:  # noqa: ANN401 - own class
    """Return the target's options object from what the user typed (None means not given)."""
    chosen = {}
    for field in dataclasses.fields(target.options):
        value = given.get(field.name)
        if value is not None and value != ():
            chosen[field.name] = _parsed(field, value)
    return target.options(**chosen)


def _options(target: Target) -> list[click.Parameter]:
    return [_option(f, target.options) for f in dataclasses.fields(target.options)]


def _option(field: dataclasses.Field[Any], owner: type[Any]) -> click.Option:
    """Return the command-line option for one field."""
    flag = "--" + field.name.replace("_", "-")
    text = field.metadata.get("help", "")
    kind = _plain_type(typing.get_type_hints(owner)[field.name])
    if kind is bool:
        return click.Option([f"{flag}/--no-{flag[2:]}", field.name], default=None, help=text)
    if "choices" in field.metadata:
        choice = click.Choice(field.metadata["choices"])
        return click.Option([flag, field.name], type=choice, default=None, help=text)
    return click.Option(
        [flag, field.name],
        type=int if kind is int and "parse" not in field.metadata else str,
        metavar=field.metadata.get("metavar"),
        default=None,
        help=text,
    )


def _plain_type(hint: Any) -> Any:  # noqa: ANN401 - a type expression
    """Return T for ``T | None``, else the type itself."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        inner = [a for a in typing.get_args(hint) if a is not type(None)]
        return inner[0] if len(inner) == 1 else str
    return hint


def _parsed(field: dataclasses.Field[Any], value: Any) -> Any:  # noqa: ANN401 - any field
    """Return the field's value from text, by the parser that its metadata names."""
    parse = field.metadata.get("parse")
    if parse is None or not isinstance(value, str):
        return value
    try:
        return parse(value)
    except ValueError as e:
        raise UsageError(str(e), where=f"--{field.name.replace('_', '-')}") from e
