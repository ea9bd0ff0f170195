"""Fixed-point scaling against a model in Python's unbounded integers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ops.numerics.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    Rescale,
    Rounding,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
    wrap_int32,
)
from support.messages import raises

EDGES = sorted(
    {
        sign * (1 << bits) + offset
        for bits in (0, 1, 7, 8, 15, 16, 24, 29, 30, 31)
        for sign in (-1, 1)
        for offset in (-2, -1, 0, 1, 2)
        if INT32_MIN <= sign * (1 << bits) + offset <= INT32_MAX
    }
)
MULTIPLIERS = (0, 1, 2**29, 2**30, 2**30 + 1, 1518500250, 2**31 - 2, INT32_MAX)


def wrapped(x: int) -> int:
    """Two's complement of 32 bits, by division."""
    return (x + 2**31) % 2**32 - 2**31


def doubling_high(a: int, b: int) -> int:
    """As in C: 64-bit product, a nudge by its sign, division that truncates."""
    if a == b == INT32_MIN:
        return INT32_MAX
    nudged = a * b + (2**30 if a * b >= 0 else 1 - 2**30)
    return math.trunc(Fraction(nudged, 2**31))


def divide(x: int, exponent: int) -> int:
    """Nearest integer, halves away from zero."""
    magnitude = math.floor(Fraction(abs(x), 2**exponent) + Fraction(1, 2))
    return magnitude if x >= 0 else -magnitude


def scaled_twice(x: int, multiplier: int, shift: int) -> int:
    left, right = max(shift, 0), max(-shift, 0)
    return divide(doubling_high(wrapped(x * 2**left), multiplier), right)


def scaled_once(x: int, multiplier: int, shift: int) -> int:
    return math.floor(Fraction(x * multiplier, 2 ** (31 - shift)) + Fraction(1, 2))


def scaled_to_even(x: int, multiplier: int, shift: int) -> int:
    """Python's ``round`` of a fraction: halves to even."""
    return round(Fraction(x * multiplier, 2 ** (31 - shift)))


def scaled_to_odd(x: int, multiplier: int, shift: int) -> int:
    return round(Fraction(x * multiplier, 2 ** (31 - shift)) + 1) - 1


def to_float32(number: Fraction) -> Fraction:
    """Round a fraction to 24 bits, halves to even."""
    if not number:
        return number
    exponent = math.floor(math.log2(abs(number))) - 23
    # log2 may round up to the next power of two.
    exponent -= abs(number) < Fraction(2) ** (exponent + 23)
    return round(number / Fraction(2) ** exponent) * Fraction(2) ** exponent


def scaled_in_float32(x: int, multiplier: int, shift: int) -> int:
    product = to_float32(Fraction(x)) * to_float32(Fraction(multiplier)) * Fraction(2) ** shift
    return round(to_float32(product / 2**31))


MODELS = [
    (Rounding.DOUBLE, scaled_twice),
    (Rounding.SINGLE, scaled_once),
    (Rounding.EVEN, scaled_to_even),
    (Rounding.ODD, scaled_to_odd),
    (Rounding.FLOAT32, scaled_in_float32),
]


def test_high_multiply_equals_model_at_all_pairs_of_edges() -> None:
    a, b = (m.ravel() for m in np.meshgrid(np.array(EDGES), np.array(EDGES)))
    expected = [doubling_high(int(p), int(q)) for p, q in zip(a, b, strict=True)]
    assert saturating_rounding_doubling_high_multiply(a, b).tolist() == expected


def test_high_multiply_saturates_only_the_square_of_the_least_number() -> None:
    least = np.array([INT32_MIN], np.int64)
    assert saturating_rounding_doubling_high_multiply(least, INT32_MIN).tolist() == [INT32_MAX]
    assert saturating_rounding_doubling_high_multiply(least, INT32_MAX).tolist() == [-INT32_MAX]


def test_high_multiply_rounds_halves_of_both_signs_up() -> None:
    halves = np.array([-3, -1, 1, 3], np.int64)
    assert saturating_rounding_doubling_high_multiply(halves, 2**30).tolist() == [-1, 0, 1, 2]


@pytest.mark.parametrize("exponent", range(32))
def test_division_equals_model_at_edges_and_beside_all_halves(exponent: int) -> None:
    half = 1 << exponent >> 1
    near = [n * (1 << exponent) + s * half + d for n in (-3, -1, 0, 1, 2)
            for s in (-1, 1) for d in (-1, 0, 1)]  # fmt: skip
    values = [*EDGES, *(n for n in near if INT32_MIN <= n <= INT32_MAX)]
    expected = [divide(n, exponent) for n in values]
    assert rounding_divide_by_power_of_two(np.array(values), exponent).tolist() == expected


def test_division_rounds_halves_away_from_zero() -> None:
    assert rounding_divide_by_power_of_two(np.array([-3, -1, 1, 3]), 1).tolist() == [-2, -1, 1, 2]


@given(st.lists(st.integers(-(2**62), 2**62 - 1), min_size=1))
def test_wrap_equals_model(values: list[int]) -> None:
    assert wrap_int32(np.array(values, np.int64)).tolist() == [wrapped(n) for n in values]


@pytest.mark.parametrize("multiplier", MULTIPLIERS)
@pytest.mark.parametrize(("rounding", "model"), MODELS)
def test_scaling_equals_model_at_all_edges(rounding, model, multiplier: int) -> None:
    shifts = np.arange(-31, 31)
    x = np.array(EDGES)[:, np.newaxis]
    result = multiply_by_quantized_multiplier(x, multiplier, shifts, rounding)
    expected = [[model(n, multiplier, int(s)) for s in shifts] for n in EDGES]
    assert result.tolist() == expected


@pytest.mark.parametrize(("rounding", "model"), MODELS)
def test_scaling_equals_model_at_random_numbers(rounding, model) -> None:
    generator = np.random.default_rng(8)
    count = 100_000
    x = generator.integers(INT32_MIN, INT32_MAX, count, endpoint=True)
    x >>= generator.integers(0, 31, count)
    multiplier = generator.integers(2**30, INT32_MAX, count, endpoint=True)
    shift = generator.integers(-31, 30, count, endpoint=True)
    result = multiply_by_quantized_multiplier(x, multiplier, shift, rounding)
    triples = zip(x.tolist(), multiplier.tolist(), shift.tolist(), strict=True)
    assert result.tolist() == [model(*t) for t in triples]


@pytest.mark.parametrize(("rounding", "model"), MODELS)
@pytest.mark.parametrize("multiplier", [2**30, 3 * 2**29, 2**31 - 2**24])
def test_scaling_equals_model_at_halves(rounding, model, multiplier: int) -> None:
    """Factors with few bits: every second, or every 64th, number is a half of some shift."""
    x, shifts = np.arange(-300, 301), np.arange(-12, 3)
    result = multiply_by_quantized_multiplier(x[:, np.newaxis], multiplier, shifts, rounding)
    assert result.tolist() == [[model(int(n), multiplier, int(s)) for s in shifts] for n in x]


@pytest.mark.parametrize("zero_point", [-3, -2, 0, 7])
def test_a_zero_point_may_be_added_before_the_rounding(zero_point: int) -> None:
    """Halves of ``rint(x + odd)`` are those of ``ODD``, and of ``rint(x + even)`` those of EVEN."""
    x = np.arange(-100, 101)
    rounding = Rounding.ODD if zero_point % 2 else Rounding.EVEN
    codes = Rescale.of(0.25, rounding=rounding).apply(x) + zero_point
    assert codes.tolist() == np.rint(x * 0.25 + zero_point).tolist()


def test_the_two_roundings_differ() -> None:
    """-0.5 + 2^-32 becomes -0.5 in the first of two roundings, and then -1."""
    x = np.array([-1], np.int64)
    factor = (INT32_MAX, -1)
    assert multiply_by_quantized_multiplier(x, *factor, Rounding.DOUBLE).tolist() == [-1]
    assert multiply_by_quantized_multiplier(x, *factor, Rounding.SINGLE).tolist() == [0]


def test_roundings_of_halves_differ() -> None:
    x = np.array([-3, -1, 1, 3])
    halves = {r: Rescale.of(0.5, rounding=r).apply(x).tolist() for r in Rounding}
    assert halves[Rounding.SINGLE] == [-1, 0, 1, 2]
    assert halves[Rounding.EVEN] == [-2, 0, 0, 2]
    assert halves[Rounding.ODD] == [-1, -1, 1, 1]


def test_left_shift_wraps_before_the_multiplication() -> None:
    x = np.array([2**30], np.int64)
    assert multiply_by_quantized_multiplier(x, 2**30, 1).tolist() == [-(2**30)]


@pytest.mark.parametrize(
    ("real", "expected"),
    [
        (0.0, (0, 0)),
        (0.5, (2**30, 0)),
        (1.0, (2**30, 1)),
        (0.75, (3 * 2**29, 0)),
        (2.0**-32, (2**30, -31)),
        (2.0**-33, (0, 0)),
        (1.0 - 2.0**-33, (2**30, 1)),
        (2.0**29, (2**30, 30)),
        (2.0**30, (INT32_MAX, 30)),
        (0.5 + 2.0**-32, (2**30 + 1, 0)),
    ],
)
def test_quantize_multiplier(real: float, expected: tuple[int, int]) -> None:
    assert quantize_multiplier(real) == expected


@given(st.floats(2.0**-30, 2.0**29))
def test_quantize_multiplier_is_within_half_a_step(real: float) -> None:
    multiplier, shift = quantize_multiplier(real)
    assert 2**30 <= multiplier <= INT32_MAX
    error = Fraction(multiplier) * Fraction(2) ** (shift - 31) - Fraction(real)
    assert abs(error) <= Fraction(2) ** (shift - 32)


@pytest.mark.parametrize("real", [-1.0, math.inf, math.nan])
def test_quantize_multiplier_refuses(real: float) -> None:
    with raises(ValueError):
        quantize_multiplier(real)


def test_rescale_applies_one_factor_to_all_or_one_to_each_channel() -> None:
    x = np.array([[100, 100], [-7, 7]])
    # A shift of 0 leaves only the first rounding: halves up.
    assert Rescale.of(0.5).apply(x).tolist() == [[50, 50], [-3, 4]]
    assert Rescale.of(1.0, 0.25).apply(x).tolist() == [[100, 25], [-7, 2]]


def test_rescale_takes_any_integer_type() -> None:
    rescale = Rescale.of(3.0, rounding=Rounding.SINGLE)
    for dtype in (np.int8, np.int16, np.int32, np.int64):
        result = rescale.apply(np.array([-128, 127], dtype))
        assert (result.dtype, result.tolist()) == (np.int64, [-384, 381])


def test_rescale_tells_channels_and_reals() -> None:
    rescale = Rescale.of(0.5, 3.0)
    assert (rescale.channels, rescale.real) == (2, (0.5, 3.0))


@pytest.mark.parametrize(
    ("multiplier", "shift"),
    [((), ()), ((1, 2), (3,)), ((-1,), (0,)), ((2**31,), (0,)), ((1,), (31,)), ((1,), (-32,))],
)
def test_rescale_refuses(multiplier, shift) -> None:
    with raises(ValueError):
        Rescale(multiplier, shift)


def test_factors_in_float32_are_float32_numbers() -> None:
    third = np.float32(1) / np.float32(3)
    assert Rescale.of(1 / 3, rounding=Rounding.FLOAT32).real == (float(third),)
    with raises(ValueError):
        Rescale((2**30 + 64,), (0,), Rounding.FLOAT32)


def test_products_next_to_a_half_are_halves_in_float32() -> None:
    """The sixth of float32 is too large: a product of fixed point is above every half."""
    x = np.array([3, 9, 15, 21])
    float32 = Rescale.of(1 / 6, rounding=Rounding.FLOAT32)
    assert float32.apply(x).tolist() == [0, 2, 2, 4]
    exact = Rescale(float32.multiplier, float32.shift, Rounding.EVEN)
    assert exact.apply(x).tolist() == [1, 2, 3, 4]


def test_divided_keeps_the_multiplier_long_and_truncates() -> None:
    rescale = Rescale((2**31 - 1, 2**30), (-3, 5)).divided(6)
    assert rescale == Rescale(((2**31 - 1) * 4 // 6, 2**30 * 4 // 6), (-5, 3))


def test_divided_stops_at_the_least_shift() -> None:
    assert Rescale((2**30,), (-30,)).divided(100) == Rescale((2**30 * 2 // 100,), (-31,))


def test_divided_keeps_rounding() -> None:
    assert Rescale.of(0.7, rounding=Rounding.SINGLE).divided(3).rounding is Rounding.SINGLE


def test_divided_refuses_no_elements() -> None:
    with raises(ValueError):
        Rescale.of(1.0).divided(0)
