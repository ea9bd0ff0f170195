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


@dataclass(frozen=True)
class Lstm:
    """Sizes of an LSTM layer.

    Attributes:
        steps: Steps of a run.
        inputs: Features.
        units: Outputs.
        batch: Sequences.
        time_major: Whether the steps are the first axis.
    """

    steps: int = 5
    inputs: int = 3
    units: int = 4
    batch: int = 1
    time_major: bool = False

    @staticmethod
    def drawn(seed: int) -> Lstm:
        """Return drawn sizes."""
        random = np.random.default_rng(seed)
        steps, inputs, units, batch = random.integers(1, [7, 9, 9, 4])
        return Lstm(int(steps), int(inputs), int(units), int(batch), seed % 2 == 1)

    def shape(self, features: int) -> tuple[int, int, int]:
        """Return the shape of the input or the output."""
        outer = (self.steps, self.batch) if self.time_major else (self.batch, self.steps)
        return (*outer, features)

    def build(self, seed: int, *, clip: float = 0.0, factor: float = 1.0) -> bytes:
        """Return the file.

        Args:
            seed: Of weights and scales.
            clip: Bound on the cell state; 0 for none.
            factor: Quotient of the cell state's scale and a power of two.
        """
        random, model = np.random.default_rng(seed), TfliteBuilder()
        x_scale, h_scale = random.uniform(0.01, 0.05), random.uniform(0.005, 0.01)
        x_point, h_point = (int(random.integers(-n, n + 1)) for n in (127, 20))
        scales = random.uniform(0.003, 0.02, 8)
        x = model.tensor(self.shape(self.inputs), scale=x_scale, zero_point=x_point, name="x")
        inputs = [x]
        for k, scale in enumerate(scales):
            shape = self.units, self.inputs if k < 4 else self.units
            weights = random.integers(-127, 128, shape).astype(np.int8)
            inputs.append(model.constant(weights, scale=scale))
        inputs += [-1] * 3
        for scale in scales[:4]:
            bias = random.integers(-3000, 3000, self.units).astype(np.int32)
            inputs.append(
                model.constant(bias, scale=float(np.float32(x_scale) * np.float32(scale)))
            )
        shape = self.batch, self.units
        cell_scale = factor * 2.0 ** int(random.integers(-13, -8))
        h = model.tensor(shape, scale=h_scale, zero_point=h_point, name="hidden")
        c = model.tensor(shape, "int16", scale=cell_scale, zero_point=0, name="cell")
        for state in (h, c):
            model.graph.tensors[state].isVariable = True
        y = model.tensor(self.shape(self.units), scale=h_scale, zero_point=h_point, name="y")
        model.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", [*inputs, -1, -1, h, c, *[-1] * 4], [y],
                       fusedActivationFunction="TANH", timeMajor=self.time_major, cellClip=clip,
                       version=3)  # fmt: skip
        return model.build([x], [y])

    def samples(self, seed: int, runs: int) -> Int8Array:
        """Return inputs: random ones, then extremes that saturate the state, then random ones."""
        shape = runs, *self.shape(self.inputs)
        samples = np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)
        samples[runs // 3 : runs // 2] = 127
        samples[runs // 2 : 2 * runs // 3] = -128
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
