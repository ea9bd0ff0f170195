"""Softmax against TensorFlow Lite Micro; its parts against real functions with derived bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ops.numerics.exponential import (
    exp_on_negative_values,
    one_over_one_plus_x,
    reciprocal,
    softmax_int8,
    softmax_scaling,
    softmax_table,
)
from rlx.ops.numerics.fixed_point import INT32_MAX
from support.messages import raises
from support.references.oracle import Quant, codes, float32, run_operator

ONE = 2.0**31


@given(
    exponent=float32(-20, 6),
    beta=st.sampled_from((1.0, 0.5, 3.25)),
    shape=st.tuples(st.integers(1, 3), st.integers(1, 100)),
    spread=st.sampled_from((0, 1, 3, 128)),
    seed=st.integers(0, 2**16),
)
def test_softmax_equals_tflm(exponent, beta, shape, spread: int, seed: int) -> None:
    scale = float(np.float32(2.0**exponent))
    x = np.clip(codes(seed, shape), -spread, spread).astype(np.int8)
    expected = run_operator(
        "SOFTMAX", [(x, Quant(scale, 3))], (shape, Quant(1 / 256, -128)), beta=beta
    )
    assert np.array_equal(softmax_int8(x, *softmax_scaling(scale, beta)), expected)


def test_softmax_of_equal_codes_is_uniform() -> None:
    x = np.full((1, 4), 17, np.int8)
    assert softmax_int8(x, *softmax_scaling(0.1)).tolist() == [[-64] * 4]


def test_softmax_of_more_than_511_equal_codes_is_zero() -> None:
    """From there on every probability is below half a step; TFLite Micro stops the program."""
    for count in (512, 4095):
        x = np.zeros((1, count), np.int8)
        assert set(softmax_int8(x, *softmax_scaling(0.1)).ravel()) == {-128}


def test_softmax_below_the_least_difference_is_zero() -> None:
    scaling = softmax_scaling(4.0)
    assert scaling[2] == -3
    x = np.array([[0, -3, -4]], np.int8)
    assert softmax_int8(x, *scaling).tolist() == [[127, -128, -128]]
    assert softmax_table(*scaling)[-5:].astype(bool).tolist() == [False, *[True] * 4]


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (1.0, (2**30, 27, -15)),
        (2.0**-26, (2**30, 1, -(31 << 25))),
        (1e9, (INT32_MAX, 30, -1)),
    ],
)
def test_softmax_scaling(scale: float, expected: tuple[int, int, int]) -> None:
    assert softmax_scaling(scale) == expected


@pytest.mark.parametrize("scale", [2.0**-27, 0.0, -1.0, math.nan])
def test_softmax_scaling_refuses(scale: float) -> None:
    with raises(ValueError):
        softmax_scaling(scale)


@given(st.integers(-(2**31) + 1, 0), st.integers(2, 5))
def test_exponential_is_near_the_real_one(a: int, integer_bits: int) -> None:
    (result,) = exp_on_negative_values(np.array([a]), integer_bits).tolist()
    # The polynomial of fourth order is good to some 2^-22, each of seven factors to 2^-31.
    assert abs(result / ONE - math.exp(a / 2 ** (31 - integer_bits))) < 2.0**-21


def test_exponential_of_zero_is_the_greatest_number() -> None:
    assert exp_on_negative_values(np.array([0])).tolist() == [INT32_MAX]


@given(st.integers(0, INT32_MAX))
def test_one_over_one_plus_x_is_near_the_real_one(a: int) -> None:
    (result,) = one_over_one_plus_x(np.array([a])).tolist()
    assert abs(result / ONE - 1 / (1 + a / ONE)) < 2.0**-28


@given(st.integers(1, INT32_MAX))
def test_reciprocal_is_near_the_real_one(x: int) -> None:
    scale, bits = reciprocal(np.array([x]), 12)
    # Near the end of the range Newton's last step ends a few units under a half.
    assert 2**30 - 4 <= scale[0] <= INT32_MAX
    real = 2.0**19 / x
    assert abs(scale[0] / ONE * 2.0 ** -int(bits[0]) - real) < real * 2.0**-27
