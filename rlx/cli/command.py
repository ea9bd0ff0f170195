"""Base class of the subcommands: the form of their help, and the options that all of them have.

Tests: tests/cli/test_help.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from rlx.cli.quiet import quiet_option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_GENERAL: Final = (
    "--format", "--limit", "--wide", "--json", "--progress", "--quiet", "--debug", "--help",
)  # fmt: skip
"""Options that many commands have and few calls need; they are the end of each help."""

_DEBUG: Final = "debug"


def debug_option() -> click.Option:
    """Return ``--debug``; ``failures`` looks for it in the arguments."""
    return click.Option(
        [f"--{_DEBUG}"], is_flag=True, expose_value=False, help="Show a traceback for every error."
    )


class Command(click.Command):
    """A subcommand of rlx.

    Its help has examples, then the command's own options in the order of their declaration with
    those that are required first, those of plug-ins, and at the end those of most commands.

    Args:
        *args: As for :class:`click.Command`.
        examples: Command lines that the help shows.
        **settings: As for :class:`click.Command`.
    """

    def __init__(self, *args: Any, examples: Sequence[str] = (), **settings: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **settings)
        self.examples = tuple(examples)
        self.params += [quiet_option(), debug_option()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; an error names the command, which click leaves out of some."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description, and the examples."""
        super().format_help_text(ctx, formatter)
        examples = self._usable_examples()
        if not examples:
            return
        with formatter.section("Examples"):
            formatter.write("".join(f"{'':{formatter.current_indent}}{e}\n" for e in examples))

    def _usable_examples(self) -> list[str]:
        """Return the examples without those for a target whose packages are not installed."""
        from rlx import targets
        from rlx.targets.absent import absent_targets

        named = {word for example in self.examples for word in example.split()}
        if named.isdisjoint(targets.names()):
            return list(self.examples)
        absent = {target.name for target in absent_targets()}
        return [example for example in self.examples if absent.isdisjoint(example.split())]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in groups."""
        for title, params in self.option_groups(ctx):
            records = [p.get_help_record(ctx) for p in params]
            if shown := [record for record in records if record is not None]:
                with formatter.section(title):
                    formatter.write_dl(shown)

    def option_groups(self, ctx: click.Context) -> list[tuple[str, list[click.Parameter]]]:
        """Return titles of groups of options and their options, in the order of the help."""
        plugins = self.plugin_groups(ctx)
        elsewhere = {*_GENERAL, *(param.opts[-1] for _, params in plugins for param in params)}
        params = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        own_options = [param for param in params if param.opts[-1] not in elsewhere]
        general = {param.opts[-1]: param for param in params}
        return [
            ("Options", sorted(own_options, key=lambda param: not param.required)),
            *plugins,
            ("General options", [general[name] for name in _GENERAL if name in general]),
        ]

    def plugin_groups(self, ctx: click.Context) -> list[tuple[str, list[click.Parameter]]]:
        """Return titles and options of the plug-ins that extend the command; here none."""
        del ctx
        return []


class CommandGroup(Command, click.Group):
    """A subcommand with subcommands of its own."""

    command_class = Command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options and the subcommands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


def subcommand(name: str, *, examples: Sequence[str]) -> Callable[[Callable[..., Any]], Command]:
    """Turn a function into a subcommand; ``examples`` are shown in its help."""
    return click.command(name, cls=Command, examples=examples)
