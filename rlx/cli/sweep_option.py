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


class _Found(NamedTuple):
    """Position of several values in raw arguments."""

    target: str
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
        wanted, _ = self._peek(ctx, args)
        found = list(_several(args, wanted.get("target")))
        if len(found) > 1:
            raise UsageError(
                "several options have several values", hint="compare over one of them at a time"
            )
        if found:
            one = found[0]
            ctx.meta[_VALUES] = one.text
            args = [*args[: one.start], *args[one.end :]]
            if "target" not in wanted:
                args += ["--target", one.target]
        return super().parse_args(ctx, args)

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


def swept_values() -> str | None:
    """Return the values that the target is to be compared over; None for a single estimate."""
    found: str | None = click.get_current_context().meta.get(_VALUES)
    return found


def _sweeps(target: str | None) -> Iterator[tuple[str, Sweep]]:
    """Yield name and comparison of each target, or of one."""
    for one in targets.load_all():
        sweep = one.sweep if target in (None, one.name) else None
        if sweep is not None:
            yield one.name, sweep


def _several(args: list[str], target: str | None) -> Iterator[_Found]:
    """Yield options with several values, or with a plural name."""
    found = [_found(args, place) for place, arg in enumerate(args) if arg.startswith("--")]
    # Where no option can be meant, no target is loaded.
    likely = [one for one in found if one.flag.endswith("s") or _WORDS.fullmatch(one.text)]
    for name, sweep in _sweeps(target) if likely else ():
        for one in likely:
            several = "," in one.text or one.text in sweep.groups
            if one.flag == f"--{sweep.option}s" or (one.flag == f"--{sweep.option}" and several):
                yield one._replace(target=name)


def _found(args: list[str], place: int) -> _Found:
    """Return the option at a place with its value."""
    flag, equals, text = args[place].partition("=")
    if equals:
        return _Found("", flag, text, place, place + 1)
    return _Found("", flag, "".join(args[place + 1 : place + 2]), place, place + 2)
