"""Graphs that together use every tactic and template.

All nodes are independent: each has inputs and an output of its own.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from targets.cortexm.graph_builder import GraphBuilder
from targets.cortexm.int16_graphs import int16

from rlx.ir import DType, Graph, QuantParams, TensorType, f32, i8
from rlx.ops.numerics.exponential import softmax_scaling
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import (
    QAdd,
    QArgmax,
    QAveragePool2d,
    QChain,
    QClamp,
    QConcat,
    QConv2d,
    QConvert,
    QDense,
    QDiv,
    QL2Norm,
    QLstmCell,
    QLstmOutput,
    QMatmul,
    QMaximum,
    QMaxPool2d,
    QMean,
    QMinimum,
    QMul,
    QPad,
    QPrelu,
    QRequantize,
    QReshape,
    QResizeBilinear,
    QResizeNearest,
    QSlice,
    QSoftmax,
    QSquaredDifference,
    QSub,
    QSvdf,
    QSvdfState,
    QTable,
    QTranspose,
    Window,
)
from rlx.ops.real import RealCast, RealDequantize, RealQuantize, Ties

if TYPE_CHECKING:
    from rlx.ir import Value

RELU = {"low": -128, "zero_point": -128}
WHOLE = ((0, 0), (0, 0))


def convolutions() -> Graph:
    """Return a graph with every way through the rules of convolutions."""
    builder = GraphBuilder("convolutions")
    builder.conv((1, 6, 7, 8), 8, (3, 3), **RELU)
    builder.conv((1, 6, 7, 8), 7, (3, 3), padding=WHOLE, low=-20, high=100)
    builder.conv((2, 5, 6, 3), 6, (3, 3), stride=(2, 1))
    builder.conv((1, 9, 8, 4), 5, (3, 4), padding=WHOLE, stride=(2, 3))
    builder.conv((1, 4, 9, 8), 4, (1, 3))
    builder.conv((1, 9, 6, 8), 4, (3, 3), dilation=(2, 1))
    builder.conv((1, 7, 9, 6), 5, (2, 3), dilation=(1, 2))
    builder.conv((2, 5, 5, 6), 10, (3, 2), groups=2)
    builder.conv((1, 1, 1, 8), 4, (3, 3))
    builder.conv((1, 2, 2, 8), 5, (3, 3), x_zero_point=127)
    builder.conv((2, 4, 4, 5), 9, (1, 1))
    builder.conv((1, 5, 5, 8), 4, (1, 1), stride=(2, 2), padding=WHOLE)
    builder.conv((2, 3, 4, 5), 6, (3, 4), padding=WHOLE)
    builder.conv((1, 4, 4, 8), 4, (3, 3), factors=Rescale.of(0.002))
    builder.conv((1, 4, 4, 8), 4, (3, 3), factors=builder.factors(4, 72, Rounding.SINGLE))
    builder.conv((1, 4, 4, 2), 4, (2, 2), factors=Rescale.of(1.5, 0.9, 0.001, 0.0))
    builder.conv((1, 4, 4, 8), 4, (3, 3), factors=builder.powers(4, 72))
    builder.conv((1, 4, 4, 3), 2, (2, 2), factors=Rescale.of(0.003, rounding=Rounding.ODD))
    builder.conv((1, 4, 4, 4), 4, (3, 3), dtype=DType.I4)
    builder.conv((1, 4, 4, 4), 4, (3, 3), dtype=DType.I2)
    return builder.graph


def depthwise() -> Graph:
    """Return a graph with every way through the rules of depthwise convolutions."""
    builder = GraphBuilder("depthwise")
    builder.conv((1, 6, 5, 8), 8, (3, 3), groups=8, **RELU)
    builder.conv((2, 6, 5, 6), 6, (3, 3), groups=6, stride=(2, 2))
    builder.conv((1, 7, 6, 4), 4, (3, 2), groups=4, padding=WHOLE)
    builder.conv((1, 4, 4, 3), 6, (3, 3), groups=3)
    builder.conv((1, 1, 1, 5), 5, (3, 3), groups=5)
    builder.conv((1, 6, 6, 4), 4, (3, 3), groups=4, dilation=(2, 2))
    builder.conv((2, 6, 6, 4), 8, (5, 5), groups=4)
    builder.conv((1, 6, 6, 3), 3, (5, 4), groups=3, factors=Rescale.of(0.002), x_zero_point=0)
    builder.conv((1, 4, 4, 5), 5, (3, 3), groups=5, factors=Rescale.of(0.01))
    builder.conv((1, 6, 6, 4), 4, (3, 3), groups=4, factors=builder.powers(4, 9))
    return builder.graph


def arithmetic() -> Graph:
    """Return a graph with every way through the rules of dense layers and arithmetic."""
    builder = GraphBuilder("arithmetic")
    single = Rescale.of(0.5, rounding=Rounding.SINGLE)
    builder.dense((2, 3, 13), 6)
    builder.dense((7,), 3)
    builder.dense((1, 8), 8, builder.factors(8, 8))
    builder.dense((1, 8), 5, Rescale.of(0.003, rounding=Rounding.SINGLE))
    builder.dense((1, 8), 5, Rescale.of(1 / 384, rounding=Rounding.FLOAT32))
    x, y = builder.input(2, 3, 5), builder.input(3, 1)
    builder.binary(QAdd, x, y)
    builder.binary(QSub, y, x, x_rescale=Rescale.of(0.9), rescale=Rescale.of(1.0))
    builder.binary(QAdd, x, x, x_rescale=single, y_rescale=single, low=-100, high=3)
    builder.binary(
        QSub, x, builder.constant(5), rescale=Rescale.of(2**-19, rounding=Rounding.SINGLE)
    )
    large = builder.input(1, 8, 8, 8)
    builder.binary(QAdd, large, builder.input(1, 8, 8, 8))
    builder.binary(QSub, large, builder.input(8))
    square = Rescale.of(0.02 / (1 << 14))
    builder.binary(QSquaredDifference, x, y, left_shift=7, rescale=square)
    builder.binary(QSquaredDifference, x, y, left_shift=7, rescale=square, x_rescale=single)
    zero_points = {"x_zero_point": 0, "y_zero_point": -5, "zero_point": 1}
    builder.node(QMul(rescale=Rescale.of(0.01), **zero_points), x, y)
    builder.node(QMul(rescale=Rescale.of(3.0), low=-5, **zero_points), x, x)
    builder.node(QDiv(rescale=Rescale.of(20.0), **zero_points), x, y)
    builder.node(QDiv(rescale=Rescale.of(0.1), low=-5, high=90, **zero_points), x, x)
    product = QMatmul(rescale=Rescale.of(0.01), **zero_points)
    builder.node(product, builder.input(2, 3, 4, 5), builder.input(3, 5, 6))
    builder.node(replace(product, rescale=Rescale.of(3.0), high=90), x, builder.input(2, 5, 1))
    builder.node(QRequantize(x_zero_point=4, rescale=Rescale.of(1.7), zero_point=-9), x)
    builder.node(QClamp(low=-3, high=90), x)
    builder.node(QMaximum(), x, y)
    builder.node(QMinimum(), y, x)
    slopes = {"x_zero_point": 9, "y_zero_point": -5, "zero_point": 3}
    rescale, slope_rescale = Rescale.of(0.8), Rescale.of(0.006)
    for factors in ((rescale, slope_rescale), (Rescale.of(3.0), Rescale.of(1.5))):
        op = QPrelu(rescale=factors[0], slope_rescale=factors[1], **slopes)
        builder.node(op, x, builder.constant(x.type.static_shape[-1]))
    builder.node(QTable(table=tuple(range(127, -129, -1))), x)
    chains_by_channel(builder)
    builder.ternary((2, 21), 3)
    even, odd = (Rescale.of(2.0**-7, rounding=r) for r in (Rounding.EVEN, Rounding.ODD))
    builder.dense((1, 8), 4, even)
    builder.node(QMul(rescale=odd, **zero_points), x, y)
    builder.node(QPrelu(rescale=Rescale.of(0.75, rounding=Rounding.EVEN), slope_rescale=even,
                        **slopes), x, builder.constant(5))  # fmt: skip
    return builder.graph


def chains_by_channel(builder: GraphBuilder) -> None:
    """Append functions that differ by channel, on images of one block of pixels and of several."""
    for shape in ((1, 1, 3), (2, 37, 4), (1, 288, 5), (4, 70, 2)):
        x, slopes = builder.input(*shape), builder.constant(shape[-1])
        scaled = {"x_zero_point": 9, "y_zero_point": -5}
        above, below = Rescale.of(0.8), Rescale.of(0.006)
        op = QPrelu(**scaled, rescale=above, slope_rescale=below, zero_point=3)
        builder.node(op, x, slopes)
        if math.prod(shape[:-1]) < 256:
            continue
        body = Graph("chain")
        step, constant = body.input("x", x.type), body.input("slopes", slopes.type)
        mul = QMul(**scaled, rescale=below, zero_point=9)
        body.output(body.apply(QMaximum(), step, body.apply(mul, step, constant)))
        builder.node(QChain(body=body), x, slopes)


def reductions() -> Graph:
    """Return a graph with every way through the rules of reductions and pools."""
    builder = GraphBuilder("reductions")
    x = builder.input(2, 3, 5)
    single = Rescale.of(0.05, rounding=Rounding.SINGLE)
    builder.node(QMean(axes=(1,), x_zero_point=3, rescale=Rescale.of(0.3), zero_point=4), x)
    builder.node(QMean(axes=(0, -1), x_zero_point=0, rescale=Rescale.of(1.2), zero_point=0), x)
    builder.node(QMean(axes=(0, 1, 2), x_zero_point=-8, rescale=single, zero_point=0), x)
    for axis in (0, 1, -1):
        builder.node(QArgmax(axis=axis), x)
    for scale in (0.1, 7.0, 2.0**-20):
        multiplier, left_shift, diff_min = softmax_scaling(scale)
        softmax = QSoftmax(multiplier=multiplier, left_shift=left_shift, diff_min=diff_min)
        builder.node(softmax, builder.input(2, 9))
    builder.node(QL2Norm(x_zero_point=3), builder.input(2, 9))
    builder.node(QL2Norm(x_zero_point=-128), builder.input(32_000))
    for kind in (QAveragePool2d, QMaxPool2d):
        image = builder.input(2, 5, 6, 3)
        builder.node(kind(window=Window.same((5, 6), (3, 3), (2, 2))), image)
        builder.node(kind(window=Window((5, 6)), low=-10, high=10), image)
        builder.node(kind(window=Window((2, 2), (1, 2), (3, 2))), image)
        builder.node(kind(window=Window((2, 3), (1, 1), (1, 2), ((1, 0), (1, 2)))), image)
        builder.node(kind(window=Window((3, 2), (2, 2))), builder.input(1, 5, 6, 6))
    return builder.graph


def moves() -> Graph:
    """Return a graph with every way through the rules of ops that move values."""
    builder = GraphBuilder("moves")
    x = builder.input(2, 3, 5)
    builder.node(QReshape(shape=(6, 5)), x)
    builder.node(QTranspose(axes=(2, 0, 1)), x)
    builder.node(QTranspose(axes=(1, 0, 2)), x)
    builder.node(QSlice(start=(0, 1, 0), stop=(2, 3, 5), step=(1, 1, 2)), x)
    builder.node(QSlice(start=(1, 0, 1), stop=(2, 3, 4), step=(1, 1, 1)), x)
    builder.node(QPad(before=(0, 1, 2), after=(0, 0, 1), value=-77), x)
    builder.node(QConcat(axis=1), x, builder.input(2, 2, 5), builder.constant(2, 1, 5))
    builder.node(QConcat(axis=-1), x)
    return builder.graph


def resized() -> Graph:
    """Return a graph with every way through the rules of resized images."""
    builder = GraphBuilder("resized")
    both = {"align_corners": True, "half_pixel_centers": True}
    for shape, size, flags in (
        ((2, 3, 5, 4), (6, 10), {"half_pixel_centers": True}),
        ((1, 3, 5, 1), (9, 5), {}),
        ((1, 7, 8, 3), (5, 4), {"align_corners": True}),
        ((1, 2, 1, 3), (1, 4), {}),
        ((2, 4, 4, 2), (4, 3), both),
        # Indices without a formula, along one axis and along both.
        ((1, 28, 2, 1), (92, 2), {}),
        ((1, 28, 43, 2), (92, 19), {}),
        ((1, 28, 43, 2), (92, 19), both),
        ((1, 1, 300, 1), (1, 400), {}),
    ):
        builder.node(QResizeNearest(size=size, **flags), builder.input(*shape))
    for shape, size, flags in (
        ((2, 3, 5, 4), (6, 10), {"half_pixel_centers": True}),
        ((1, 3, 5, 1), (9, 5), {}),
        ((1, 7, 8, 3), (5, 4), {"align_corners": True}),
        ((1, 7, 8, 5), (13, 15), {"align_corners": True}),
        ((1, 1, 1, 3), (1, 4), {"half_pixel_centers": True}),
        ((1, 6, 9, 3), (1, 2), {"half_pixel_centers": True}),
    ):
        builder.node(QResizeBilinear(size=size, **flags), builder.input(*shape))
    return builder.graph


def recurrent() -> Graph:
    """Return a graph with every way through the rules of layers with a state."""
    builder = GraphBuilder("recurrent")
    for batch, inputs, filters, memory, factor in (
        (1, 13, 6, 5, 0.3),
        (2, 4, 3, 1, 1.5),
        (2, 9, 8, 4, 0.02),
    ):
        state = TensorType((batch, filters * memory), DType.I16)
        old = builder.graph.input(f"state{filters}", state)
        op = QSvdfState(x_zero_point=-7, rescale=Rescale.of(factor))
        weights = builder.constant(filters, inputs)
        new = builder.node(op, builder.input(batch, inputs), old, weights)
        units = filters // 2 if filters % 2 == 0 else filters
        output = QSvdf(rescale=Rescale.of(2.0**-25), zero_point=5, low=-100)
        time = builder.constant(filters, memory, dtype=DType.I16)
        builder.node(output, new, time, builder.bias(units, 2**30))
    for batch, inputs, units, power in ((1, 5, 3, -11), (2, 3, 4, -14)):
        factors = {
            "x_zero_point": 4, "h_zero_point": -9,
            "input_rescale": Rescale.of(0.4, 1.2, 0.7),
            "recurrent_rescale": Rescale.of(0.3, 0.9, 2.0),
        }  # fmt: skip
        x, h = builder.input(batch, inputs), builder.input(batch, units)
        cell = builder.graph.input(f"cell{batch}", TensorType((batch, units), DType.I16))
        op = QLstmCell(
            **factors, forget_rescale=Rescale.of(2.0**-15),
            update_rescale=Rescale.of(2.0 ** (-30 - power)), clip=32768 if batch == 1 else 20000,
        )  # fmt: skip
        weights = [builder.constant(3 * units, n) for n in (inputs, units)]
        following = builder.node(op, x, h, cell, *weights, builder.bias(3 * units))
        factors |= {"input_rescale": Rescale.of(0.4), "recurrent_rescale": Rescale.of(0.3)}
        output = QLstmOutput(**factors, power=power, rescale=Rescale.of(2.0**-23))
        weights = [builder.constant(units, n) for n in (inputs, units)]
        builder.node(output, x, h, following, *weights, builder.bias(units))
    even = Rescale.of(2.0**-4, rounding=Rounding.EVEN)
    small = builder.graph.constant(np.full((2, 3), -2, np.int16))
    wide = builder.graph.input("wide", TensorType((1, 6), DType.I16))
    builder.node(QSvdf(rescale=even, zero_point=0), wide, small, builder.bias(2))
    builder.node(QSvdf(rescale=Rescale.of(0.001), zero_point=0), wide, small, builder.bias(1))
    single = QSvdfState(x_zero_point=3, rescale=Rescale.of(0.7, rounding=Rounding.SINGLE))
    builder.node(single, builder.input(1, 5), wide, builder.constant(2, 5))
    return builder.graph


def classifier(seed: int = 7, scale: float = 0.05) -> Graph:
    """Return a small network with a shortcut, as real ones are, all types quantized.

    Args:
        seed: Of its constants; all networks have the same structure.
        scale: Of its input.
    """
    builder = GraphBuilder("tiny classifier", seed)
    quant = QuantParams.per_tensor(scale, -4)
    x = builder.graph.input("image", i8(1, 6, 6, 3, quant=quant))

    def conv(value: Value, outputs: int, kernel: int, name: str, groups: int = 1) -> Value:
        inner = value.type.static_shape[3] // groups
        op = QConv2d(
            window=Window.same((6, 6), (kernel, kernel)),
            groups=groups,
            x_zero_point=-4,
            rescale=builder.factors(outputs, kernel * kernel * inner),
            zero_point=-4,
        )
        weights = builder.constant(outputs, kernel, kernel, inner)
        return builder.graph.apply(
            op, value, weights, builder.bias(outputs), name=name, quant=quant
        )

    first = conv(x, 8, 3, "conv")
    second = conv(conv(first, 8, 3, "depthwise", groups=8), 8, 1, "pointwise")
    add = QAdd(
        x_zero_point=-4, y_zero_point=-4, x_rescale=Rescale.of(0.5), y_rescale=Rescale.of(0.5),
        rescale=Rescale.of(1 / 2**18), zero_point=-4,
    )  # fmt: skip
    total = builder.graph.apply(add, first, second, name="shortcut", quant=quant)
    pooled = builder.graph.apply(QAveragePool2d(window=Window((6, 6))), total, name="pool")
    flat = builder.graph.apply(QReshape(shape=(1, 8)), pooled, name="flatten")
    dense = QDense(x_zero_point=-4, rescale=Rescale.of(0.004), zero_point=0)
    logits = builder.graph.apply(
        dense, flat, builder.constant(3, 8), builder.bias(3), name="logits"
    )
    multiplier, left_shift, diff_min = softmax_scaling(0.1)
    softmax = QSoftmax(multiplier=multiplier, left_shift=left_shift, diff_min=diff_min)
    builder.graph.output(
        builder.graph.apply(softmax, logits, name="softmax"), names=["probabilities"]
    )
    return builder.graph


QUANTS = {
    DType.I8: QuantParams.per_tensor(0.05, -4),
    DType.U8: QuantParams.per_tensor(0.7, 200),
    DType.I16: QuantParams.per_tensor(1 / 3000, 17),
}
"""Parameters for each element type of activations."""


def bridges() -> Graph:
    """Return a graph with every way from and to real numbers."""
    builder = GraphBuilder("bridges")
    for dtype, quant in QUANTS.items():
        for ties in Ties:
            x = builder.graph.input(f"x{builder.graph.count}", f32(3, 41))
            quantized = builder.node(RealQuantize(quant=quant, dtype=dtype, ties=ties), x)
        builder.node(RealDequantize(quant=quant), quantized)
    return builder.graph


def conversions() -> Graph:
    """Return a graph with every way from an element type of activations to another."""
    builder = GraphBuilder("conversions")
    for dtype, quant in QUANTS.items():
        (zero_point,) = quant.zero_point
        x = builder.graph.input(f"x{builder.graph.count}", TensorType((200,), dtype, quant))
        for other in QUANTS:
            if DType.I8 is dtype is other:
                continue
            factors = Rescale.of(0.3), Rescale.of(300.0), Rescale.of(2.5, rounding=Rounding.SINGLE)
            for rescale in factors if dtype is DType.I16 else factors[-2:]:
                op = QConvert(x_zero_point=zero_point, rescale=rescale, zero_point=3, dtype=other)
                builder.node(op, x)
        if dtype is not DType.I16:
            other, by = (DType.U8, 128) if dtype is DType.I8 else (DType.I8, -128)
            flip = QConvert(
                x_zero_point=zero_point,
                rescale=Rescale.of(1.0),
                zero_point=zero_point + by,
                dtype=other,
            )
            builder.node(flip, x)
    return builder.graph


def casts() -> Graph:
    """Return a graph with changes of element type that keep the number."""
    builder = GraphBuilder("casts")
    real = builder.node(RealDequantize(quant=QuantParams.per_tensor(2.0**11)), builder.input(77))
    for dtype in (DType.I8, DType.U8, DType.I16, DType.I32, DType.F32):
        builder.node(RealCast(dtype=dtype), real)
    for source, result in (
        (DType.I8, DType.U8), (DType.U8, DType.I8), (DType.U8, DType.I32), (DType.I16, DType.I8),
        (DType.I16, DType.U8), (DType.I32, DType.I16), (DType.U8, DType.F32),
        (DType.I32, DType.F32),
    ):  # fmt: skip
        x = builder.graph.input(f"x{builder.graph.count}", TensorType((19,), source))
        builder.node(RealCast(dtype=result), x)
    return builder.graph


KERNEL_GRAPHS = (
    convolutions, depthwise, arithmetic, reductions, moves, recurrent, resized, classifier, bridges,
    conversions, casts, int16,
)  # fmt: skip
"""Functions that return the graphs."""
