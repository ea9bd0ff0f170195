"""Small integer graphs for tests of the exporters: one op each, with scales on all values."""

from __future__ import annotations

import numpy as np

from rlx.ir import DType, Graph, QuantParams, TensorType
from rlx.ops.numerics.activations import leaky_relu_table, logistic_table
from rlx.ops.q import (
    QAdd,
    QArgmax,
    QAveragePool2d,
    QClamp,
    QConcat,
    QConv2d,
    QConvert,
    QDense,
    QDiv,
    QL2Norm,
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
    QTable,
    QTranspose,
    Window,
)
from rlx.ops.rescale import linear_rescale, rescale_of, softmax_scaling, square_scaling, sum_scaling

X = QuantParams.per_tensor(0.0471, -7)
Y = QuantParams.per_tensor(0.0313, 12)
IMAGE = (1, 6, 5, 4)
PADDED = Window((3, 3), (2, 2), padding=((1, 0), (0, 1)))


def typed(shape, quant=X, dtype=DType.I8):
    return TensorType(shape, dtype, quant)


def single(op, *shapes, result=X, quant=X, dtype=DType.I8):
    """Return a graph of one op on inputs of the same quantization."""
    graph = Graph("single")
    inputs = [graph.input(f"x{i}", typed(s, quant, dtype)) for i, s in enumerate(shapes)]
    graph.output(graph.apply(op, *inputs, name="y", quant=result))
    return graph


def layer(op, shape, weights, *, dtype=np.int8, quant=X, result=Y):
    """Return a graph of a convolution or dense layer with a scale for each output channel."""
    random = np.random.default_rng(len(weights) + weights[0])
    graph = Graph("layer")
    x = graph.input("x", typed(shape, quant))
    scales = tuple(float(np.float32(s)) for s in random.uniform(0.001, 0.01, weights[0]))
    limit = 128 if dtype is np.int8 else 7
    w = graph.constant(
        random.integers(-limit + 1, limit, weights).astype(dtype),
        quant=QuantParams(scales, (0,) * len(scales), 0 if len(scales) > 1 else None),
    )
    bias = graph.constant(random.integers(-4000, 4000, weights[0]).astype(np.int32))
    rescale = linear_rescale(quant.scale[0], scales, result.scale[0])
    graph.output(graph.apply(op(rescale=rescale), x, w, bias, name="y", quant=result))
    return graph


def conv(shape, weights, window, groups=1, **bounds):
    def op(rescale):
        return QConv2d(
            window=window, groups=groups, x_zero_point=-7, rescale=rescale, zero_point=12, **bounds
        )

    return layer(op, shape, weights)


def dense(shape, weights, dtype=np.int8, **bounds):
    def op(rescale):
        return QDense(x_zero_point=-7, rescale=rescale, zero_point=12, **bounds)

    return layer(op, shape, weights, dtype=dtype)


def total(make, **bounds):
    scale_operands = square_scaling if make is QSquaredDifference else sum_scaling
    scaling = scale_operands(X.scale[0], X.scale[0], Y.scale[0])
    op = make(
        x_zero_point=-7, y_zero_point=-7, x_rescale=scaling.x_rescale, y_rescale=scaling.y_rescale,
        left_shift=scaling.left_shift, rescale=scaling.rescale, zero_point=12, **bounds,
    )  # fmt: skip
    return single(op, IMAGE, IMAGE, result=Y)


def prelu():
    graph = Graph("prelu")
    x = graph.input("x", typed(IMAGE))
    slopes = QuantParams.per_tensor(0.0123, 3)
    y = graph.constant(np.array([-90, 4, 30, 127], np.int8), quant=slopes)
    rescale = rescale_of(X.scale[0] / Y.scale[0])
    slope_rescale = rescale_of(X.scale[0] * slopes.scale[0] / Y.scale[0])
    op = QPrelu(
        x_zero_point=-7, y_zero_point=3, rescale=rescale, slope_rescale=slope_rescale,
        zero_point=12, low=-100,
    )  # fmt: skip
    graph.output(graph.apply(op, x, y, name="y", quant=Y))
    return graph


def table(values, result=Y):
    return single(QTable(table=tuple(values)), IMAGE, result=result)


def softmax():
    scaling = softmax_scaling(X.scale[0], 1.0)
    op = QSoftmax(
        multiplier=scaling.multiplier, left_shift=scaling.left_shift, diff_min=scaling.diff_min
    )
    return single(op, (1, 10), result=QuantParams.per_tensor(1 / 256, -128))


def mean(keep_dims, axes, **bounds):
    count = int(np.prod([IMAGE[a] for a in axes]))
    rescale = rescale_of(X.scale[0] / Y.scale[0]).divided(count)
    op = QMean(
        axes=axes, keep_dims=keep_dims, x_zero_point=-7, rescale=rescale, zero_point=12, **bounds
    )
    return single(op, IMAGE, result=Y)


def requantized(rescale, zero_point=-7):
    """Return a graph that keeps scale and zero point, but not the factor or operand's point."""
    return single(QRequantize(x_zero_point=zero_point, rescale=rescale, zero_point=-7), (1, 4))


def requantize(**bounds):
    rescale = rescale_of(X.scale[0] / Y.scale[0])
    op = QRequantize(x_zero_point=-7, rescale=rescale, zero_point=12, **bounds)
    return single(op, IMAGE, result=Y)


def converted():
    op = QConvert(x_zero_point=121, rescale=rescale_of(1.0), zero_point=-7, dtype=DType.I8)
    return single(op, IMAGE, quant=QuantParams.per_tensor(X.scale[0], 121), dtype=DType.U8)


def product():
    rescale = rescale_of(X.scale[0] * X.scale[0] / Y.scale[0])
    op = QMul(x_zero_point=-7, y_zero_point=-7, rescale=rescale, zero_point=12)
    return single(op, IMAGE, IMAGE, result=Y)


def quotient(**bounds):
    rescale = rescale_of(X.scale[0] / (X.scale[0] * Y.scale[0]))
    op = QDiv(x_zero_point=-7, y_zero_point=-7, rescale=rescale, zero_point=12, **bounds)
    return single(op, IMAGE, IMAGE, result=Y)


def matmul(**bounds):
    rescale = rescale_of(X.scale[0] * X.scale[0] / Y.scale[0])
    op = QMatmul(x_zero_point=-7, y_zero_point=-7, rescale=rescale, zero_point=12, **bounds)
    return single(op, (2, 3, 4, 5), (3, 5, 6), result=Y)


SINUS = [round(100 * np.sin(code / 20)) for code in range(-128, 128)]
LEAKY = leaky_relu_table(X.scale[0], -7, 0.123, Y.scale[0], 12)
ABSOLUTE = [LEAKY[128 + min(max(code, -14 - code), 127)] for code in range(-128, 128)]
"""Negative numbers as positive ones: from 0 on the table of a leaky ReLU, of no slope below."""
LOGISTIC = logistic_table(X.scale[0], -7)

GRAPHS = {
    "add": lambda: total(QAdd),
    "add-clamped": lambda: total(QAdd, low=-3, high=99),
    "sub": lambda: total(QSub),
    "squared-difference": lambda: total(QSquaredDifference),
    "mul": product,
    "argmax": lambda: single(QArgmax(axis=1), IMAGE, result=None),
    "average-pool": lambda: single(QAveragePool2d(window=Window((2, 2), (2, 2))), IMAGE),
    "average-pool-same": lambda: single(
        QAveragePool2d(window=Window.same((6, 5), (3, 3), (2, 2))), IMAGE
    ),
    "max-pool-padded": lambda: single(QMaxPool2d(window=PADDED, low=-50), IMAGE),
    "clamp": lambda: single(QClamp(low=-30, high=77), IMAGE),
    "clamp-none": lambda: single(QClamp(), IMAGE),
    "clamp-relu": lambda: single(QClamp(low=-7), IMAGE),
    "concat": lambda: single(QConcat(axis=3), IMAGE, IMAGE),
    "conv": lambda: conv(IMAGE, (8, 3, 3, 4), Window((3, 3))),
    "conv-same": lambda: conv(IMAGE, (8, 3, 3, 4), Window.same((6, 5), (3, 3), (2, 2))),
    "conv-padded": lambda: conv(IMAGE, (8, 3, 3, 4), PADDED, low=12),
    "conv-dilated": lambda: conv(IMAGE, (8, 2, 2, 4), Window((2, 2), dilation=(3, 2))),
    "conv-grouped": lambda: conv(IMAGE, (8, 3, 3, 2), Window((3, 3)), groups=2),
    "depthwise": lambda: conv(IMAGE, (8, 3, 3, 1), PADDED, groups=4, low=-20, high=90),
    "convert": converted,
    "dense": lambda: dense((3, 20), (7, 20)),
    "dense-rows": lambda: dense((2, 3, 20), (7, 20), high=40),
    "l2-norm": lambda: single(
        QL2Norm(x_zero_point=-7), (3, 20), result=QuantParams.per_tensor(1 / 128, 0)
    ),
    "div": quotient,
    "div-clamped": lambda: quotient(low=0, high=99),
    "matmul": matmul,
    "matmul-clamped": lambda: matmul(low=-60, high=70),
    "maximum": lambda: single(QMaximum(), IMAGE, IMAGE),
    "minimum": lambda: single(QMinimum(), IMAGE, (4,)),
    "mean": lambda: mean(False, (1, 2)),
    "mean-kept": lambda: mean(True, (1, 2), low=-40, high=40),
    "mean-columns": lambda: mean(False, (2,)),
    "pad": lambda: single(QPad(before=(0, 1, 0, 0), after=(0, 2, 1, 0), value=-7), IMAGE),
    "pad-code": lambda: single(QPad(before=(0, 1, 0, 0), after=(0, 2, 1, 0), value=50), IMAGE),
    "prelu": prelu,
    "requantize": requantize,
    "requantize-clamped": lambda: requantize(low=12),
    "reshape": lambda: single(QReshape(shape=(5, 24)), IMAGE),
    "resize-bilinear": lambda: single(QResizeBilinear(size=(3, 10)), IMAGE),
    "resize-bilinear-aligned": lambda: single(
        QResizeBilinear(size=(21, 9), align_corners=True), IMAGE
    ),
    "resize-bilinear-centers": lambda: single(
        QResizeBilinear(size=(12, 20), half_pixel_centers=True), IMAGE
    ),
    "resize-nearest": lambda: single(QResizeNearest(size=(12, 7)), IMAGE),
    "resize-nearest-both": lambda: single(
        QResizeNearest(size=(3, 11), align_corners=True, half_pixel_centers=True), IMAGE
    ),
    "slice": lambda: single(
        QSlice(start=(0, 1, 0, 1), stop=(1, 6, 5, 3), step=(1, 2, 1, 1)), IMAGE
    ),
    "softmax": softmax,
    "table": lambda: table(SINUS),
    "table-absolute": lambda: table(ABSOLUTE),
    "table-leaky": lambda: table(LEAKY),
    "table-logistic": lambda: table(LOGISTIC, QuantParams.per_tensor(1 / 256, -128)),
    "transpose": lambda: single(QTranspose(axes=(0, 3, 1, 2)), IMAGE),
}  # fmt: skip
"""Graph by name; each op occurs."""


def random_inputs(graph, seed=0):
    random = np.random.default_rng(seed)
    found = {}
    for value in graph.inputs:
        info = np.iinfo(value.type.dtype.numpy)
        shape = value.type.static_shape
        found[value.name] = random.integers(info.min, info.max + 1, shape).astype(info.dtype)
    return found
