"""Memory of an import beside the file: in proportion to it, once for what is shared."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest
from malformed.tflite_oddities import shared_weights

from rlx import frontends
from rlx.frontends.tflite import frontend as tflite
from rlx.ir import Constant, file
from rlx.ir.evaluate import evaluate
from rlx.ops.numerics.products import magnitudes
from rlx.passes import pipeline
from support.files.tflite_builder import TfliteBuilder

if TYPE_CHECKING:
    from pathlib import Path


def dense(outputs: int, inputs: int) -> bytes:
    model = TfliteBuilder()
    x = model.tensor((1, inputs), scale=0.1, name="x")
    w = model.constant(np.ones((outputs, inputs), np.int8), scale=0.01, name="w")
    y = model.tensor((1, outputs), scale=0.5, name="y")
    model.operator("FULLY_CONNECTED", [x, w], [y])
    return model.build([x], [y])


def peak_of(path: Path) -> int:
    """Return the bytes that were allocated at once while ``path`` was imported."""
    frontends.load(path)
    tracemalloc.start()
    try:
        frontends.load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("suffix", [".tflite", ".rlx"])
def test_a_large_layer_takes_three_times_its_file_at_most(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"m{suffix}"
    data = dense(2000, 4000)
    if suffix == ".rlx":
        file.save(tflite.load(data), path)
    else:
        path.write_bytes(data)
    assert peak_of(path) < 3 * path.stat().st_size


def test_layers_share_their_weights(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(shared_weights(40, 1000))
    assert peak_of(path) < 3 * path.stat().st_size
    constants = [n for n in frontends.load(path).graph.nodes if isinstance(n.op, Constant)]
    assert [n.name for n in constants] == ["w", "b"]


def test_shared_weights_stay_shared_through_passes_and_files(tmp_path: Path) -> None:
    module = tflite.load(shared_weights(5, 8))
    file.save(module, tmp_path / "m.rlx")
    read = frontends.load(tmp_path / "m.rlx")
    lowered = pipeline("default").run(read)
    x = {"x": np.arange(-4, 4, dtype=np.int8).reshape(1, 8)}
    (expected,) = evaluate(module.graph, x)
    for graph in (read.graph, lowered.graph):
        assert sum(isinstance(n.op, Constant) for n in graph.nodes) == 2
        assert np.array_equal(evaluate(graph, x)[0], expected)


@pytest.mark.parametrize("shape", [(3, 5), (1, 300_000), (70_000, 4), (2, 3, 3, 2), (1, 1)])
def test_magnitudes_are_sums_of_absolute_weights(shape: tuple[int, ...]) -> None:
    weights = np.random.default_rng(3).integers(-128, 128, shape, np.int8)
    expected = np.abs(weights.astype(np.int64)).reshape(shape[0], -1).sum(axis=1)
    assert np.array_equal(magnitudes(weights), expected)


def test_magnitude_of_the_least_code() -> None:
    assert magnitudes(np.full((2, 3), -128, np.int8)).tolist() == [384, 384]
