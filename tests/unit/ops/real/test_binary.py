from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Dim, DType, QuantParams, TensorType, f32, i8, i32
from rlx.ops import real
from rlx.ops.real import Comparison
from rlx.support.errors import ShapeError
from support.messages import raises

bytes_ = st.integers(-128, 127)


def wrap(number: int) -> int:
    return (number + 128) % 256 - 128


INTEGER_OPS = [
    (real.RealAdd, operator.add),
    (real.RealSub, operator.sub),
    (real.RealMul, operator.mul),
    (real.RealMaximum, max),
    (real.RealMinimum, min),
    (real.RealDiv, lambda a, b: math.trunc(a / b) if b else 0),
    (real.RealRemainder, lambda a, b: a % b if b else 0),
    (real.RealPow, lambda a, b: a**b if b >= 0 else math.trunc(1 / a**-b) if a else 0),
    (real.RealBitAnd, operator.and_),
    (real.RealBitOr, operator.or_),
    (real.RealBitXor, operator.xor),
    (real.RealShiftLeft, lambda a, b: a << b if 0 <= b < 8 else 0),
    (real.RealShiftRight, lambda a, b: a >> b if 0 <= b < 8 else -(a < 0)),
]


@pytest.mark.parametrize(("op", "definition"), INTEGER_OPS, ids=lambda p: getattr(p, "name", ""))
@given(a=bytes_, b=bytes_)
def test_integers_are_exact_and_wrap(op, definition, a, b):
    (result,) = op().evaluate(np.array([a], np.int8), np.array([b], np.int8))
    assert result.dtype == np.int8
    assert result[0] == wrap(definition(a, b))


FLOAT_OPS = [
    (real.RealAdd, operator.add),
    (real.RealSub, operator.sub),
    (real.RealMul, operator.mul),
    (real.RealDiv, operator.truediv),
    (real.RealMaximum, max),
    (real.RealMinimum, min),
]


@pytest.mark.parametrize(("op", "definition"), FLOAT_OPS, ids=lambda p: getattr(p, "name", ""))
def test_float64_arithmetic_is_pythons(op, definition):
    x, y = np.linspace(-3, 5, 40), np.linspace(7, -2, 40) + 0.01
    expected = [definition(float(a), float(b)) for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(op().evaluate(x, y)[0], expected)


@given(a=st.integers(0, 2**64 - 1), b=st.integers(0, 70))
def test_shifts_of_unsigned_integers_fill_with_zeros(a, b):
    x, y = np.array([a], np.uint64), np.array([b], np.uint64)
    assert real.RealShiftLeft().evaluate(x, y)[0].tolist() == [(a << b) % 2**64 if b < 64 else 0]
    assert real.RealShiftRight().evaluate(x, y)[0].tolist() == [a >> b]


def test_pow_is_the_power():
    x, y = np.array([2.0, 9.0, -8.0, -8.0, 0.0]), np.array([10.0, 0.5, 3.0, 1 / 3, 0.0])
    (result,) = real.RealPow().evaluate(x, y)
    np.testing.assert_array_equal(result, [1024.0, 3.0, -512.0, np.nan, 1.0])


def test_remainder_has_the_sign_of_the_divisor():
    x, y = np.array([7.5, -7.5, 7.5, -7.5]), np.array([2.0, 2.0, -2.0, -2.0])
    np.testing.assert_array_equal(real.RealRemainder().evaluate(x, y)[0], [1.5, 0.5, -0.5, -1.5])


@pytest.mark.parametrize("op", [real.RealMaximum, real.RealMinimum])
def test_extremes_hand_on_nan(op):
    (result,) = op().evaluate(np.array([np.nan, 1.0]), np.array([1.0, np.nan]))
    assert np.isnan(result).all()


def test_extremes_of_booleans_are_or_and_and():
    x, y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    assert real.RealMaximum().evaluate(x, y)[0].tolist() == [False, True, True, True]
    assert real.RealMinimum().evaluate(x, y)[0].tolist() == [False, False, False, True]


def test_narrow_floats_are_rounded_once():
    x = np.array([1.0, 300.0], np.float16)
    y = np.array([2.0**-11, 300.0], np.float16)
    (result,) = real.RealAdd().evaluate(x, y)
    # 1 + 2^-11 lies halfway between two f16 numbers: the even one.
    assert result.tolist() == [1.0, 600.0]


RELATIONS = {
    Comparison.EQUAL: operator.eq,
    Comparison.NOT_EQUAL: operator.ne,
    Comparison.LESS: operator.lt,
    Comparison.LESS_EQUAL: operator.le,
    Comparison.GREATER: operator.gt,
    Comparison.GREATER_EQUAL: operator.ge,
}


@pytest.mark.parametrize("relation", Comparison)
def test_comparison_is_pythons(relation):
    values = [-1.0, 0.0, 2.0, math.nan]
    x, y = np.meshgrid(values, values)
    (result,) = real.RealCompare(relation=relation).evaluate(x, y)
    expected = [[RELATIONS[relation](b, a) for b in values] for a in values]
    assert result.dtype == np.bool_
    assert result.tolist() == expected


def test_where_chooses():
    condition = np.array([[True], [False]])
    x, y = np.array([1, 2, 3], np.int32), np.array(9, np.int32)
    (result,) = real.RealWhere().evaluate(condition, x, y)
    assert result.tolist() == [[1, 2, 3], [9, 9, 9]]
    assert result.dtype == np.int32


def test_shapes_broadcast_symbols_included():
    batch = Dim("batch")
    assert real.RealAdd().infer(f32(batch, 1, 4), f32(3, 1)) == (f32(batch, 3, 4),)
    assert real.RealCompare(relation=Comparison.LESS).infer(f32(batch), f32(batch)) == (
        TensorType((batch,), DType.BOOL),
    )
    condition = TensorType((batch, 1), DType.BOOL)
    assert real.RealWhere().infer(condition, i32(3), i32()) == (i32(batch, 3),)


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        (real.RealAdd(), (f32(2), f32(3))),
        (real.RealAdd(), (f32(2), i32(2))),
        (real.RealAdd(), (i8(2, quant=QuantParams.per_tensor(1.0)), i8(2))),
        (real.RealAdd(), (TensorType((2,), DType.BOOL),) * 2),
        (real.RealBitOr(), (f32(2), f32(2))),
        (real.RealMaximum(), (TensorType((2,), DType.C64),) * 2),
        (real.RealWhere(), (i32(2), f32(2), f32(2))),
        (real.RealWhere(), (TensorType((2,), DType.BOOL), f32(2), i32(2))),
    ],
)
def test_refusals(op, operands):
    with raises(ShapeError):
        op.infer(*operands)
