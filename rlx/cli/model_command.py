"""Commands that read a model: MODEL, its format and limits, and the options of plug-ins.

Tests: tests/cli/test_commands.py
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

from rlx import frontends, targets
from rlx.cli.command import Command
from rlx.cli.completions import target_names
from rlx.cli.number import Width
from rlx.cli.plugin_options import PluginOptions, check_distinct
from rlx.cli.samples import say
from rlx.frontends.open_shapes import DimensionSizes
from rlx.support.errors import FormatError, FrontendError, RlxError, UsageError
from rlx.support.files.missing import missing_file
from rlx.support.limits import DEFAULT_LIMITS, parse_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rlx.ir.module import GraphModule
    from rlx.targets import Target

_GROUPS = "rlx.support.plugins"
_LIMITS = "rlx.support.limits"


def model_command(
    name: str,
    *,
    examples: Sequence[str],
    cls: type[ModelCommand] | None = None,
    metavar: str = "MODEL",
) -> Callable[[Callable[..., Any]], click.Command]:
    """Turn a function into a command that reads ``model``.

    It gets the argument MODEL, ``--format``, ``--limit``, and the options that the model's format
    declares (``load_model`` uses them all); with an option ``--target``, those of the target too
    (``selected_target``).

    Args:
        name: Name of the command.
        examples: Command lines that the help shows.
        cls: Its class.
        metavar: Name of the argument in its help.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        for option in (_LIMIT, _format_option(metavar)):
            function = option(function)
        argument = click.argument("model", metavar=metavar, type=click.Path(path_type=Path))
        new = click.command(name, cls=cls or ModelCommand, examples=examples)
        return new(argument(function))

    return decorate


def target_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--target``, which ``selected_target`` reads, to a command."""
    option = click.option(
        "--target",
        required=True,
        metavar="NAME",
        expose_value=False,
        help="Target, see 'rlx targets'; --target NAME --help shows its options.",
        shell_complete=target_names,
    )
    return option(function)


def weight_bits_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--weight-bits``, for float networks, to a command that gets ``weight_bits``."""
    option = click.option(
        "--weight-bits",
        type=Width(["8", "4", "2"]),
        callback=lambda _ctx, _param, value: None if value is None else int(value),
        help="Bits of a weight of a float network, whose scales are assumed.  [default: 8]",
    )
    return option(function)


class ModelCommand(Command):
    """A command that also takes the options of its target and of its model's format."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find the target and the format, and add their options before the arguments are read."""
        groups: dict[str, PluginOptions] = {}
        ctx.meta[_GROUPS] = groups
        texts, _ = self._peek(ctx, args)
        if "target" in texts:
            groups["target"] = PluginOptions("target", targets.load(texts["target"]))
        texts, rest = self._peek(ctx, args)
        if rest:
            # Options of a format: what stands behind one of them may be its value, or MODEL.
            texts, _ = self._peek(ctx, args, _every_format())
        if plugin := _format_of(texts):
            groups["format"] = plugin
        check_distinct(super().get_params(ctx), groups.values())
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            _refuse_option_of_another_format(error.option_name, texts)
            if self._has_target:
                _refuse_option_of_another_target(error.option_name, texts.get("target"))
                self._refuse_option_of_absent_target(error.option_name, texts.get("target"))
            raise

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click declares it
        """Run the command; advice in its errors names the file in place of MODEL."""
        try:
            return super().invoke(ctx)
        except RlxError as error:
            model = ctx.params["model"]
            # Advice about data in the place of the model names another file as MODEL.
            if not (isinstance(error, FormatError) and error.where == model.name):
                error.hint = with_name(error.hint, model)
            raise

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options and those of its plug-ins."""
        groups: dict[str, PluginOptions] = ctx.meta.get(_GROUPS, {})
        params = [*super().get_params(ctx), *(p for g in groups.values() for p in g.params())]
        if not ctx.resilient_parsing or "target" in groups or not self._has_target:
            return params
        # A shell completes a line in which the target is not named yet.
        return [*params, *(p for one in targets.load_all() for p in _params_of(one))]

    @property
    def _has_target(self) -> bool:
        return any(param.name == "target" for param in self.params)

    def plugin_groups(self, ctx: click.Context) -> list[tuple[str, list[click.Parameter]]]:
        """Return the options of the target and of the model's format, without a model of each."""
        groups: dict[str, PluginOptions] = ctx.meta.get(_GROUPS, {})
        titled = []
        if target := groups.get("target"):
            titled.append((f"Options of the target {target.plugin.name}", [*target.params()]))
        formats = [groups["format"]] if "format" in groups else _every_format()
        titled += [(f"Options for models of the format {f.plugin.name}", [*f.params()])
                   for f in formats]  # fmt: skip
        return titled

    def _fields_of(self, option: str) -> list[str]:
        """Return the names of the fields that an option may set, as ``device`` of ``--device``."""
        name = option.removeprefix("--")
        return [name.replace("-", "_"), name.removeprefix("no-").replace("-", "_")]

    def _refuse_option_of_absent_target(self, option: str, target: str | None) -> None:
        """Raise if an unknown option belongs to a target whose packages are not installed."""
        from rlx.targets.absent import absent_targets

        for owner in absent_targets():
            if not any(owner.has_option(name) for name in self._fields_of(option)):
                continue
            if target is None:
                raise UsageError(f"{option} needs target {owner.name}", hint=owner.command)
            raise UsageError(
                f"{option} is an option of the target {owner.name}, which is not installed, but the"
                f" target is {target}",
                hint=f"leave {option} out, or {owner.command} and give --target {owner.name}",
            )

    def _peek(
        self, ctx: click.Context, args: list[str], more: Iterable[PluginOptions] = ()
    ) -> tuple[dict[str, str], list[str]]:
        """Return the texts in raw arguments, unchecked, and what no option and argument takes."""
        parser = self.make_parser(ctx)
        for param in [p for group in more for p in group.params()]:
            param.add_to_parser(parser, ctx)
        parser.ignore_unknown_options = True
        try:
            values, rest, _ = parser.parse_args(args=list(args))
        except click.UsageError:
            # The arguments are read again, with all options, which gives the message.
            return {}, []
        # What is not given is a mark of click's own.
        return {k: v for k, v in values.items() if isinstance(v, str)}, rest


def with_name(advice: str, model: Path) -> str:
    """Return advice with the model's file in place of MODEL in the commands of rlx that it names.

    ``MODEL.q.rlx`` becomes a file of the same name in the current folder.
    """
    if "rlx " not in advice:
        return advice
    made = shlex.quote(f"{model.stem}.q.rlx")
    named = re.sub(r"\bMODEL\.q\.rlx\b", lambda _: made, advice)
    return re.sub(r"\bMODEL\b(?!\.)", lambda _: shlex.quote(str(model)), named)


def _params_of(target: Target) -> Iterator[click.Parameter]:
    """Yield a command-line option for each option of a target."""
    return PluginOptions("target", target).params()


def _every_format() -> list[PluginOptions]:
    return [PluginOptions("format", f) for f in frontends.frontends()]


def _format_of(texts: dict[str, str]) -> PluginOptions | None:
    """Return the format of MODEL; None if there is no such file, or it is of no known format."""
    name, model = texts.get("format"), texts.get("model")
    if name is None and not (model and Path(model).exists()):
        return None
    try:
        return PluginOptions("format", frontends.find(Path(model or ""), name or "auto"))
    except (FrontendError, UsageError):
        if name is not None:
            raise
        return None


def _refuse_option_of_another_format(option: str, texts: dict[str, str]) -> None:
    """Raise if an unknown option belongs to another format than the model's."""
    owners = [g.plugin.name for g in _every_format() if option in g.flags]
    if not owners:
        return
    path = Path(texts.get("model") or "")
    _require_file(path)
    frontend = frontends.find(path, texts.get("format") or "auto")
    raise UsageError(
        f"{option} is an option of models of the format {' or '.join(owners)}, but the model's"
        f" format is {frontend.name}",
        hint=f"leave the option out, or name the file's format: --format {owners[0]}",
    )


def _refuse_option_of_another_target(option: str, target: str | None) -> None:
    """Raise if an unknown option belongs to a target, and ``--target`` names none or another."""
    groups = [PluginOptions("target", one) for one in targets.load_all()]
    owners = [group.plugin.name for group in groups if option in group.flags]
    if not owners:
        return
    listed = f"target {owners[0]}" if len(owners) == 1 else f"targets {', '.join(owners)}"
    if target is None:
        raise UsageError(
            f"{option} belongs to the {listed}", hint=f"add --target {' or '.join(owners)}"
        )
    other = _chip_option(option, target)
    advice = f"; {target} has {other} for a chip or board" if other else ""
    raise UsageError(
        f"{option} is an option of the {listed}, but the target is {target}",
        hint=f"leave {option} out, or give --target {' or '.join(owners)}{advice}",
    )


_CHIPS: Final = ("--device", "--part")
"""Options of targets that name a chip."""


def _chip_option(option: str, target: str) -> str | None:
    """Return the target's own option that names a chip, if ``option`` is another target's."""
    flags = PluginOptions("target", targets.load(target)).flags if option in _CHIPS else ()
    return next((one for one in _CHIPS if one in flags), None)


def _keep_limits(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> None:
    """Store the limits that the user raised."""
    del param
    if value:
        ctx.meta[_LIMITS] = parse_limits(value)


_LIMIT = click.option(
    "--limit",
    metavar="NAME=NUMBER",
    multiple=True,
    expose_value=False,
    callback=_keep_limits,
    help="Accept a larger model than by default, such as operations=4e12. May be repeated.",
)


def _format_option(model: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return ``--format``; ``model`` is the argument that it is for."""
    return click.option(
        "--format",
        metavar="NAME",
        expose_value=False,
        help=f"Format of {model}.  [default: by its first bytes, then by its name]",
    )


def selected_target() -> tuple[Target, Any]:
    """Return the target of ``--target`` and its options object."""
    group: PluginOptions = click.get_current_context().meta[_GROUPS]["target"]
    return cast("Target", group.plugin), group.build()


def selected_options() -> frozenset[str]:
    """Return the names of the target's options that the user gave."""
    group: PluginOptions = click.get_current_context().meta[_GROUPS]["target"]
    return frozenset(name for name, value in group.values.items() if value not in (None, ()))


def model_options() -> list[str]:
    """Return those of ``--format`` and ``--limit`` that the user typed."""
    ctx = click.get_current_context()
    typed = click.core.ParameterSource.COMMANDLINE
    return [f"--{n}" for n in ("format", "limit") if ctx.get_parameter_source(n) is typed]


def load_model(
    path: Path, *, other: bool = False, sizes: DimensionSizes | None = None
) -> GraphModule:
    """Return the model in ``path``, within the limits of ``--limit``.

    Args:
        path: The file.
        other: It is not MODEL but a further file: it has a format of its own, to which the options
            apply if it is MODEL's.
        sizes: Fixes dimensions that the file leaves open; None to keep them as symbols.
    """
    _require_file(path)
    meta = click.get_current_context().meta
    limits, plugin = meta.get(_LIMITS, DEFAULT_LIMITS), meta[_GROUPS].get("format")
    if plugin is None or (other and frontends.find(path).name != plugin.plugin.name):
        return frontends.load(path, limits=limits, sizes=sizes)
    return frontends.load(
        path, plugin.plugin.name, options=plugin.build(), limits=limits, sizes=sizes
    )


def load_bound(
    path: Path, samples: Iterable[Path | None] = (), *, other: bool = False
) -> GraphModule:
    """Return the model in ``path`` with numbers for all its dimensions.

    Those that the file leaves open are as large as in the samples; the batch is 1, which a line on
    standard error says where no samples come.

    Args:
        path: The file.
        samples: Files with samples.
        other: As for :func:`load_model`.
    """
    from rlx.samples import array_shapes

    shapes = [array_shapes(one) for one in samples if one is not None]
    sizes = DimensionSizes({name: shape for found in shapes for name, shape in found.items()})
    module = load_model(path, other=other, sizes=sizes)
    say(sizes.notes)
    return module


def _require_file(path: Path) -> None:
    """Check that a model's file is there."""
    if not path.exists():
        raise missing_file(path, "give the path of a model file")
