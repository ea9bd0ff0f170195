"""Options of commands that read samples, and the files that they name.

Tests: tests/cli/commands/test_quantize.py
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from rlx.support.errors import UsageError
from rlx.support.files.missing import missing_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from rlx.ir import Graph
    from rlx.samples import Loaded, Scaling
    from rlx.samples.given import Inputs

FILES = ".npz by input name (or 'x'), .npy, .csv, .png, .wav, or a folder of .png or .wav"
"""Files of samples, for the help of options."""

_KEY = "rlx.scaling"


def scaling_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--scale``, ``--mean`` and ``--std``, which ``load`` reads, to a command."""
    for name, text in (
        (
            "--std",
            "Then divide by this: one number, or one for each channel.",
        ),
        (
            "--mean",
            "Then subtract this: one number, or one for each channel: 0.4,0.5,0.6.",
        ),
        (
            "--scale",
            "Multiply pixels, or the samples of a sound, by this.  [default: 1/255, or to -1 to 1]",
        ),
    ):
        function = click.option(
            name,
            metavar="NUMBER" if name == "--scale" else "NUMBERS",
            expose_value=False,
            callback=_keep,
            help=text,
        )(function)
    return function


def _keep(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Store the numbers of an option."""
    if value is None:
        return
    flag = f"--{param.name}"
    try:
        first, slash, second = value.partition("/")
        fraction = param.name == "scale" and slash
        numbers = (
            (float(first) / float(second),)
            if fraction
            else tuple(float(part) for part in value.split(","))
        )
    except (ValueError, ZeroDivisionError):
        numbers = ()
    single = param.name == "scale" and len(numbers) != 1
    if not numbers or single or (param.name == "std" and 0 in numbers):
        expected = (
            "one number or a fraction" if param.name == "scale" else "numbers separated by commas"
        )
        raise UsageError(
            f"expected {expected}, got {value!r}",
            where=flag,
            hint="write 1/255 or 0.00392" if param.name == "scale" else "write 0.5 or 0.4,0.5,0.6",
        )
    ctx.meta.setdefault(_KEY, {})[param.name] = numbers


def scaling() -> Scaling:
    """Return the scaling of the options ``--scale``, ``--mean`` and ``--std``."""
    from rlx.samples import Scaling

    given = dict(click.get_current_context().meta.get(_KEY, {}))
    scale = given.pop("scale", (None,))[0]
    return Scaling(scale=scale, **given)


def load(paths: Sequence[Path], graph: Graph) -> Loaded:
    """Read the samples that the user named; say on standard error what was done to them."""
    from rlx.passes.transforms.bind import check_bound
    from rlx.samples import read

    check_bound(graph)
    for path in paths:
        if not path.exists():
            raise missing_file(path, "give a .npy, .npz, .csv, .png or .wav file")
    loaded = read(paths, graph.run_inputs, scaling())
    say(loaded.notes)
    return loaded


def data_of(path: Path, graph: Graph) -> Inputs:
    """Return samples for calibration and comparison; an array file stays on the disk."""
    from rlx.samples import is_array_file

    if not path.exists() or (is_array_file(path) and not scaling().given):
        return path
    return dict(load([path], graph).arrays)


def say(notes: Iterable[str]) -> None:
    """Print the changes made to samples, a line each on standard error."""
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
