"""``rlx run``: run a model on the host."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from rlx.cli.common import json_option, keep_inputs, print_json, progress
from rlx.cli.host_options import compile_options, host_options
from rlx.cli.model_command import load_bound, model_command
from rlx.cli.number import Number
from rlx.cli.progress import progress_option
from rlx.cli.run_output import print_result, summary
from rlx.cli.samples import FILES, load, say, scaling_options
from rlx.cli.table import wide_option
from rlx.support.errors import QuantizationError, UsageError
from rlx.support.files.outputs import write_file
from rlx.support.text.names import printable
from rlx.support.text.suggest import closest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Array, Graph
    from rlx.metrics.inference import Output, Result


@model_command(
    "run",
    examples=(
        "rlx run digits.tflite --input samples.npz",
        "rlx run digits.tflite --frames 4 -o outputs.npz",
        "rlx run digits.tflite --input samples.npz --backend native --batch 8",
    ),
)
@click.option(
    "--input",
    "paths",
    type=click.Path(path_type=Path),
    multiple=True,
    help=f"{FILES}; may be repeated.  [default: random values]",
)
@click.option("--frames", type=Number(int, 1), help="Samples to run.  [default: all given]")
@click.option("--labels", type=click.Path(path_type=Path), help="Names of the classes, one a line.")
@click.option(
    "--expect",
    type=click.Path(path_type=Path),
    help="Class of each sample, .npy, .npz or .csv, for accuracy and confusion.  [default: those in"
    " --input]",
)
@click.option(
    "--weights",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Values of the graph's parameters by name: .safetensors, its .index.json, .npz, .gguf or"
    " .onnx; may be repeated.",
)
@scaling_options
@host_options
@click.option(
    "--batch",
    type=Number(int, 1),
    help="Samples to run together at most.  [default: by the memory that they take]",
)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the outputs as .npz.")
@wide_option
@json_option
@progress_option
def command(
    model: Path,
    *,
    paths: tuple[Path, ...],
    frames: int | None,
    labels: Path | None,
    expect: Path | None,
    weights: tuple[Path, ...],
    device: str,
    backend: str | None,
    threads: int | None,
    batch: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run MODEL on the host and show its outputs: integers are those of the reference.

    Floats for a quantized input are quantized by its scale.
    """
    from rlx.metrics.inference import run
    from rlx.runtime import Session
    from rlx.samples import read_classes, read_names

    graph = _with_weights(load_bound(model, paths).graph, weights)
    session = Session(device, compile_options(backend, threads))
    keep_inputs(out, model, *paths, labels, expect, *weights)
    names = None if labels is None else read_names(labels)
    samples = _read_samples(graph, paths, frames)
    expected = None if expect is None else read_classes(expect)[:frames]
    if not (paths or as_json):
        say(["the inputs are random values; --input FILE for yours"])
    with progress(enabled=not as_json) as show:
        show(f"running {model.name}")
        result = run(graph, samples.inputs, session=session, batch=batch)
    _check_expected(graph, samples, result)
    if expected is None and result.has_classes:
        expected = samples.classes
    accuracy = None if expected is None else result.accuracy(expected)
    if out is not None:
        _write(out, result)
    if as_json:
        more = {} if accuracy is None else {"accuracy": accuracy.as_json()}
        print_json({"frames": len(result), "outputs": summary(result, names), **more})
        return
    print_result(result, names=names, files=samples.files, expected=expected, accuracy=accuracy)
    if out is not None:
        print(f"wrote {out}")


def _with_weights(graph: Graph, paths: Sequence[Path]) -> Graph:
    """Return the graph with its parameters as constants; other weights are left alone.

    Raises:
        UsageError: There are no parameters, or one has no value, or one of another type.
    """
    from rlx.frontends.weights import WeightStore
    from rlx.frontends.weights.loading import exactly
    from rlx.passes.transforms.freeze import freeze

    if not paths:
        return graph
    types = {v.name: v.type for v in graph.params}
    if not types:
        raise UsageError("the graph has no parameters", where="--weights", hint="leave it out")
    store = WeightStore.open(*paths)
    for name in types:
        if name not in store:
            guess = closest(name, store)
            raise UsageError(
                f"the files have no weight {printable(name)!r}",
                where="--weights",
                hint=f"did you mean {printable(guess)!r}?" if guess else "give more files",
            )
    values = {name: store[name] for name in types}
    for name, array in values.items():
        converted = exactly(array, types[name].dtype)
        values[name] = array if converted is None else converted
    try:
        return freeze(graph, values)
    except ValueError as error:
        raise UsageError(
            str(error), where="--weights", hint="store it in the type of the graph"
        ) from None


@dataclass(frozen=True, slots=True)
class _Samples:
    """Data that are run.

    Attributes:
        inputs: Frames for each input by name, [frames, *shape].
        vectors: All arrays that the user brought, but for classes.
        classes: Class of each frame, if it came along.
        files: Name of each frame, if each came from a file of its own.
    """

    inputs: Mapping[str, Array]
    vectors: Mapping[str, Array]
    classes: Array | None = None
    files: tuple[str, ...] = ()


def _read_samples(graph: Graph, paths: Sequence[Path], frames: int | None) -> _Samples:
    """Read the samples that the user named, or draw random ones."""
    from rlx.driver.reference import input_frames
    from rlx.samples import labels_in, vectors_for

    names = [value.name for value in graph.run_inputs]
    if not paths:
        drawn = _random(graph, frames or 1)
        return _Samples(dict(zip(names, drawn, strict=True)), {})
    loaded = load(paths, graph)
    vectors, notes = vectors_for(graph, loaded.arrays)
    say(notes)
    inputs = dict(zip(names, input_frames(graph, vectors, frames), strict=True))
    labels = labels_in(graph, loaded.arrays)
    classes = None if labels is None else labels[1].reshape(-1)[:frames]
    return _Samples(inputs, vectors, classes, loaded.names)


def _random(graph: Graph, frames: int) -> tuple[Array, ...]:
    """Return random inputs.

    Raises:
        QuantizationError: Nothing says how large the numbers of an input are.
    """
    from rlx.driver.reference import random_inputs

    try:
        return random_inputs(graph, frames)
    except QuantizationError as e:
        raise QuantizationError(
            f"{e.message}, so the range of random values is not known",
            where=e.where,
            hint="give samples with --input",
        ) from None


def _check_expected(graph: Graph, samples: _Samples, result: Result) -> None:
    """Refuse outputs that the user expects, if they are not those of the network."""
    from rlx.driver.reference import check_expected
    from rlx.support.files.golden import Golden

    if "y" not in samples.inputs:
        outputs = tuple(_output_frames(output) for output in result.outputs.values())
        check_expected(graph, samples.vectors, Golden(tuple(samples.inputs.values()), outputs))


def _output_frames(output: Output) -> Array:
    """Return [frames, *shape of the output's type]."""
    return output.array.reshape(len(output.array), *output.type.static_shape)


def _write(path: Path, result: Result) -> None:
    """Write the outputs by name, as ``numpy.savez`` does, but any name and no date."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, output in result.outputs.items():
            content = io.BytesIO()
            np.save(content, np.ascontiguousarray(_output_frames(output)), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue())
    write_file(path, stream.getvalue())
