"""TFLite networks of one recurrent layer, with drawn weights and scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from support.files.tflite_builder import TfliteBuilder, tflm

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Int8Array = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Svdf:
    """Sizes of an SVDF layer.

    Attributes:
        state: Element type of the state.
        units: Outputs.
        rank: Filters for each unit.
        inputs: Features.
        memory: Results of a filter that are kept.
        batch: Sequences.
    """

    state: str = "int16"
    units: int = 4
    rank: int = 1
    inputs: int = 5
    memory: int = 6
    batch: int = 1

    @staticmethod
    def drawn(seed: int) -> Svdf:
        """Return drawn sizes."""
        random = np.random.default_rng(seed)
        units, rank, inputs, memory, batch = random.integers(1, [7, 4, 20, 12, 4])
        return Svdf(["int16", "int8"][seed % 2], units, rank, inputs, memory, batch)

    def build(
        self, seed: int, *, bias: bool = True, activation: str = "NONE", zero_point: int = 0
    ) -> bytes:
        """Return the file."""
        random, model = np.random.default_rng(seed), TfliteBuilder()
        filters, most = self.units * self.rank, np.iinfo(self.state).max
        x_scale, w_scale = random.uniform(0.01, 0.05), random.uniform(0.005, 0.02)
        state_scale = (
            random.uniform(0.2, 1.5) * x_scale * w_scale * 7600 * np.sqrt(self.inputs) / most
        )
        time_scale = random.uniform(0.5, 1.5) / most
        spread = most * most * np.sqrt(self.rank * self.memory)
        result = state_scale * time_scale * spread * random.uniform(0.0005, 0.004)
        x = model.tensor([self.batch, self.inputs], scale=x_scale, name="x",
                         zero_point=int(random.integers(-128, 128)))  # fmt: skip
        weights = random.integers(-127, 128, (filters, self.inputs)).astype(np.int8)
        time = random.integers(-most, most + 1, (filters, self.memory)).astype(self.state)
        inputs = [x, model.constant(weights, scale=w_scale), model.constant(time, scale=time_scale)]
        biases = random.integers(-(most**2) // 12, most**2 // 12, self.units).astype(np.int32)
        scale = float(np.float32(state_scale) * np.float32(time_scale))
        inputs.append(model.constant(biases, scale=scale) if bias else -1)
        state = model.tensor([self.batch, filters * self.memory], self.state, scale=state_scale,
                             zero_point=zero_point, name="state")  # fmt: skip
        model.graph.tensors[state].isVariable = True
        y = model.tensor([self.batch, self.units], scale=result, name="y",
                         zero_point=int(random.integers(-128, 128)))  # fmt: skip
        model.operator("SVDF", [*inputs, state], [y], rank=self.rank,
                       fusedActivationFunction=activation, version=4)  # fmt: skip
        return model.build([x], [y])

    def samples(self, seed: int, steps: int) -> Int8Array:
        """Return inputs: random ones, then extremes that saturate the state, then random ones."""
        shape = steps, self.batch, self.inputs
        samples = np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)
        samples[steps // 3 : steps // 2] = 127
        samples[steps // 2 : 2 * steps // 3] = -128
        return samples


def run_tflm_steps(data: bytes, samples: Sequence[Int8Array]) -> Int8Array:
    """Return the outputs of TensorFlow Lite Micro, run by run, with its state."""
    interpreter = tflm(data)
    outputs = []
    for sample in samples:
        interpreter.set_input(sample, 0)
        interpreter.invoke()
        outputs.append(interpreter.get_output(0))
    return np.stack(outputs)
