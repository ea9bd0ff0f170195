"""Requantizers as lines give every code of the definition."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx_fpga.architectures.parallel.affine import (
    _min_arguments,
    _roundest,
    line_through,
    requantizer_line,
)
from rlx_fpga.architectures.parallel.program import signed_digits
from support.messages import raises


@dataclass(frozen=True)
class Scaled:
    rescale: Rescale
    zero_point: int
    low: int = -128
    high: int = 127


def codes(op, x):
    return np.clip(op.rescale.apply(x) + op.zero_point, op.low, op.high)


def by_line(line, x):
    addend = np.where(x < 0, line.below, line.addend)
    return np.clip((x * line.factor + addend) >> line.shift, line.low, line.high)


@given(
    st.floats(2.0**-12, 2.0), st.integers(-128, 127), st.integers(-128, 127),
    st.sampled_from(Rounding), st.integers(-(2**15), 2**15), st.integers(0, 2**16),
)  # fmt: skip
def test_lines_give_every_code(real, zero_point, low, rounding, start, length):
    op = Scaled(Rescale.of(real, rounding=rounding), zero_point, low)
    x = np.arange(start, start + length + 1, dtype=np.int64)
    line = requantizer_line(op, 0, (start, start + length))
    assert line is not None
    assert np.array_equal(by_line(line, x), codes(op, x))


def test_factors_are_short():
    rng = np.random.default_rng(0)
    lines = [
        requantizer_line(Scaled(Rescale.of(float(real)), -128), 0, (-60_000, 60_000))
        for real in rng.uniform(0.002, 0.01, 30)
    ]
    digits = [len(signed_digits(line.factor)) for line in lines]
    # The definition's factors of 31 bits have between ten and eleven on average.
    assert np.mean(digits) < 8


def test_a_scaling_that_may_wrap_has_no_line():
    assert requantizer_line(Scaled(Rescale.of(2.0**20), 0), 0, (-(2**14), 2**14)) is None


def test_one_code_is_a_constant():
    line = requantizer_line(Scaled(Rescale.of(0.5), 0, 3, 3), 0, (-5, 5))
    assert (line.factor, line.low, line.high) == (0, 3, 3)


@given(low=st.integers(-(1 << 40), 1 << 40), size=st.integers(0, 1 << 20))
def test_roundest_number_of_a_range(low, size):
    """It is in the range, and no other there has more trailing zero bits."""
    found = _roundest(low, low + size)
    assert low <= found <= low + size
    if found:
        step = 2 * (found & -found)
        # The multiples of the next power of two are all outside.
        assert -(-low // step) * step > low + size


def test_an_empty_range_has_no_number():
    with raises(AssertionError):
        _roundest(5, 4)


@pytest.mark.parametrize("rounding", Rounding)
def test_a_scaling_has_a_line_up_to_the_accumulator_that_would_wrap(rounding):
    """A factor of 4 first shifts by 3 bits: 2^28 would become 2^31."""
    op = Scaled(Rescale.of(4.0, rounding=rounding), 0)
    for ends in ((-(1 << 28) + 1, 5), (-5, (1 << 28) - 1)):
        line = requantizer_line(op, 0, ends)
        x = np.array([ends[0], -40, -32, -1, 0, 1, 31, 32, ends[1]])
        x = x[(x >= ends[0]) & (x <= ends[1])]
        assert np.array_equal(by_line(line, x), codes(op, x))
    for ends in ((-(1 << 28), 5), (-5, 1 << 28)):
        assert requantizer_line(op, 0, ends) is None


def test_lines_are_found_again_in_ranges_on_either_side_of_zero():
    rng = np.random.default_rng(0)
    for ends in ((-700, 900), (1, 800), (-900, -1), (0, 500), (-500, 0), (7, 7), (0, 0)):
        for _ in range(6):
            shift = int(rng.integers(0, 9))
            factor, addend = int(rng.integers(1, 60)), int(rng.integers(-5000, 5000))

            def quantizer(x, factor=factor, addend=addend, shift=shift):
                return np.clip((x * factor + addend) >> shift, -128, 127)

            line = line_through(quantizer, factor / 2**shift, ends)
            x = np.arange(ends[0], ends[1] + 1)
            assert np.array_equal(by_line(line, x), quantizer(x))
            # The quantizer's own factor is one of those tried.
            assert len(signed_digits(line.factor)) <= len(signed_digits(factor))
            assert (line.low, line.high) == tuple(quantizer(np.array(ends)))


def test_steps_that_no_line_has_are_not_found():
    """Steps at 0, 1 and 100: two lines could reach them, if there was a negative side."""

    def quantizer(x):
        return (x >= 0).astype(np.int64) + (x >= 1) + (x >= 100)

    assert line_through(quantizer, 0.03, (-5, 200)) is None
    assert line_through(quantizer, 0.03, (2, 200)) is not None


def test_a_result_is_reached_at_the_minimum_argument():
    rng = np.random.default_rng(1)
    values = np.sort(rng.integers(-30, 30, 500))
    wanted = np.arange(values[0] + 1, values[-1] + 1)
    found = _min_arguments(lambda x: values[x + 250], wanted, (-250, 249))
    assert found.tolist() == [int(np.flatnonzero(values >= w)[0]) - 250 for w in wanted]
