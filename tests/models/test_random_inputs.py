"""The MLPerf Tiny networks in batches, on 2,000 inputs each: TensorFlow Lite Micro's outputs.

The first inputs are those whose outputs are recorded, the others made up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from rlx import frontends
from rlx.passes.transforms.batch import with_batch
from rlx.runtime import CompileOptions, Device, Session
from support.files.tflite_builder import tflm

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.ir import Array

pytestmark = pytest.mark.models

FRAMES = 2000
BATCH = 16


def extremes(size: int, zero_point: int) -> Array:
    """Return inputs that no recording has: constant, alternating, with a single other code."""
    constant = np.repeat([-128, 127, zero_point, 0, -1], size).reshape(5, size)
    alternating = np.where(np.arange(size) % np.array([[2], [3], [7]]) == 0, -128, 127)
    halves = np.where(np.arange(size) < size // 2, -128, 127)
    single = np.full((2, size), zero_point)
    single[0, size // 2], single[1, size // 2] = -128, 127
    return np.concatenate([constant, alternating, -1 - alternating, [halves, -1 - halves], single])


def inputs(count: int, size: int, zero_point: int) -> Array:
    """Return ``count`` inputs as codes: extremes, uniform, sparse, noise, nearly constant ones."""
    random = np.random.default_rng(0)
    first = extremes(size, zero_point)
    rest = random.integers(-128, 128, (count - len(first), size))
    kinds = np.arange(len(rest)) % 5
    sparse = random.random(rest.shape) < 0.05
    rest[kinds == 1] = np.where(sparse, rest, zero_point)[kinds == 1]
    rest[kinds == 2] = np.clip(rest // 8 + zero_point, -128, 127)[kinds == 2]
    rest[kinds == 3] = np.where(rest < 0, -128, 127)[kinds == 3]
    rest[kinds == 4] = np.clip(rest // 32 + rest[:, :1], -128, 127)[kinds == 4]
    return np.concatenate([first, rest]).astype(np.int8)


@pytest.mark.parametrize(
    "name", ["kws_ref_model", "pretrainedResnet_quant", "vww_96_int8", "ad01_int8"]
)
def test_batches_equal_tflm(shared_models: Path, name: str) -> None:
    path = shared_models / f"{name}.tflite"
    graph = frontends.load(path).graph
    (given,) = graph.inputs
    assert given.type.quant is not None
    vectors = np.load(shared_models / "vectors" / f"{name}.npz")
    recorded, outputs = (np.concatenate(list(vectors[key])) for key in ("x", "y"))
    frames = inputs(FRAMES - len(recorded), given.type.size, given.type.quant.zero_point[0])
    frames = np.concatenate([recorded, frames.reshape(-1, *given.type.static_shape[1:])])
    session = Session(Device.CPU, CompileOptions(backend="numpy"))
    network = session.compile(with_batch(graph, BATCH))
    interpreter = tflm(path.read_bytes())
    differ = []
    for first in range(0, FRAMES, BATCH):
        (found,) = network.run({given.name: frames[first : first + BATCH]})
        for place, codes in enumerate(found, start=first):
            interpreter.set_input(frames[place : place + 1], 0)
            interpreter.invoke()
            wanted = interpreter.get_output(0)[0]
            if not np.array_equal(codes, wanted):
                differ.append(place)
            if place < len(outputs):
                np.testing.assert_array_equal(wanted, outputs[place])
    assert not differ, f"{len(differ)} of {FRAMES} inputs differ, first {differ[:5]}"
