"""Options that show the graph between a model and what is made of it."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

from rlx.support.config import override
from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rlx.passes import Observer
    from rlx.runtime.dump import Reader

_META: Final = "rlx.stages"


def _store_option(ctx: click.Context, param: click.Parameter, value: object) -> None:
    if value:
        ctx.meta.setdefault(_META, {})[param.name] = value


def _verify_each(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    if value:
        ctx.with_resource(override(verify_each=True))


_OPTIONS: Final = (
    click.option(
        "--verify-each",
        is_flag=True,
        expose_value=False,
        callback=_verify_each,
        help="Verify the graph after each application of each pass.",
    ),
    *(
        click.option(
            f"--print-ir-{when}",
            metavar="NAME",
            multiple=True,
            expose_value=False,
            callback=_store_option,
            help=f"Print the graph {when} a step, or all, where it changes it. May be repeated.",
        )
        for when in ("after", "before")
    ),
    click.option(
        "--dump-dir",
        metavar="FOLDER",
        type=click.Path(path_type=Path),
        expose_value=False,
        callback=_store_option,
        help="Write the graph after every step that changes it to files of this folder.",
    ),
)


def stage_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--dump-dir``, ``--print-ir-before``, ``--print-ir-after`` and ``--verify-each``.

    A command does what they ask for with :func:`observer`.
    """
    for option in _OPTIONS:
        function = option(function)
    return function


def dump_dir() -> Path | None:
    """Return the folder of ``--dump-dir``."""
    found: Path | None = _option_values().get("dump_dir")
    return found


def prints() -> bool:
    """Whether graphs are to be printed."""
    return bool(_option_values().keys() & {"print_ir_before", "print_ir_after"})


def check_dump_dir(out: Path) -> None:
    """Refuse a folder of ``--dump-dir`` that is the output folder, lies in it, or holds it.

    Raises:
        UsageError: One of the two could not be written.
    """
    folder = dump_dir()
    if folder is None:
        return
    stages, output = folder.resolve(), out.resolve()
    if stages in (output, *output.parents) or output in stages.parents:
        raise UsageError(
            "--dump-dir and --out are one folder, or one is in the other",
            hint="name two separate folders",
        )


@contextmanager
def observer(steps: Sequence[str], *, stream: TextIO, force: bool = False) -> Iterator[Observer]:
    """Yield an observer that does what the options ask for; files are written at the end.

    Args:
        steps: Names of the steps that there may be.
        stream: Stream on which graphs are printed.
        force: Whether a folder that rlx made is replaced.

    Raises:
        UsageError: No step has such a name.
        OutputError: The folder cannot be written.
    """
    from rlx.runtime.dump import ALL, ChangedSteps, StageDump, printer

    before, after = (_option_values().get(f"print_ir_{when}", ()) for when in ("before", "after"))
    for name in (*before, *after):
        if name not in (ALL, *steps):
            hint = did_you_mean(name, [ALL, *steps], what="steps")
            raise UsageError(f"no step is called {name!r}", hint=hint)
    readers: list[Reader] = [printer(before, after, stream)]
    with ExitStack() as stack:
        if (folder := dump_dir()) is not None:
            readers.append(stack.enter_context(StageDump(folder, force=force)).add)
        yield ChangedSteps(*readers)


def _option_values() -> dict[str, Any]:
    """Return the values of the options that were given, by name."""
    given: dict[str, Any] = click.get_current_context().meta.get(_META, {})
    return given
