"""``rlx run``: run a model on the host."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from rlx.cli.common import json_option, load_vectors, print_json, progress
from rlx.cli.model_command import load_model, model_command
from rlx.cli.table import print_table, wide_option
from rlx.outputs import write_file

if TYPE_CHECKING:
    from rlx.golden import Golden
    from rlx.ir import Graph


@model_command("run")
@click.option(
    "--input",
    "vectors",
    type=click.Path(path_type=Path),
    help=".npz with an array for each input (or 'x'), or .npy. Default: random values.",
)
@click.option("--frames", type=click.IntRange(1), help="Frames to run. Default: all given.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the outputs as .npz.")
@wide_option
@json_option
def command(
    model: Path,
    vectors: Path | None,
    frames: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run MODEL on the host by the reference and show its outputs."""
    from rlx.reference import given_inputs, random_inputs, reference_outputs

    graph = load_model(model).graph
    with progress(enabled=not as_json) as show:
        show(f"running {model.name}")
        if vectors is None:
            inputs = random_inputs(graph, frames or 1)
            golden = reference_outputs(graph, inputs)
        else:
            names = [v.name for v in graph.inputs]
            golden = given_inputs(graph, load_vectors(vectors, names), frames)
    if out is not None:
        _write(out, graph, golden)
    summary = _summary(graph, golden)
    if as_json:
        print_json({"frames": golden.frames, "outputs": summary})
        return
    rows = [[s["name"], s["type"], s["minimum"], s["maximum"], s["argmax"]] for s in summary]
    print_table(f"{golden.frames} frames", ["output", "type", "min", "max", "argmax"], rows)
    if out is not None:
        print(f"wrote {out}")


def _summary(graph: Graph, golden: Golden) -> list[dict[str, Any]]:
    """Return what each output looks like; ``argmax`` is that of the first frames."""
    return [
        {
            "name": name,
            "type": str(value.type),
            "minimum": array.min().item(),
            "maximum": array.max().item(),
            "argmax": array.reshape(golden.frames, -1).argmax(axis=1)[:16].tolist(),
        }
        for name, value, array in zip(
            graph.output_names, graph.outputs, golden.outputs, strict=True
        )
    ]


def _write(path: Path, graph: Graph, golden: Golden) -> None:
    """Write the outputs by name, as ``numpy.savez`` does, but any name and no date."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in zip(graph.output_names, golden.outputs, strict=True):
            content = io.BytesIO()
            np.save(content, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue())
    write_file(path, stream.getvalue())
