"""A graph of every op on int16 activations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from targets.cortexm.graph_builder import GraphBuilder

from rlx.ir import DType, Graph, TensorType
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.numerics.gates import gate_scaling
from rlx.ops.q import (
    QAdd,
    QAveragePool2d,
    QClamp,
    QConcat,
    QConv2d,
    QDense,
    QMaxPool2d,
    QMean,
    QMul,
    QPad,
    QRequantize,
    QReshape,
    QSigmoid16,
    QSlice,
    QSoftmax16,
    QSub,
    QTanh16,
    QTranspose,
    Window,
)

if TYPE_CHECKING:
    from rlx.ir import Op, Value

ENDS = {"low": -32768, "high": 32767}
POINTS = {"x_zero_point": 0, "zero_point": 0}


class Int16GraphBuilder(GraphBuilder):
    """A builder whose activations are int16."""

    def wide(self, *shape: int) -> Value:
        """Append an int16 input."""
        return self.graph.input(f"x{len(self.graph.inputs)}", TensorType(shape, DType.I16))

    def weighted(
        self, kind: type[Op], x: Value, shape: tuple[int, ...], bias: int, **attributes: Any
    ) -> Value:
        """Append a layer with weights of ``shape`` and biases up to ``bias``; beyond int32 wide."""
        dtype = np.int64 if attributes["rescale"].is_wide else np.int32
        values = self._random.integers(-bias, bias, shape[0], np.int64).astype(dtype)
        usual = {**POINTS, **ENDS, **attributes}
        return self.node(kind(**usual), x, self.constant(*shape), self.graph.constant(values))


def int16() -> Graph:
    """Return a graph with every way through the rules of ops on int16."""
    builder = Int16GraphBuilder("wide")
    _layers(builder)
    _elementwise(builder)
    _pools_and_moves(builder)
    return builder.graph


def _layers(builder: Int16GraphBuilder) -> None:
    padded = ((1, 1), (1, 1))
    # Sums in int32, in int64 by parts, in int64 one by one, modulo 2^32.
    for inner, bias, factor in (
        (3, 5000, Rescale.wide(0.003)),
        (60, 2**20, Rescale.wide(0.0004)),
        (60, 2**45, Rescale.wide(2.0**-30)),
        (600, 2**20, Rescale.wide(0.00004)),
        (600, 2**40, Rescale.wide(2.0**-26)),
        (600, 2**30, Rescale.of(2.0**-17)),
        (5, 2**20, Rescale.of(1.7)),
        (1, 2**40, Rescale.wide(2.0**-26)),
    ):
        builder.weighted(QDense, builder.wide(2, inner), (4, inner), bias, rescale=factor)
    builder.weighted(
        QDense, builder.wide(1, 9), (3, 9), 2**20, rescale=Rescale.wide(0.001, 0.0, 3.7), low=0
    )
    channels = Rescale.wide(0.0005, 0.001, 0.002, 0.0007)
    window = Window((3, 3), padding=padded)
    builder.weighted(
        QConv2d, builder.wide(2, 5, 4, 3), (4, 3, 3, 3), 2**20, window=window, rescale=channels
    )
    window = Window((3, 2), (2, 1), (1, 2), ((2, 0), (1, 3)))
    builder.weighted(
        QConv2d, builder.wide(1, 7, 6, 4), (4, 3, 2, 2), 2**33, window=window, groups=2,
        rescale=channels, high=900,
    )  # fmt: skip
    for outputs in (4, 8):
        builder.weighted(
            QConv2d, builder.wide(1, 5, 5, 4), (outputs, 2, 2, 1), 2**20, window=Window((2, 2)),
            groups=4, rescale=Rescale.of(0.002),
        )  # fmt: skip
    # Taps that are all outside the image.
    window = Window((1, 1), padding=padded)
    builder.weighted(
        QConv2d, builder.wide(1, 2, 2, 1), (2, 1, 1, 1), 2**20, window=window,
        rescale=Rescale.wide(0.01),
    )  # fmt: skip


def _elementwise(builder: Int16GraphBuilder) -> None:
    half, single = Rescale.of(0.5), Rescale.of(0.41, rounding=Rounding.SINGLE)
    scaled: dict[str, Any] = {**POINTS, **ENDS, "y_zero_point": 0, "left_shift": 15}
    for kind, shape, factors in (
        (QAdd, (2, 3, 5), (half, Rescale.of(0.37), Rescale.of(1.7 / 2**15))),
        (QSub, (3, 5), (Rescale.of(0.2), half, Rescale.of(1.1 / 2**15))),
        (QAdd, (1, 5), (single, half, Rescale.of(2.0**-14, rounding=Rounding.EVEN))),
        (QSub, (1,), (half, half, Rescale.of(2.0**-14, rounding=Rounding.SINGLE))),
    ):
        x_rescale, y_rescale, rescale = factors
        op = kind(x_rescale=x_rescale, y_rescale=y_rescale, rescale=rescale, **scaled)
        builder.node(op, builder.wide(2, 3, 5), builder.wide(*shape))
    for rescale in (Rescale.of(2.0**-15), Rescale.of(1.3), Rescale.of(1e-5, rounding=Rounding.ODD)):
        op = QMul(**POINTS, **ENDS, y_zero_point=0, rescale=rescale)
        builder.node(op, builder.wide(2, 6), builder.wide(6))
    for rescale in (Rescale.of(0.3), Rescale.of(3.7), single):
        builder.node(QRequantize(**POINTS, **ENDS, rescale=rescale), builder.wide(17))
    builder.node(QClamp(low=-300, high=20000), builder.wide(17))
    for kind, scale in ((QSigmoid16, 1e-3), (QTanh16, 2.0**-12), (QTanh16, 2.6), (QSigmoid16, 1.0)):
        multiplier, shift = gate_scaling(scale)
        builder.node(kind(multiplier=multiplier, shift=shift), builder.wide(40))
    for shape, factor in (((3, 7), 1.3), ((1, 1), 0.4), ((200,), 0.01), ((2, 3), 3000.0)):
        builder.node(QSoftmax16(rescale=Rescale.of(factor)), builder.wide(*shape))


def _pools_and_moves(builder: Int16GraphBuilder) -> None:
    for window in (
        Window((2, 2), (2, 2)),
        Window((3, 3), (2, 2), padding=((1, 1), (1, 1))),
        Window((7, 6)),
    ):
        for kind in (QAveragePool2d, QMaxPool2d):
            builder.node(kind(window=window, low=-20000, high=32767), builder.wide(2, 7, 6, 3))
    for axes, keep_dims, factor in (
        ((1, 2), True, 0.03),
        ((-1,), False, 1.9),
        ((0, 1, 2), False, 0.2),
    ):
        op = QMean(**POINTS, **ENDS, axes=axes, keep_dims=keep_dims, rescale=Rescale.of(factor))
        builder.node(op, builder.wide(2, 3, 4))
    op = QMean(**POINTS, **ENDS, axes=(0,), rescale=Rescale.of(0.3, rounding=Rounding.SINGLE))
    builder.node(op, builder.wide(5, 2))
    x = builder.wide(2, 4, 3)
    builder.node(QReshape(shape=(8, 3)), x)
    builder.node(QTranspose(axes=(2, 0, 1)), x)
    builder.node(QTranspose(axes=(1, 0, 2)), x)
    builder.node(QSlice(start=(0, 1, 0), stop=(2, 3, 3), step=(1, 1, 2)), x)
    builder.node(QSlice(start=(1, 1, 0), stop=(2, 4, 3), step=(1, 2, 1)), x)
    for value in (0, -1, -300, 32767):
        builder.node(QPad(before=(0, 1, 0), after=(1, 0, 2), value=value), x)
    builder.node(QConcat(axis=1), x, builder.wide(2, 1, 3), x)
