"""Compare an imported TFLite model with TensorFlow Lite Micro, bit for bit."""

from __future__ import annotations

import numpy as np

from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from support.files.tflite_builder import tflm, unpack


def compare(data: bytes, seed: int = 0, runs: int = 2) -> None:
    """Run random inputs through both and assert that every output is the same."""
    module = tflite.load(data)
    verify(module)
    graph = module.graph
    interpreter = tflm(data)
    random = np.random.default_rng(seed)
    outputs = len(unpack(data).subgraphs[0].outputs)
    for _ in range(runs):
        inputs = {}
        for place, value in enumerate(graph.inputs):
            dtype = value.type.dtype.numpy
            ends = np.iinfo(dtype)
            array = random.integers(ends.min, ends.max + 1, value.type.static_shape).astype(dtype)
            inputs[value.name] = array
            interpreter.set_input(array, place)
        interpreter.invoke()
        found = evaluate(graph, inputs)
        assert len(found) == outputs
        for place, array in enumerate(found):
            np.testing.assert_array_equal(array, interpreter.get_output(place))
            assert array.dtype == interpreter.get_output(place).dtype


def random_scale(random: np.random.Generator, low: float = 1e-3, high: float = 0.5) -> float:
    """Return a float32 scale, log-uniform."""
    return float(np.float32(np.exp(random.uniform(np.log(low), np.log(high)))))


def random_zero_point(random: np.random.Generator) -> int:
    """Return a zero point, often at the ends of the range."""
    return int(random.choice([-128, 127, 0, int(random.integers(-128, 128))]))


def random_codes(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return random int8 codes."""
    return random.integers(-128, 128, shape).astype(np.int8)
