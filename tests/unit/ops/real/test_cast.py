from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Dim, DType, QuantParams, TensorType, f32, i8
from rlx.ops.real import RealBitcast, RealCast
from rlx.ops.real.cast import integer_range
from rlx.support.errors import ShapeError
from support.messages import raises

INTEGERS = [DType.I64, DType.I32, DType.I16, DType.I8, DType.I4, DType.I2, DType.U64, DType.U32,
            DType.U16, DType.U8]  # fmt: skip


def cast(x, dtype):
    (result,) = RealCast(dtype=dtype).evaluate(x)
    assert result.dtype == dtype.numpy
    return result


@pytest.mark.parametrize("dtype", INTEGERS)
@given(number=st.floats(width=64))
def test_float_to_integer_truncates_and_saturates(dtype, number):
    low, high = integer_range(dtype)
    if math.isnan(number):
        expected = 0
    elif math.isinf(number):
        expected = high if number > 0 else low
    else:
        expected = min(max(math.trunc(number), low), high)
    assert int(cast(np.array([number]), dtype)[0]) == expected


@pytest.mark.parametrize("dtype", INTEGERS)
@given(number=st.integers(-(2**40), 2**40))
def test_integer_to_integer_keeps_the_low_bits(dtype, number):
    low, high = integer_range(dtype)
    expected = (number - low) % (high - low + 1) + low
    assert int(cast(np.array([number]), dtype)[0]) == expected


def test_float_to_float_rounds_to_even():
    x = np.array([1 + 2.0**-11, 1 + 3 * 2.0**-11, 1e30], np.float64)
    assert cast(x, DType.F16).tolist() == [1.0, 1 + 2.0**-9, np.inf]
    assert cast(np.array([1 + 2.0**-8], np.float32), DType.BF16).tolist() == [1.0]


def test_narrow_floats_become_integers_and_booleans():
    x = np.array([0.0, -1.5, 3.9], ml_dtypes.bfloat16)
    assert cast(x, DType.I8).tolist() == [0, -1, 3]
    assert cast(x, DType.BOOL).tolist() == [False, True, True]


def test_booleans_become_0_and_1():
    x = np.array([False, True])
    for dtype in (DType.F32, DType.I8, DType.I2, DType.F8E5M2):
        assert cast(x, dtype).astype(np.float32).tolist() == [0.0, 1.0]


def test_nan_is_true():
    assert cast(np.array([np.nan, 0.0, -0.0]), DType.BOOL).tolist() == [True, False, False]


def test_type_keeps_the_shape():
    batch = Dim("batch")
    assert RealCast(dtype=DType.I8).infer(f32(batch, 2)) == (i8(batch, 2),)


def test_complex_numbers_and_codes_are_refused():
    with raises(ShapeError):
        RealCast(dtype=DType.F32).infer(TensorType((2,), DType.C64))
    with raises(ShapeError):
        RealCast(dtype=DType.F32).infer(i8(2, quant=QuantParams.per_tensor(1.0)))


def test_bits_are_read_as_another_type():
    x = np.array([[1.0, -2.0]], np.float32)
    (bits,) = RealBitcast(dtype=DType.I32).evaluate(x)
    assert bits.tolist() == [[0x3F800000, -0x40000000]]
    assert RealBitcast(dtype=DType.F32).evaluate(bits)[0].tolist() == x.tolist()
    assert RealBitcast(dtype=DType.U8).evaluate(np.array(-1, np.int8))[0].shape == ()


@pytest.mark.parametrize(
    ("x", "dtype"), [(f32(2), DType.I16), (i8(2), DType.BOOL), (i8(2), DType.I4)]
)
def test_bits_of_another_width_are_refused(x, dtype):
    with raises(ShapeError):
        RealBitcast(dtype=dtype).infer(x)
