"""Functions of one number, against Python's ``math`` in float64."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from rlx.ir import Dim, DType, QuantParams, TensorType, f32, i8
from rlx.ops import real
from rlx.support.errors import ShapeError
from support.messages import raises

# Name, domain, and the definition.
FUNCTIONS = [
    (real.RealAbs, (-5, 5), abs),
    (real.RealAcos, (-1, 1), math.acos),
    (real.RealAsin, (-1, 1), math.asin),
    (real.RealAtan, (-9, 9), math.atan),
    (real.RealCeil, (-5, 5), math.ceil),
    (real.RealCos, (-9, 9), math.cos),
    (real.RealErf, (-4, 4), math.erf),
    (real.RealExp, (-9, 9), math.exp),
    (real.RealExpm1, (-1, 1), math.expm1),
    (real.RealFloor, (-5, 5), math.floor),
    (real.RealLog, (1e-6, 9), math.log),
    (real.RealLog1p, (-0.9, 1), math.log1p),
    (real.RealNeg, (-5, 5), lambda v: -v),
    (real.RealRound, (-5, 5), round),
    (real.RealRsqrt, (1e-6, 9), lambda v: 1 / math.sqrt(v)),
    (real.RealSigmoid, (-9, 9), lambda v: 1 / (1 + math.exp(-v))),
    (real.RealSign, (-5, 5), lambda v: math.copysign(1, v)),
    (real.RealSin, (-9, 9), math.sin),
    (real.RealSqrt, (0, 9), math.sqrt),
    (real.RealTan, (-1.5, 1.5), math.tan),
    (real.RealTanh, (-5, 5), math.tanh),
]
UNARY_OPS = [op for op, _, _ in FUNCTIONS]


def test_every_unary_op_is_tested():
    assert set(UNARY_OPS) == {op for op in real.REAL_OPS if issubclass(op, real.RealAbs.__mro__[1])}


# NumPy's functions are within some units in the last place of the true value: at most 4 ulp in
# its own tests, and rsqrt, sigmoid and erf round two or three times. 16 ulp bounds them all.
@pytest.mark.parametrize(
    ("op", "domain", "definition"), FUNCTIONS, ids=[f[0].name for f in FUNCTIONS]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_function_is_the_mathematical_one(op, domain, definition, dtype):
    x = np.linspace(*domain, 257).astype(dtype)
    x = x[x != 0]
    expected = np.array([float(definition(float(v))) for v in x])
    (result,) = op().evaluate(x)
    assert result.dtype == dtype
    bound = 16 * np.spacing(np.maximum(np.abs(expected), 1e-6).astype(dtype))
    assert (np.abs(result - expected) <= bound).all()


@pytest.mark.parametrize("op", UNARY_OPS, ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_narrow_floats_are_computed_in_float32_and_rounded_once(op, dtype):
    x = np.array([0.25, 0.5, 0.75, 1.0], np.float32).astype(dtype)
    (wide,) = op().evaluate(x.astype(np.float32))
    (result,) = op().evaluate(x)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.astype(np.float32), wide.astype(dtype).astype(np.float32))


def test_outside_the_domain_are_nan_and_infinity():
    x = np.array([-1.0, 0.0], np.float32)
    np.testing.assert_array_equal(real.RealLog().evaluate(x)[0], [np.nan, -np.inf])
    np.testing.assert_array_equal(real.RealSqrt().evaluate(x)[0], [np.nan, 0.0])
    np.testing.assert_array_equal(real.RealRsqrt().evaluate(x)[0], [np.nan, np.inf])
    np.testing.assert_array_equal(real.RealAcos().evaluate(x * 2)[0][:1], [np.nan])


def test_sigmoid_does_not_overflow():
    x = np.array([-1e30, -100.0, 0.0, 100.0, 1e30], np.float32)
    (y,) = real.RealSigmoid().evaluate(x)
    np.testing.assert_array_equal(y[[0, 2, 3, 4]], [0.0, 0.5, 1.0, 1.0])
    # e^-100 is a subnormal float32.
    assert 0 < y[1] < 1e-43


def test_round_takes_ties_to_even():
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])
    np.testing.assert_array_equal(real.RealRound().evaluate(x)[0], [-2, -2, -0.0, 0, 2, 2])


@pytest.mark.parametrize(
    ("op", "expected"),
    [(real.RealNeg, [-128, 0, -3]), (real.RealAbs, [-128, 0, 3]), (real.RealSign, [-1, 0, 1])],
    ids=["neg", "abs", "sign"],
)
def test_integers_wrap(op, expected):
    (y,) = op().evaluate(np.array([-128, 0, 3], np.int8))
    assert y.dtype == np.int8
    assert y.tolist() == expected
    assert op().infer(i8(3)) == (i8(3),)


@pytest.mark.parametrize("op", UNARY_OPS, ids=lambda op: op.name)
def test_type_is_the_operands(op):
    type_ = f32(Dim("batch"), 3)
    assert op().infer(type_) == (type_,)


def test_rank_0_stays_an_array():
    (y,) = real.RealExp().evaluate(np.array(0.0))
    assert isinstance(y, np.ndarray)
    assert y.shape == ()


@pytest.mark.parametrize("op", [real.RealExp, real.RealFloor], ids=lambda op: op.name)
def test_integers_are_refused_where_they_make_no_sense(op):
    with raises(ShapeError):
        op().infer(i8(3))


def test_codes_are_refused():
    with raises(ShapeError):
        real.RealNeg().infer(i8(3, quant=QuantParams.per_tensor(0.5, 1)))


@pytest.mark.parametrize("dtype", [DType.BOOL, DType.I4, DType.C64])
def test_what_is_no_number_is_refused(dtype):
    with raises(ShapeError):
        real.RealNeg().infer(TensorType((2,), dtype))
