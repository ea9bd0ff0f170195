from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Dim, i8, i32
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QAdd, QClamp, QMul, QRequantize, QSub
from rlx.support.errors import ShapeError
from support.messages import raises
from support.references.oracle import ACTIVATIONS, Quant, clamp_of, codes, quants, run_operator

HALF = Rescale.of(0.5)
ADD = QAdd(
    x_zero_point=0, y_zero_point=0, x_rescale=HALF, y_rescale=HALF, rescale=HALF, zero_point=0
)
MUL = QMul(x_zero_point=0, y_zero_point=0, rescale=HALF, zero_point=0)
REQUANTIZE = QRequantize(x_zero_point=0, rescale=HALF, zero_point=0)

SHAPES = st.sampled_from(
    [
        ((6,), (6,)),
        ((2, 3), (2, 3)),
        ((1, 3, 4, 5), (1, 3, 4, 5)),
        ((1, 3, 4, 5), (5,)),
        ((1, 3, 4, 5), (1, 1, 1, 5)),
        ((1, 3, 1, 5), (1, 1, 4, 5)),
        ((1, 3, 4, 5), (1,)),
    ]
)


def tflm_binary(code, x, y, quantities, shape, activation):
    return run_operator(
        code, [(x, quantities[0]), (y, quantities[1])], (shape, quantities[2]),
        fusedActivationFunction=activation,
    )  # fmt: skip


def sum_op(kind: type[QAdd], x: Quant, y: Quant, result: Quant, activation: str) -> QAdd:
    """The op as the reals say: both operands to twice the greater scale, 20 bits of headroom."""
    common = 2 * max(x.scale, y.scale)
    return kind(
        x_zero_point=x.zero_point,
        y_zero_point=y.zero_point,
        x_rescale=Rescale.of(x.scale / common),
        y_rescale=Rescale.of(y.scale / common),
        rescale=Rescale.of(common / (2**20 * result.scale)),
        zero_point=result.zero_point,
        **clamp_of(activation, result),
    )


@pytest.mark.parametrize(("code", "kind"), [("ADD", QAdd), ("SUB", QSub)])
@given(
    shapes=SHAPES,
    quantities=st.tuples(quants(), quants(), quants()),
    activation=ACTIVATIONS,
    seed=st.integers(0, 2**16),
)
def test_sums_equal_tflm(code, kind, shapes, quantities, activation, seed: int) -> None:
    x, y = codes(seed, shapes[0]), codes(seed + 1, shapes[1])
    shape = np.broadcast_shapes(*shapes)
    expected = tflm_binary(code, x, y, quantities, shape, activation)
    (result,) = sum_op(kind, *quantities, activation).evaluate(x, y)
    assert np.array_equal(result, expected)


@given(
    shapes=SHAPES,
    quantities=st.tuples(quants(), quants(), quants(0.001, 1.0)),
    activation=ACTIVATIONS,
    seed=st.integers(0, 2**16),
)
def test_products_equal_tflm(shapes, quantities, activation: str, seed: int) -> None:
    x, y = codes(seed, shapes[0]), codes(seed + 1, shapes[1])
    shape = np.broadcast_shapes(*shapes)
    expected = tflm_binary("MUL", x, y, quantities, shape, activation)
    qx, qy, result = quantities
    op = QMul(
        x_zero_point=qx.zero_point,
        y_zero_point=qy.zero_point,
        rescale=Rescale.of(qx.scale * qy.scale / result.scale),
        zero_point=result.zero_point,
        **clamp_of(activation, result),
    )
    assert np.array_equal(op.evaluate(x, y)[0], expected)


@given(quants(), quants(0.001, 2.0))
def test_requantize_equals_tflm_for_every_code(source: Quant, target: Quant) -> None:
    x = np.arange(-128, 128).astype(np.int8)
    expected = run_operator("QUANTIZE", [(x, source)], (x.shape, target))
    op = QRequantize(
        x_zero_point=source.zero_point,
        rescale=Rescale.of(source.scale / target.scale),
        zero_point=target.zero_point,
    )
    assert np.array_equal(op.evaluate(x)[0], expected)


def test_subtraction_is_not_symmetric() -> None:
    x, y = np.array([10], np.int8), np.array([3], np.int8)
    one = Rescale.of(2.0**-19)
    op = QSub(
        x_zero_point=0, y_zero_point=0, x_rescale=HALF, y_rescale=HALF, rescale=one, zero_point=0
    )
    assert op.evaluate(x, y)[0].tolist() == [7]
    assert op.evaluate(y, x)[0].tolist() == [-7]


def test_clamp_limits_both_sides() -> None:
    x = np.array([-128, -3, -2, 4, 5, 127], np.int8)
    (result,) = QClamp(low=-2, high=4).evaluate(x)
    assert (result.dtype, result.tolist()) == (np.int8, [-2, -2, -2, 4, 4, 4])


@pytest.mark.parametrize("op", [ADD, MUL])
def test_binary_broadcasts_shapes_with_symbols(op) -> None:
    batch = Dim("batch")
    assert op.infer(i8(batch, 4), i8(1, 4)) == (i8(batch, 4),)
    assert op.infer(i8(3), i8(2, 1)) == (i8(2, 3),)


@pytest.mark.parametrize(
    ("op", "types"),
    [
        (ADD, (i32(2), i8(2))),
        (ADD, (i8(2), i32(2))),
        (ADD, (i8(2), i8(3))),
        (ADD, (i8(2),)),
        (replace(ADD, x_rescale=Rescale.of(0.5, 0.5)), (i8(2), i8(2))),
        (replace(ADD, y_rescale=Rescale.of(1.5)), (i8(2), i8(2))),
        (replace(ADD, left_shift=21), (i8(2), i8(2))),
        (replace(MUL, y_zero_point=128), (i8(2), i8(2))),
        (replace(MUL, low=3, high=2), (i8(2), i8(2))),
        (MUL, (i8(2), i32(2))),
        (REQUANTIZE, (i32(2),)),
        (replace(REQUANTIZE, rescale=Rescale.of(1.0, 1.0)), (i8(2),)),
        (replace(REQUANTIZE, zero_point=-129), (i8(2),)),
        (QClamp(), (i32(2),)),
        (QClamp(low=-129), (i8(2),)),
    ],
)
def test_refusals(op, types) -> None:
    with raises(ShapeError):
        op.infer_checked(*types)


@pytest.mark.parametrize("op", [ADD, MUL])
def test_results_without_dimensions_are_arrays(op) -> None:
    scalar = np.array(4, np.int8)
    for (result,) in (op.evaluate(scalar, scalar), QClamp().evaluate(scalar)):
        assert isinstance(result, np.ndarray)
        assert (result.shape, result.dtype) == ((), np.int8)
