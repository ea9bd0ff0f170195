"""Layers of every kind under Amaranth's simulator: the cycles and the latency that they claim."""

import numpy as np
import pytest
from targets.fpga.harness import drive, to_beats

from rlx.ir import Graph, i8
from rlx.ops.numerics.exponential import softmax_scaling
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    QAdd,
    QArgmax,
    QAveragePool2d,
    QClamp,
    QConcat,
    QConv2d,
    QDense,
    QMaxPool2d,
    QMean,
    QMul,
    QPad,
    QSlice,
    QSoftmax,
    Window,
)
from rlx_fpga.architectures.dataflow.pipeline import Pipeline
from rlx_fpga.architectures.dataflow.staged import staged_graph

RNG = np.random.default_rng(11)
SCALE = {"rescale": Rescale.of(0.01), "zero_point": -3}
SAME = ((1, 1), (1, 1))
SOFTMAX = dict(zip(("multiplier", "left_shift", "diff_min"), softmax_scaling(0.1), strict=True))
HALF = Rescale.of(0.5)
SUM = QAdd(x_zero_point=1, y_zero_point=2, x_rescale=HALF, y_rescale=HALF,
           rescale=Rescale.of(2.0**-19), zero_point=0)  # fmt: skip


def weights(*shape):
    return RNG.integers(-127, 128, shape, np.int8)


def conv(outputs, channels, kernel, groups=1, **window):
    op = QConv2d(window=Window((kernel, kernel), **window), groups=groups, x_zero_point=4, **SCALE)
    bias = RNG.integers(-99, 99, outputs, np.int32)
    return op, [weights(outputs, kernel, kernel, channels // groups), bias]


LAYERS = {
    "mean": (QMean(axes=(1, 2), x_zero_point=5, **SCALE), [(2, 3, 2, 4)], []),
    "argmax": (QArgmax(axis=-1), [(3, 7)], []),
    "softmax": (QSoftmax(**SOFTMAX), [(2, 5)], []),
    "global maximum": (QMaxPool2d(window=Window((3, 2))), [(2, 3, 2, 4)], []),
    "maximum": (QMaxPool2d(window=Window((2, 2), (2, 2)), high=50), [(1, 4, 6, 4)], []),
    "average": (QAveragePool2d(window=Window((3, 3), padding=SAME)), [(1, 4, 5, 2)], []),
    "concatenation": (QConcat(axis=2), [(1, 3, 2, 4), (1, 3, 4, 4)], []),
    "padding": (QPad(before=(0, 1, 2, 0), after=(0, 0, 1, 4), value=9), [(1, 3, 2, 4)], []),
    "slice": (QSlice(start=(0, 1, 0, 0), stop=(1, 3, 4, 2), step=(1, 1, 2, 1)),
              [(1, 3, 4, 4)], []),
    "clamp": (QClamp(low=-9, high=70), [(2, 6)], []),
    "broadcast sum": (SUM, [(1, 3, 2, 4), (1, 1, 2, 4)], []),
    "product": (QMul(x_zero_point=1, y_zero_point=-2, **SCALE), [(4, 6)], [weights(1, 6)]),
    "dense": (QDense(x_zero_point=2, **SCALE), [(2, 6)],
              [weights(5, 6), np.arange(5, dtype=np.int32)]),
    "convolution": ((one := conv(4, 2, 3, padding=SAME))[0], [(1, 5, 4, 2)], one[1]),
    "strided": ((two := conv(3, 2, 2, stride=(2, 2)))[0], [(2, 4, 4, 2)], two[1]),
    "depthwise": ((three := conv(4, 4, 3, groups=4))[0], [(1, 5, 5, 4)], three[1]),
}  # fmt: skip


# Figures of these are off by a beat of the requantizer, by what is cut off, or by rows of padding.
LOOSE = ("broadcast sum", "product", "slice", "convolution")


def program_of(name):
    op, shapes, constants = LAYERS[name]
    graph = Graph("g")
    operands = [graph.input(f"x{n}", i8(*shape)) for n, shape in enumerate(shapes)]
    graph.output(graph.apply(op, *operands, *map(graph.constant, constants)))
    return staged_graph(graph)


def pipelines(name):
    """Return the layer with its slowest, middle and fastest folding, but none that is very slow."""
    program = program_of(name)
    ((stage, folds),) = program.choices().items()
    folds = sorted(folds, key=lambda fold: (fold.cycles, fold.multipliers))
    folds = [fold for fold in folds if fold.cycles <= 200] or folds[:1]
    places = sorted({0, len(folds) // 2, len(folds) - 1})
    return [Pipeline(program, {stage: folds[place]}) for place in places]


def run(pipeline, frames):
    """Return the run, and the beats of a frame of results."""
    beats = {
        port: to_beats(RNG.integers(-128, 128, frames * value.type.size), pipeline.lanes(value))
        for port, value in zip(pipeline.input_names, pipeline.program.graph.inputs, strict=True)
    }
    (output,) = pipeline.program.outputs
    count = output.type.size // pipeline.lanes(output)
    return drive(pipeline, beats, {"o": frames * count}), count


@pytest.mark.sim
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_takes_the_cycles_and_the_latency_that_it_claims(name):
    for pipeline in pipelines(name):
        found, count = run(pipeline, 3)
        (layer,) = pipeline.layers
        first = found.given["o"][count - 1] - min(map(min, found.taken.values()))
        assert found.interval(count) == pipeline.interval == layer.cycles
        late = first + 1 - pipeline.latency
        assert abs(late) <= layer.fold.beat_cycles + 15 if name in LOOSE else late in (0, 1)
