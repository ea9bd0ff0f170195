"""Cells of many kinds and sizes, to which the estimates are fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Graph, i8
from rlx.ops.numerics.exponential import softmax_scaling
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    QAdd,
    QArgmax,
    QAveragePool2d,
    QConv2d,
    QDense,
    QMaxPool2d,
    QReshape,
    QSoftmax,
    Window,
)
from rlx_fpga.architectures.dataflow.staged import staged_graph
from rlx_fpga.cells.fifo import Fifo, SkidBuffer
from rlx_fpga.cells.width import WidthConverter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir import Value
    from rlx_fpga.architectures.dataflow.staged import PipelineStage
    from rlx_fpga.cells.streams import Cell
    from rlx_fpga.explore.fold import Fold

FOLDING_STEP = 2
"""Step between sampled foldings of a layer, in order of multipliers."""

MAX_PRODUCTS = 18

ARRAY_PRODUCTS = range(40, 129)
"""Products of an array of LUT multipliers that is large enough to show their shared logic."""


def samples() -> Iterator[tuple[str, Cell]]:
    """Yield cells and their names."""
    for number, stage in enumerate(staged_graph(_network()).stages):
        name = f"n{number}_{stage.node.op.name.rpartition('.')[2]}"
        yield from _layers(name, stage)
        yield from _arrays(name, stage)
    for lanes, depth in ((1, 8), (4, 20), (2, 500)):
        yield f"fifo_{lanes}x{depth}", Fifo(lanes, depth)
    for before, after in ((1, 8), (8, 2), (4, 6)):
        yield f"width_{before}_{after}", WidthConverter(before, after, 24)
    for lanes in (1, 16):
        yield f"skid_{lanes}", SkidBuffer(lanes)


def _layers(base: str, stage: PipelineStage) -> Iterator[tuple[str, Cell]]:
    """Yield the cells of some foldings, and a small array of LUT multipliers."""
    for fold in _some(stage.plan.folds()):
        for name, cell in stage.plan.build(fold).cell.parts.items():
            # Value tables of these samples have fewer bits than those of networks.
            if name != "combine":
                yield f"{base}_{fold.pe}x{fold.simd}_{name}", cell
    for fold in [f for f in stage.plan.folds() if 2 < f.products <= 8][:1]:
        cells = stage.plan.build(fold.with_lut_multipliers()).cell.cells
        yield f"{base}_logic", cells["matrix" if "matrix" in cells else "depthwise"]


def _arrays(base: str, stage: PipelineStage) -> Iterator[tuple[str, Cell]]:
    """Yield a larger array of DSP slices and of LUT multipliers, and the largest of the latter.

    In the largest, weights are constants.
    """
    folds = sorted((f for f in stage.plan.folds() if f.products), key=lambda f: f.products)
    middling = [f for f in folds if f.products in ARRAY_PRODUCTS][:1]
    variants = [("blocks", f) for f in middling]
    variants += [("array", f.with_lut_multipliers()) for f in middling]
    variants += [("scaled", f.with_lut_multipliers()) for f in folds[-1:]]
    for name, fold in variants:
        cells = stage.plan.build(fold).cell.cells
        if "matrix" in cells and fold.pe * fold.simd <= ARRAY_PRODUCTS[-1]:
            yield f"{base}_{name}", cells["matrix"]


def _some(folds: list[Fold]) -> list[Fold]:
    """Return small to medium foldings."""
    small = sorted(
        (f for f in folds if f.pe * f.simd <= MAX_PRODUCTS),
        key=lambda f: (f.pe * f.simd, f.pe, f.cycles),
    )
    return small[:: max(1, len(small) // FOLDING_STEP)]


def _network() -> Graph:
    """Return a network with a layer of each expensive kind."""
    rng = np.random.default_rng(0)
    graph = Graph("samples")

    def weights(*shape: int) -> Value:
        return graph.constant(rng.integers(-127, 128, shape).astype(np.int8))

    def bias(size: int) -> Value:
        return graph.constant(rng.integers(-4000, 4000, size).astype(np.int32))

    def scales(size: int, middle: float) -> Rescale:
        return Rescale.of(*(middle * rng.uniform(0.5, 2, size)))

    x = graph.input("x", i8(1, 12, 10, 3))
    y = graph.apply(
        QConv2d(window=Window.same((12, 10), (3, 3)), x_zero_point=5, rescale=scales(8, 0.003),
                zero_point=-5),
        x, weights(8, 3, 3, 3), bias(8),
    )  # fmt: skip
    z = graph.apply(
        QConv2d(
            window=Window.same((12, 10), (3, 3)), x_zero_point=-3, rescale=scales(8, 0.005),
            zero_point=4, groups=8
        ),
        y, weights(8, 3, 3, 1), bias(8),
    )  # fmt: skip
    z = graph.apply(
        QConv2d(window=Window((1, 1)), x_zero_point=2, rescale=Rescale.of(0.002), zero_point=1),
        z, weights(16, 1, 1, 8), bias(16),
    )  # fmt: skip
    half = Rescale.of(0.5)
    z = graph.apply(
        QAdd(
            x_zero_point=1, y_zero_point=2, x_rescale=half, y_rescale=half,
            rescale=Rescale.of(0.9 * 2.0**-19), zero_point=3,
        ),
        z, z,
    )  # fmt: skip
    z = graph.apply(QMaxPool2d(window=Window((2, 2), (2, 2))), z)
    z = graph.apply(
        QConv2d(window=Window((3, 3)), x_zero_point=2, rescale=scales(24, 0.001),
                zero_point=7, low=-100),
        z, weights(24, 3, 3, 16), bias(24),
    )  # fmt: skip
    z = graph.apply(QAveragePool2d(window=Window((4, 3))), z)
    z = graph.apply(
        QDense(x_zero_point=1, rescale=Rescale.of(0.002), zero_point=1),
        _flat(graph, z),
        weights(10, 24),
        bias(10),
    )
    multiplier, shift, diff_min = softmax_scaling(0.1)
    softmax = QSoftmax(multiplier=multiplier, left_shift=shift, diff_min=diff_min)
    graph.output(graph.apply(softmax, z))
    graph.output(graph.apply(QArgmax(), z))
    return graph


def _flat(graph: Graph, value: Value) -> Value:
    return graph.apply(QReshape(shape=(1, value.type.size)), value)
