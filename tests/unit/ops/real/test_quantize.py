from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Dim, DType, QuantParams, TensorType, f32, i8
from rlx.ops.real import RealDequantize, RealQuantize, Ties
from rlx.support.errors import ShapeError
from support.messages import raises

floats = st.floats(width=32)
scales = st.floats(2.0**-20, 2.0**10, width=32)
zero_points = st.integers(-128, 127)


def nearest(number: Fraction, ties: Ties) -> int:
    """The integer by the definition of each way of rounding."""
    below = math.floor(number)
    rest = number - below
    if ties in (Ties.FLOOR, Ties.CEIL):
        return below + (ties is Ties.CEIL and rest > 0)
    if rest != Fraction(1, 2):
        return below + (rest > Fraction(1, 2))
    if ties in (Ties.AWAY, Ties.TOWARD):
        return below + ((number > 0) == (ties is Ties.AWAY))
    return below + (below % 2 == (ties is Ties.EVEN))


@given(x=floats, scale=scales, zero_point=zero_points, ties=st.sampled_from(Ties))
def test_code_is_the_rounded_float32_quotient(x, scale, zero_point, ties):
    op = RealQuantize(quant=QuantParams.per_tensor(scale, zero_point), ties=ties)
    (code,) = op.evaluate(np.array(x, np.float32))
    with np.errstate(all="ignore"):
        quotient = float(np.float32(x) / np.float32(scale))
    if math.isnan(quotient):
        expected = zero_point
    elif math.isinf(quotient):
        expected = 127 if quotient > 0 else -128
    else:
        expected = min(max(nearest(Fraction(quotient), ties) + zero_point, -128), 127)
    assert code.dtype == np.int8
    assert int(code) == expected


@given(code=st.integers(-128, 127), scale=scales, zero_point=zero_points)
def test_number_is_the_rounded_product(code, scale, zero_point):
    op = RealDequantize(quant=QuantParams.per_tensor(scale, zero_point))
    (x,) = op.evaluate(np.array(code, np.int8))
    # The product of a float32 and a 9-bit number is exact in float64: one rounding to float32.
    assert x.dtype == np.float32
    assert x == np.float32(float(np.float32(scale)) * (code - zero_point))


@given(code=st.integers(-128, 127), scale=scales, zero_point=zero_points)
def test_codes_come_back(code, scale, zero_point):
    quant = QuantParams.per_tensor(scale, zero_point)
    (x,) = RealDequantize(quant=quant).evaluate(np.array(code, np.int8))
    assert RealQuantize(quant=quant).evaluate(x)[0] == code


def test_halves():
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, np.nextafter(np.float32(0.5), 0)], np.float32)
    away = RealQuantize(quant=QuantParams.per_tensor(1.0))
    even = RealQuantize(quant=QuantParams.per_tensor(1.0), ties=Ties.EVEN)
    assert away.evaluate(x)[0].tolist() == [-3, -2, -1, 1, 2, 3, 0]
    odd = RealQuantize(quant=QuantParams.per_tensor(1.0), ties=Ties.ODD)
    assert even.evaluate(x)[0].tolist() == [-2, -2, 0, 0, 2, 2, 0]
    assert odd.evaluate(x)[0].tolist() == [-3, -1, -1, 1, 1, 3, 0]
    toward = RealQuantize(quant=QuantParams.per_tensor(1.0), ties=Ties.TOWARD)
    assert toward.evaluate(x)[0].tolist() == [-2, -1, 0, 0, 1, 2, 0]


def test_all_numbers_down_and_up():
    x = np.array([-2, -1.5, -0.1, 0, 0.1, 1, 1.5], np.float32)
    down, up = (
        RealQuantize(quant=QuantParams.per_tensor(1.0, 3), ties=t) for t in (Ties.FLOOR, Ties.CEIL)
    )
    assert down.evaluate(x)[0].tolist() == [1, 1, 2, 3, 3, 4, 4]
    assert up.evaluate(x)[0].tolist() == [1, 2, 3, 3, 4, 4, 5]


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [(DType.I8, -128, 127), (DType.U8, 0, 255), (DType.I16, -32768, 32767), (DType.I4, -8, 7),
     (DType.I2, -2, 1), (DType.I32, -(2**31), 2**31 - 1)],
)  # fmt: skip
def test_codes_saturate(dtype, low, high):
    op = RealQuantize(quant=QuantParams.per_tensor(1e-3), dtype=dtype)
    (codes,) = op.evaluate(np.array([-1e30, 1e30, -np.inf, np.inf], np.float32))
    assert codes.astype(np.int64).tolist() == [low, high, low, high]


def test_each_index_of_the_axis_has_its_scale():
    quant = QuantParams((1.0, 0.5), (0, 3), 1)
    x = np.array([[4.0, 4.0], [-1.0, -1.0]], np.float32)
    (codes,) = RealQuantize(quant=quant).evaluate(x)
    assert codes.tolist() == [[4, 11], [-1, 1]]
    assert RealDequantize(quant=quant).evaluate(codes)[0].tolist() == x.tolist()


def test_types_carry_the_parameters():
    batch, quant = Dim("batch"), QuantParams.per_tensor(0.5, -3)
    assert RealQuantize(quant=quant).infer(f32(batch, 2)) == (i8(batch, 2, quant=quant),)
    assert RealDequantize(quant=quant).infer(i8(batch, 2, quant=quant)) == (f32(batch, 2),)
    assert RealDequantize(quant=quant).infer(i8(batch, 2)) == (f32(batch, 2),)


@pytest.mark.parametrize(
    ("op", "operand"),
    [
        (RealQuantize(quant=QuantParams.per_tensor(1.0)), i8(2)),
        (RealQuantize(quant=QuantParams.per_tensor(1.0), dtype=DType.F16), f32(2)),
        (RealQuantize(quant=QuantParams.per_tensor(1.0, 200)), f32(2)),
        (RealQuantize(quant=QuantParams((1.0, 1.0), (0, 0), 0)), f32(3)),
        (RealQuantize(quant=QuantParams((1.0,), (0,), 1)), f32(3)),
        (RealDequantize(quant=QuantParams.per_tensor(1.0)), TensorType((2,), DType.BOOL)),
        (RealDequantize(quant=QuantParams.per_tensor(1.0)),
         i8(2, quant=QuantParams.per_tensor(0.5)))
    ],
)  # fmt: skip
def test_refusals(op, operand):
    with raises(ShapeError):
        op.infer(operand)
