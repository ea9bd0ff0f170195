"""``rlx passes``: what each pass changes in a model's graph."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from rlx.cli.common import json_option, print_json
from rlx.cli.model_command import load_bound, load_model, model_command
from rlx.cli.stages import dump_dir, observer, prints, stage_options
from rlx.support.files.outputs import read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rlx.ir import Graph, GraphModule
    from rlx.passes import Observer, Step


@model_command(
    "passes",
    examples=(
        "rlx passes digits.tflite --pipeline default",
        "rlx passes digits.tflite --dump-dir stages",
    ),
)
@click.option(
    "--pipeline",
    metavar="NAME",
    help="Run only this pipeline.  [default: the steps of compilation for the host]",
)
@stage_options
@json_option
def command(model: Path, pipeline: str | None, as_json: bool) -> None:
    """Show what each step of compilation for the host changes in the graph of MODEL.

    With --print-ir-before or --print-ir-after graphs are printed in place of the changes; with
    --json as well, on standard error. 'rlx emit' has these options for targets.
    """
    from rlx.ir.inspect import inspect_pipeline

    steps, run = _host(model) if pipeline is None else _pipeline(model, pipeline)
    graphs: list[tuple[str, Graph]] = []
    with observer(steps, stream=sys.stderr if as_json else sys.stdout, force=True) as observe:

        def watch(step: Step, module: GraphModule) -> None:
            graphs.append((str(step), module.graph))
            observe(step, module)

        run(watch)
    changes, files = inspect_pipeline(graphs), _written()
    if as_json:
        print_json(changes.to_dict() | ({} if files is None else {"files": files}))
        return
    if not prints():
        print(changes)
    for file in files or ():
        print(f"wrote {file}")


def _host(model: Path) -> tuple[tuple[str, ...], Callable[[Observer], object]]:
    """Return the names of the steps of compilation for the host, and a function that runs them."""
    from rlx.runtime.lowering import STEPS
    from rlx.runtime.needs import lowered

    module = load_bound(model)
    return STEPS, lambda observe: lowered(module, observe=observe)


def _pipeline(model: Path, name: str) -> tuple[tuple[str, ...], Callable[[Observer], object]]:
    """Return the same for a pipeline.

    Raises:
        UsageError: There is none of that name.
    """
    from rlx.passes import Step
    from rlx.passes import pipeline as pipeline_of

    first, passes = Step("given"), pipeline_of(name)
    module = load_model(model)

    def run(observe: Observer) -> None:
        observe(first, module)
        passes.run(module, observe=observe)

    return (first.name, *passes.names), run


def _written() -> list[str] | None:
    """Return the files in the folder of ``--dump-dir``, in the order of the steps."""
    folder = dump_dir()
    return None if folder is None else [str(folder / name) for name in read_manifest(folder).files]
