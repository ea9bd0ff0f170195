"""Random networks as dataflow cores: the measured interval is the predicted one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from campaign.part import Outcome, Part
from campaign.runs import emitted, refused, vectors
from rlx.ir import Graph, i8
from rlx.ir.module import GraphModule
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    QAdd,
    QAveragePool2d,
    QConcat,
    QConv2d,
    QDense,
    QMaxPool2d,
    QMean,
    QPad,
    QReshape,
    QSlice,
    Window,
)
from rlx.support.errors import DoesNotFitError, EmitError, UnsupportedOpError
from rlx_fpga.devices import device
from rlx_sim.hardware.testbench import run_testbench

if TYPE_CHECKING:
    from rlx.ir import Value

_SEEDS: Final = 9_000_000
_MIN_FRAMES: Final = 12
_MAX_FRAMES: Final = 60
_CYCLES: Final = 8_000
"""Cycles of a run without pauses, within these numbers of frames."""

_TOLERANCE: Final = 0.01
_LOOP: Final = "the loop through"
"""Beginning of what a report names slowest where a state is: predicted to within a cycle."""

_MAX_INTERVAL: Final = 2_500
"""Cycles; slower designs take too long to simulate."""

_DEVICES: Final = ("ice40-up5k", "ecp5-25k", "ecp5-85k", "artix7-35t", "zynq-7020")
_BUDGETS: Final = (None, 4, 8, 16, 40)
_AIMS: Final = ("throughput", "throughput", "latency", "size", "energy")


class _Network:
    """Builder of one random network.

    Attributes:
        graph: Its graph.
        value: Result of the last layer.
    """

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.graph = Graph("net")
        channels = self._pick(1, 2, 3, 4)
        self.flat = self._chance(0.5)
        height = 1 if self.flat else self._pick(5, 8, 12)
        width = self._pick(1, 3, 16, 32, 33, 64) if self.flat else self._pick(5, 8, 12)
        self.value = self.graph.input("x", i8(1, height, width, channels))
        self.states: list[tuple[str, Value]] = []
        layers = (self._conv, self._conv, self._separable, self._pool, self._pad, self._add,
                  self._join, self._stream if self.flat else self._conv)  # fmt: skip
        for _ in range(self._pick(1, 2, 3)):
            self._pick(*layers)()
        self._pick(self._mean, self._mean, self._mean_dense, self._dense, self._nothing)()
        names, after = zip(("y", self.value), *self.states, strict=True)
        self.graph.output(*after, names=list(names))

    def _pick(self, *choices: Any) -> Any:
        return choices[int(self.random.integers(len(choices)))]

    def _chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def _scale(self) -> dict[str, Any]:
        return {
            "rescale": Rescale.of(float(self.random.uniform(0.001, 0.1))),
            "zero_point": int(self.random.integers(-128, 20)),
        }

    def _x_zero_point(self) -> int:
        return self._pick(0, int(self.random.integers(-128, 128)))

    def _window(self, *, padded: bool) -> Window:
        """Return a window that fits the image, with SAME padding or none."""
        _, height, width, _ = self.value.type.static_shape
        columns = min(self._pick(1, 2, 3, 3, 5), width)
        kernel = (1 if self.flat else min(columns, height), columns)
        strides = self._pick(1, 1, 2)
        stride = (1 if self.flat else strides, strides)
        if padded and self._chance(0.6):
            return Window.same((height, width), kernel, stride)
        return Window(kernel, stride)

    def _weighted(self, op: Any, weights: tuple[int, ...], outputs: int) -> None:
        kernel = self.random.integers(-127, 128, weights, np.int8)
        bias = self.random.integers(-999, 999, outputs, np.int32)
        constants = self.graph.constant(kernel), self.graph.constant(bias)
        self.value = self.graph.apply(op, self.value, *constants)

    def _conv(self, outputs: int = 0, groups: int = 1, window: Window | None = None) -> None:
        channels = self.value.type.static_shape[-1]
        window = window or self._window(padded=True)
        outputs = outputs or self._pick(4, 6, 8, 12, 16)
        op = QConv2d(
            window=window, groups=groups, x_zero_point=self._x_zero_point(), **self._scale()
        )
        self._weighted(op, (outputs, *window.kernel, channels // groups), outputs)

    def _separable(self) -> None:
        channels = self.value.type.static_shape[-1]
        self._conv(channels, channels)
        self._conv(window=Window((1, 1)))

    def _add(self) -> None:
        """Add a convolution of the value to it."""
        _, height, width, channels = self.value.type.static_shape
        short = self.value
        kernel = (1, 3) if self.flat else (3, 3)
        self._conv(channels, window=Window.same((height, width), kernel, (1, 1)))
        half = Rescale.of(0.5)
        op = QAdd(x_rescale=half, y_rescale=half, rescale=half, left_shift=20, zero_point=1,
                  x_zero_point=-3, y_zero_point=2)  # fmt: skip
        self.value = self.graph.apply(op, self.value, short)

    def _join(self) -> None:
        """Join the value and a convolution of it along channels."""
        _, height, width, _ = self.value.type.static_shape
        short = self.value
        self._conv(window=Window.same((height, width), (1, 3), (1, 1)))
        self.value = self.graph.apply(QConcat(axis=3), self.value, short)

    def _pad(self) -> None:
        before, after = (0, 0, self._pick(0, 1, 2), 0), (0, 0, self._pick(1, 3), 0)
        op = QPad(before=before, after=after, value=self._x_zero_point())
        self.value = self.graph.apply(op, self.value)

    def _stream(self) -> None:
        """Join a state, the last columns of earlier frames, and the value; then convolve."""
        _, _, width, channels = self.value.type.static_shape
        kept = self._pick(1, 2, 4)
        name = f"state{len(self.states)}"
        state = self.graph.state(name, i8(1, 1, kept, channels), initial=3)
        joined = self.graph.apply(QConcat(axis=2), state, self.value)
        last = QSlice(start=(0, 0, width, 0), stop=(1, 1, width + kept, channels), step=(1,) * 4)
        self.states.append((name, self.graph.apply(last, joined)))
        self.value = joined
        self._conv(window=Window((1, kept + 1), (1, 1)))

    def _pool(self) -> None:
        op = self._pick(QMaxPool2d, QAveragePool2d)
        self.value = self.graph.apply(op(window=self._window(padded=False)), self.value)

    def _mean(self) -> None:
        op = QMean(axes=(1, 2), x_zero_point=self._x_zero_point(), **self._scale())
        self.value = self.graph.apply(op, self.value)

    def _dense(self) -> None:
        size = self.value.type.size
        self.value = self.graph.apply(QReshape(shape=(1, size)), self.value)
        outputs = self._pick(2, 3, 10)
        op = QDense(x_zero_point=self._x_zero_point(), **self._scale())
        self._weighted(op, (outputs, size), outputs)

    def _mean_dense(self) -> None:
        self._mean()
        self._dense()

    def _nothing(self) -> None:
        """End with the last layer."""

    def options(self) -> dict[str, Any]:
        """Return random options."""
        name, budget = self._pick(*_DEVICES), self._pick(*_BUDGETS)
        return {
            "device": name,
            "dsp": min(budget, device(name).dsp) if budget else None,
            "optimize": self._pick(*_AIMS),
            "architecture": "dataflow",
        }


def _interval(number: int) -> Outcome:
    """Emit a network, and compare the interval of its report with that of its testbench."""
    network = _Network(_SEEDS + number)
    module, options = GraphModule.mir(network.graph), network.options()
    try:
        with emitted(module, "fpga", options, vectors(module, _MAX_FRAMES, number)) as folder:
            report = json.loads((folder / "report.json").read_text())
            predicted = report["interval"]
            if predicted > _MAX_INTERVAL:
                return Outcome("slow")
            frames = min(max(_CYCLES // predicted, _MIN_FRAMES), _MAX_FRAMES)
            run = run_testbench(folder, simulator="icarus", frames=frames)
    except (DoesNotFitError, EmitError, UnsupportedOpError) as error:
        return refused(error)
    if not run.passed:
        return Outcome("differs", f"{run.verdict}: {options}")
    loop = report["slowest"].startswith(_LOOP)
    if abs(run.interval - predicted) > _TOLERANCE * predicted + loop:
        return Outcome("differs", f"predicted {predicted}, measured {run.interval}: {options}")
    return Outcome("equal", "", {"frames": run.frames})


PARTS: Final = (
    Part(
        name="interval",
        title="random networks as dataflow cores: their interval in Icarus",
        goal="300 measured intervals within 1 % of the predicted ones",
        run=_interval,
        cases=300,
        short=20,
        deadline_s=600,
        marks=("sim",),
    ),
)
