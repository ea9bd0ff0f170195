"""Command-line options that come from the options classes of targets and model formats.

Tests: tests/docs/test_options.py
"""

from __future__ import annotations

import dataclasses
import types
import typing
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import click

from rlx.cli.completions import completer_of
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_MAX_CHOICES_IN_METAVAR: Final = 6
"""Choices that the help shows beside the option; the text of one with more has to list them."""


class OptionSource(Protocol):
    """A source of options: a target or a frontend."""

    @property
    def name(self) -> str:
        """Name on the command line."""

    @property
    def options(self) -> type[Any]:
        """Frozen dataclass; each field's metadata has ``help`` text."""


@dataclasses.dataclass(frozen=True, slots=True)
class PluginOptions:
    """A plug-in, and what the user gave for its options.

    Attributes:
        kind: Kind of the plug-in, ``target`` or ``format``.
        plugin: The plug-in.
        values: Values that the user typed, by the name of a field; None is not given.
    """

    kind: str
    plugin: OptionSource
    values: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def label(self) -> str:
        """The plug-in for messages, as ``target 'fpga'``."""
        return f"{self.kind} {self.plugin.name!r}"

    @property
    def flags(self) -> list[str]:
        """The options as they are typed, as ``--clock``."""
        return [flag for p in self.params() for flag in (*p.opts, *p.secondary_opts)]

    def params(self) -> Iterator[click.Parameter]:
        """Yield a command-line option for each field; its text is stored in ``values``."""
        hints = typing.get_type_hints(self.plugin.options)
        for field in dataclasses.fields(self.plugin.options):
            names, settings = _settings(field, _plain_type(hints[field.name]))
            yield click.Option(
                [*names, f"{self.kind}_{field.name}"],
                default=None,
                help=field.metadata.get("help", ""),
                expose_value=False,
                callback=partial(self._keep, field.name),
                **settings,
            )

    def _keep(self, name: str, ctx: click.Context, param: click.Parameter, value: object) -> None:
        del ctx, param
        self.values[name] = value

    def build(self) -> Any:  # noqa: ANN401 - the plug-in's own class
        """Return the plug-in's options object."""
        chosen = {}
        for field in dataclasses.fields(self.plugin.options):
            value = self.values.get(field.name)
            if value is not None and value != ():
                chosen[field.name] = _parsed(field, value)
        return self.plugin.options(**chosen)


def check_distinct(params: Iterable[click.Parameter], groups: Iterable[PluginOptions]) -> None:
    """Refuse a plug-in whose option has the name of another one of the same command.

    Raises:
        UsageError: Two options have one name.
    """
    owners = {flag: "the command" for param in params for flag in param.opts}
    for group in groups:
        for flag in group.flags:
            if flag in owners:
                raise UsageError(
                    f"{owners[flag]} and {group.label} both have an option {flag}",
                    hint="load the model in Python, rlx.load(path, options=...), save it with"
                    " rlx.save, and give the command the .rlx file",
                )
            owners[flag] = group.label


def _settings(
    field: dataclasses.Field[Any],
    kind: Any,  # noqa: ANN401 - a type
) -> tuple[list[str], dict[str, Any]]:
    """Return the names and the type of the command-line option for one field."""
    flag = "--" + field.name.replace("_", "-")
    if kind is bool:
        return [f"{flag}/--no-{flag[2:]}"], {}
    if "choices" in field.metadata:
        choices = click.Choice(field.metadata["choices"])
        listed = len(choices.choices) <= _MAX_CHOICES_IN_METAVAR
        return [flag], {"type": choices, "metavar": None if listed else "NAME"}
    plain = int if kind is int and "parse" not in field.metadata else str
    values = field.metadata.get("values")
    return [flag], {
        "type": plain,
        "metavar": field.metadata.get("metavar"),
        "multiple": bool(field.metadata.get("multiple")),
        "shell_complete": None if values is None else completer_of(values),
    }


def _plain_type(hint: Any) -> Any:  # noqa: ANN401 - a type expression
    """Return T for ``T | None``, else the type itself."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        inner = [a for a in typing.get_args(hint) if a is not type(None)]
        return inner[0] if len(inner) == 1 else str
    return hint


def _parsed(field: dataclasses.Field[Any], value: Any) -> Any:  # noqa: ANN401 - any field
    """Return the field's value from text, by the parser that its metadata names."""
    parse = field.metadata.get("parse")
    if isinstance(value, tuple):
        value = ",".join(value)
    if parse is None or not isinstance(value, str):
        return value
    try:
        return parse(value)
    except ValueError as e:
        flag = f"--{field.name.replace('_', '-')}"
        # Parsers end with what to write instead.
        message, _, example = str(e).partition(": write ")
        purpose = field.metadata.get("help", "").partition("  [")[0]
        what = f"{flag} {field.metadata.get('metavar', 'VALUE')}: {purpose}"
        raise UsageError(message, where=flag, hint=f"write {example}" if example else what) from e
