"""Options with several values, as ``--devices all``: a comparison in place of one estimate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import click

from rlx import targets
from rlx.cli.model_command import ModelCommand
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.targets import Sweep

_VALUES = "rlx.driver.sweep"
_WORDS = re.compile(r"[a-z]+|[^,]*,.*")


class _SweptOption(NamedTuple):
    """Position of several values in raw arguments."""

    target: str
    option: str
    flag: str
    text: str
    start: int
    end: int


class SweepCommand(ModelCommand):
    """A command whose target may be compared over the values of one of its options.

    ``--device`` with several values or a group of them, or ``--devices`` with any, is taken out of
    the arguments; :func:`swept_values` returns it. The target need not be given then.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take several values out before the arguments are read."""
        texts, _ = self._peek(ctx, args)
        swept_options = list(_swept_options(args, texts.get("target")))
        if len(swept_options) > 1:
            in_order = sorted(swept_options, key=lambda swept: swept.start)
            flags = [swept.flag for swept in in_order]
            both = "both list" if len(flags) == 2 else "all list"
            raise UsageError(
                f"{', '.join(flags[:-1])} and {flags[-1]} {both} several values",
                hint="compare over one of them at a time",
            )
        if swept_options:
            swept = swept_options[0]
            ctx.meta[_VALUES] = (swept.option, swept.text)
            args = [*args[: swept.start], *args[swept.end :]]
            if "target" not in texts:
                args += ["--target", swept.target]
        return super().parse_args(ctx, args)

    def _fields_of(self, option: str) -> list[str]:
        """Return the names of the fields, also of a plural as ``--devices``."""
        fields = super()._fields_of(option)
        return [*fields, *(name.removesuffix("s") for name in fields)]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by which targets are compared."""
        rows = [
            (
                f"--{sweep.option}s {'|'.join(sweep.groups)}|NAME,...",
                f"Compare, with target {name}.",
            )
            for name, sweep in _sweeps(None)
        ]
        if rows:
            with formatter.section("Comparisons, which need no --target"):
                formatter.write_dl(rows)
        super().format_epilog(ctx, formatter)


def swept_values() -> tuple[str, str] | None:
    """Return the option that the target is to be compared over and its values.

    None for a single estimate.
    """
    found: tuple[str, str] | None = click.get_current_context().meta.get(_VALUES)
    return found


def _sweeps(target: str | None) -> Iterator[tuple[str, Sweep]]:
    """Yield name and comparisons of each target, or of one."""
    for one in targets.load_all():
        if target in (None, one.name):
            yield from ((one.name, sweep) for sweep in one.sweeps)


def _swept_options(args: list[str], target: str | None) -> Iterator[_SweptOption]:
    """Yield options with several values, or with a plural name."""
    options = [_option_at(args, place) for place, arg in enumerate(args) if arg.startswith("--")]
    # Where no option can be meant, no target is loaded.
    likely = [
        option for option in options if option.flag.endswith("s") or _WORDS.fullmatch(option.text)
    ]
    for name, sweep in _sweeps(target) if likely else ():
        for option in likely:
            several = "," in option.text or option.text in sweep.groups
            if option.flag == f"--{sweep.option}s" or (
                option.flag == f"--{sweep.option}" and several
            ):
                yield option._replace(target=name, option=sweep.option)


def _option_at(args: list[str], index: int) -> _SweptOption:
    """Return the option at a place with its value."""
    flag, equals, text = args[index].partition("=")
    if equals:
        return _SweptOption("", "", flag, text, index, index + 1)
    return _SweptOption("", "", flag, "".join(args[index + 1 : index + 2]), index, index + 2)
