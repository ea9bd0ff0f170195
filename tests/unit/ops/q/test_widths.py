"""Ops of both widths on int16: types, refusals, and prepared forms that equal ``evaluate``."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import DType, Graph, QuantParams, TensorType, i8
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import (
    OF_BOTH_WIDTHS,
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
    QSlice,
    QSub,
    QTranspose,
    Window,
    computes_int16,
)
from rlx.passes.canonicalize import Canonicalize
from rlx.passes.constant_channels import DropConstantChannels
from rlx.passes.dead_code import DeadCode
from rlx.passes.fuse_clamps import FuseClamps
from rlx.support.errors import ShapeError
from support.messages import raises

ENDS = {"low": -32768, "high": 32767}
POINTS = {"x_zero_point": 0, "zero_point": 0}
HALF = Rescale.of(0.5)
SUM = {"x_rescale": HALF, "y_rescale": HALF, "left_shift": 15, "y_zero_point": 0}
WIDE = Rescale.wide(1e-4)
DENSE = QDense(**POINTS, **ENDS, rescale=WIDE)
CONV = QConv2d(window=Window((2, 2)), **POINTS, **ENDS, rescale=Rescale.wide(*[1e-4] * 3))
ADD = QAdd(**POINTS, **SUM, **ENDS, rescale=Rescale.of(2.0**-14))


def i16(*shape: int) -> TensorType:
    return TensorType(shape, DType.I16)


def i64(*shape: int) -> TensorType:
    return TensorType(shape, DType.I64)


CASES = {
    QAdd: (ADD, (i16(2, 6), i16(6))),
    QSub: (QSub(**POINTS, **SUM, **ENDS, rescale=Rescale.of(2.0**-14)), (i16(2, 6), i16(2, 6))),
    QMul: (QMul(**POINTS, y_zero_point=0, **ENDS, rescale=Rescale.of(1e-4)), (i16(6), i16(6))),
    QRequantize: (QRequantize(**POINTS, **ENDS, rescale=Rescale.of(0.7)), (i16(50),)),
    QClamp: (QClamp(low=-300, high=20000), (i16(50),)),
    QAveragePool2d: (QAveragePool2d(window=Window((2, 2)), **ENDS), (i16(1, 4, 4, 3),)),
    QMaxPool2d: (
        QMaxPool2d(window=Window((3, 3), padding=((1, 1), (1, 1))), **ENDS),
        (i16(1, 4, 4, 3),),
    ),
    QMean: (QMean(**POINTS, **ENDS, axes=(1,), rescale=Rescale.of(0.4)), (i16(3, 4),)),
    QDense: (DENSE, (i16(2, 6), i8(4, 6), i64(4))),
    QConv2d: (CONV, (i16(1, 4, 4, 2), i8(3, 2, 2, 2), i64(3))),
    QReshape: (QReshape(shape=(6, 2)), (i16(3, 4),)),
    QConcat: (QConcat(axis=0), (i16(3, 4), i16(1, 4))),
    QPad: (QPad(before=(1, 0), after=(0, 2), value=-300), (i16(3, 4),)),
    QSlice: (QSlice(start=(1, 0), stop=(3, 4), step=(1, 2)), (i16(3, 4),)),
    QTranspose: (QTranspose(axes=(1, 0)), (i16(3, 4),)),
}


@pytest.mark.parametrize("kind", OF_BOTH_WIDTHS, ids=lambda kind: kind.name)
def test_every_op_computes_int16_and_its_prepared_form_agrees(kind) -> None:
    op, types = CASES[kind]
    random = np.random.default_rng(0)
    arrays = [
        random.integers(*((-127, 128) if t.dtype is DType.I8 else (-32768, 32768)), t.static_shape)
        for t in types
    ]
    operands = [a.astype(t.dtype.numpy) for a, t in zip(arrays, types, strict=True)]
    (result,) = op.infer(*types)
    (expected,) = op.evaluate(*operands)
    assert result.dtype is DType.I16
    assert (expected.dtype, expected.shape) == (np.int16, result.static_shape)
    constants = [None, *operands[1:]] if len(types) == 3 else [None] * len(types)
    (found,) = op.prepare(constants)(*operands)
    np.testing.assert_array_equal(found, expected)


def test_layers_round_once_or_twice_by_the_type_of_their_bias() -> None:
    x, w, none = np.array([[-6]], np.int16), np.array([[1]], np.int8), np.zeros(1, np.int64)
    once = QDense(**POINTS, **ENDS, rescale=Rescale.wide(0.25))
    twice = QDense(**POINTS, **ENDS, rescale=Rescale.of(0.25))
    assert once.evaluate(x, w, none)[0].item() == -1
    assert twice.evaluate(x, w, none.astype(np.int32))[0].item() == -2


def test_int32_sums_wrap_around() -> None:
    x, w = np.full((1, 600), -32768, np.int16), np.full((1, 600), -128, np.int8)
    op = QDense(**POINTS, **ENDS, rescale=Rescale.of(2.0**-17))
    (y,) = op.evaluate(x, w, np.zeros(1, np.int32))
    assert y.item() == (600 * 2**22 - 2**32) >> 17


def test_sums_beyond_int32_are_exact_in_int64() -> None:
    x, w = np.full((1, 600), -32768, np.int16), np.full((1, 600), -128, np.int8)
    op = QDense(**POINTS, **ENDS, rescale=Rescale.wide(2.0**-18))
    (y,) = op.evaluate(x, w, np.array([2**40], np.int64))
    assert y.item() == 32767
    (y,) = op.evaluate(x, w, np.array([-(2**31)], np.int64))
    assert y.item() == (600 * 2**22 - 2**31) >> 18


@pytest.mark.parametrize(
    ("op", "types"),
    [
        (DENSE, (i16(2, 6), i8(4, 6), TensorType((4,), DType.I32))),
        (QDense(**POINTS, **ENDS, rescale=HALF), (i16(2, 6), i8(4, 6), i64(4))),
        (QDense(**POINTS, **ENDS, rescale=Rescale.of(0.3, rounding=Rounding.EVEN)),
         (i16(2, 6), i8(4, 6), TensorType((4,), DType.I32))),
        (QDense(x_zero_point=1, zero_point=0, **ENDS, rescale=WIDE), (i16(2, 6), i8(4, 6), i64(4))),
        (ADD, (i16(2, 6), i8(2, 6))),
        (QConcat(axis=0), (i16(3, 4), i8(1, 4))),
        (QClamp(low=-40000), (i16(3),)),
        (QPad(before=(1,), after=(0,), value=40000), (i16(3),)),
    ],
)  # fmt: skip
def test_refusals(op, types) -> None:
    with raises(ShapeError):
        op.infer(*types)


def test_ops_on_int8_do_not_compute_int16() -> None:
    graph = Graph("g")
    narrow = graph.apply(QClamp(low=0), graph.input("x", i8(4)))
    wide = graph.apply(QClamp(low=0, high=300), graph.input("y", i16(4)))
    assert not computes_int16(narrow.node)
    assert computes_int16(wide.node)


def test_a_clamp_to_the_range_of_int8_stays() -> None:
    graph = Graph("g")
    graph.output(graph.apply(QClamp(), graph.input("x", i16(4))))
    assert len([*Canonicalize().apply(graph).op_nodes]) == 1


def test_a_clamp_to_the_range_of_int16_is_removed() -> None:
    graph = Graph("g")
    graph.output(graph.apply(QClamp(**ENDS), graph.input("x", i16(4))))
    assert not [*Canonicalize().apply(graph).op_nodes]


def test_clamps_are_fused() -> None:
    graph = Graph("g")
    total = graph.apply(ADD, graph.input("x", i16(4)), graph.input("y", i16(4)))
    graph.output(graph.apply(QClamp(low=0, high=3000), total))
    (node,) = DeadCode().apply(FuseClamps().apply(graph)).op_nodes
    assert (node.op.low, node.op.high) == (0, 3000)


def test_channels_without_weights_stay() -> None:
    graph = Graph("g")
    x = graph.input("x", TensorType((1, 4), DType.I16, QuantParams.per_tensor(0.1)))
    w = graph.constant(np.zeros((4, 4), np.int8))
    bias = graph.constant(np.zeros(4, np.int64))
    y = graph.apply(DENSE, graph.apply(DENSE, x, w, bias), w, bias)
    graph.output(y)
    first, _ = DropConstantChannels().apply(graph).op_nodes
    assert first.types[0].shape == (1, 4)
