"""``rlx emit``: compile a model for a target into an output folder.

Tests: tests/cli/test_commands.py
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rlx.cli.common import json_option, policy_option, print_json, progress, typed
from rlx.cli.model_command import load_bound, model_command, selected_target, target_option
from rlx.cli.number import Number
from rlx.cli.progress import progress_option
from rlx.cli.samples import FILES, load, say, scaling_options
from rlx.cli.stages import check_dump_dir, observer, prints, stage_options
from rlx.cli.streams import complain
from rlx.cli.table import prose, show, wide_option
from rlx.support.config import current
from rlx.support.errors import OutputError
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Array, Graph
    from rlx.passes import Policies
    from rlx.reports.folder_diff import Emitted, FolderDiff
    from rlx.targets import Target

_MAX_LISTED_FILES: Final = 3
"""Names of files that a message shows."""


@model_command(
    "emit",
    examples=(
        "rlx emit digits.tflite --target cortexm -o out",
        "rlx emit digits.tflite --target fpga --device ecp5-25k -o hw",
    ),
)
@target_option
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="Folder to make.")
@click.option("--force", is_flag=True, help="Replace the folder if rlx made it.")
@click.option(
    "--vectors",
    type=click.Path(path_type=Path),
    help=f"Inputs to store as golden vectors: {FILES}; 'y' of an .npz holds outputs to compare"
    " with.  [default: random values]",
)
@click.option("--frames", type=Number(int, 1), help="Golden vectors to store.")
@scaling_options
@policy_option
@stage_options
@wide_option
@json_option
@progress_option
def command(
    model: Path,
    out: Path,
    force: bool,
    vectors: Path | None,
    frames: int | None,
    policies: Policies | None,
    as_json: bool,
) -> None:
    """Compile MODEL for a target into an output folder.

    The folder holds the sources, how to build them, and golden vectors; 'rlx verify' runs it.
    """
    from rlx.driver import driver

    target, options = selected_target()
    check_dump_dir(out)
    steps = driver.step_names(target)
    old = _old_folder(out) if force else None
    with (
        progress(enabled=not (as_json or prints() or current().debug)) as show,
        observer(steps, stream=sys.stderr, force=force) as observe,
    ):
        show(f"reading {model.name}")
        module = load_bound(model, [vectors])
        arrays = None if vectors is None else _vectors(vectors, module.graph)
        show(f"computing golden vectors, emitting for {target.name}")
        options = _labelled(options, model, module.graph)
        compiled = driver.compile(
            module,
            target,
            options=options,
            policies=policies,
            vectors=arrays,
            frames=frames,
            observe=observe,
        )
        digest = hashlib.sha256(model.read_bytes()).hexdigest()
        compiled.write(out, source_sha256=digest, force=force)
    if compiled.golden.repeats_outputs:
        complain(f"warning: all {compiled.golden.frames:,} vectors have the same outputs, so a"
                 " program that ignores its input would pass; give more varied ones")  # fmt: skip
    emission = compiled.emission
    difference = _difference(old, out)
    if as_json:
        changes = {} if difference is None else {"changes": difference.to_dict()}
        print_json({"target": target.name, "out": str(out), "report": emission.report, **changes})
        return
    print_report(target, options, emission.report)
    if difference is not None:
        prose(f"changed: {difference.summary or _unchanged_text(difference)}")
    if vectors is None:
        print(f"{compiled.golden.frames} random vectors; --vectors FILE for yours")
    print(f"wrote {counted(len(emission.files), 'file')} to {out}; next: rlx verify {typed(out)}")


def _old_folder(folder: Path) -> Emitted | None:
    """Return the description of a folder that may be replaced; None if there is none."""
    from rlx.reports.folder_diff import read_emitted

    try:
        return read_emitted(folder, check_files=False)
    except OutputError:
        return None


def _difference(before: Emitted | None, folder: Path) -> FolderDiff | None:
    """Return the differences from the folder that was replaced, if there was one."""
    from rlx.reports.folder_diff import folder_diff

    after = None if before is None else _old_folder(folder)
    return None if before is None or after is None else folder_diff(before, after)


def _unchanged_text(difference: FolderDiff) -> str:
    """Return text on the difference of a folder whose interface, figures and layers are alike."""
    if not difference:
        return "nothing"
    names = [*difference.files, *difference.contents]
    return f"only the contents of {', '.join(names[:_MAX_LISTED_FILES])}" + (
        f" and {len(names) - _MAX_LISTED_FILES} more files"
        if len(names) > _MAX_LISTED_FILES
        else ""
    )


def _labelled(options: Any, model: Path, graph: Graph) -> Any:  # noqa: ANN401 - the target's own
    """Return a target's options with the names of classes that a TFLite file has.

    Names that are not as many as the classes, or for a network of several outputs, are left out.
    """
    from rlx.frontends.tflite.metadata import labels_of

    if getattr(options, "labels", ()) is not None:  # the user gave some, or the target takes none
        return options
    labels = labels_of(model)
    if labels is None or len(graph.outputs) != 1:
        return options
    classes = graph.outputs[0].type.static_shape[-1:]
    if classes != (len(labels),):
        say([f"the {len(labels)} labels of {model.name} are not used: its output is not as long"])
        return options
    return replace(options, labels=labels)


def _vectors(path: Path, graph: Graph) -> Mapping[str, Array]:
    """Read the samples that become golden vectors."""
    from rlx.samples import vectors_for

    found, notes = vectors_for(graph, load([path], graph).arrays)
    say(notes)
    return found


def print_report(target: Target, options: Any, report: Mapping[str, Any]) -> None:  # noqa: ANN401
    """Print a target's report: layers, totals, and ports that differ from the model's."""
    show(target.view(report, options))
    for line in report.get("ports", ()):
        print(line)
