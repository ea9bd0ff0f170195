"""``rlx draw``: a picture of a model's graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlx.cli.common import json_option, keep_inputs, print_json
from rlx.cli.model_command import load_model, model_command
from rlx.support.errors import UsageError
from rlx.support.files.outputs import write_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Graph


@model_command(
    "draw",
    examples=("rlx draw digits.tflite -o digits.svg", "rlx draw digits.tflite -o digits.html"),
)
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write, .svg or .html.",
)
@json_option
def command(model: Path, out: Path, as_json: bool) -> None:
    """Draw MODEL: the graph as .svg, or a page with drawing, layers and weights as .html.

    The page needs no other file and no network.
    """
    keep_inputs(out, model)
    text_of = _writer(out)
    content = text_of(load_model(model).graph).encode()
    write_file(out, content)
    if as_json:
        print_json({"out": str(out), "bytes": len(content)})
    else:
        print(f"wrote {out}")


def _writer(out: Path) -> Callable[[Graph], str]:
    """Return the function that makes the text of a file, by the end of its name.

    Raises:
        UsageError: There is none for this end.
    """
    from rlx.reports.drawing import layout, to_svg
    from rlx.reports.drawing.page import graph_page

    writers: dict[str, Callable[[Graph], str]] = {
        ".svg": lambda graph: to_svg(layout(graph)),
        ".html": graph_page,
    }
    writer = writers.get(out.suffix.lower())
    if writer is None:
        raise UsageError(
            f"expected a file name that ends in .svg or .html, got {str(out)!r}",
            hint=f"write for example -o {out.with_suffix('.svg').name}",
        )
    return writer
