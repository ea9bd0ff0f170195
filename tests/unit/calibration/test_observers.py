"""Observers against what all numbers together would give."""

import math

import numpy as np
import pytest

from rlx.calibration.observers import Method, Observer, divergence
from rlx.metrics.histogram import BINS, Histogram
from rlx.passes.quantize.scheme import params_of
from support.messages import raises

NUMBERS = np.random.default_rng(0).normal(0.3, 2.0, (64, 37)).astype(np.float32)


def observed(*batches):
    observer = Observer()
    for batch in batches:
        observer.add(batch)
    return observer


def real_range(params):
    (scale,), (zero,) = params.scale, params.zero_point
    return scale * (-128 - zero), scale * (127 - zero)


@pytest.mark.parametrize("sizes", [[64], [1] * 64, [3, 60, 1], [32, 32]])
@pytest.mark.parametrize("turned", [False, True])
def test_a_histogram_depends_on_neither_order_nor_batches(sizes, turned):
    whole, parts = Histogram(), Histogram()
    whole.add(NUMBERS)
    numbers = NUMBERS[::-1] if turned else NUMBERS
    for batch in np.split(numbers, np.cumsum(sizes)[:-1]):
        parts.add(batch)
    assert (whole.exponent, whole.first, whole.zeros) == (parts.exponent, parts.first, parts.zeros)
    assert np.array_equal(whole.counts, parts.counts)
    assert whole.total == NUMBERS.size
    assert BINS / 4 < len(whole.counts) <= BINS


def test_bins_hold_what_lies_in_them():
    histogram = Histogram()
    histogram.add(np.array([1e-30, 0.0, 0.0, -3.5, 1e9, 7.0]))
    histogram.add(np.array([-3.5, 0.5]))
    edges = (np.arange(len(histogram.counts) + 1) + histogram.first) * histogram.width
    expected, _ = np.histogram([1e-30, -3.5, 1e9, 7.0, -3.5, 0.5], edges)
    assert np.array_equal(histogram.counts, expected)
    assert histogram.zeros == 2
    assert (histogram.minimum, histogram.maximum) == (-3.5, 1e9)


def test_a_range_that_grows_by_many_orders_of_magnitude_keeps_all_counts():
    histogram = Histogram()
    for exponent in range(-300, 300, 7):
        histogram.add(np.array([10.0**exponent, -(10.0 ** (exponent / 2))]))
    assert histogram.total == 2 * len(range(-300, 300, 7))
    assert len(histogram.counts) <= BINS


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused(bad):
    with raises(ValueError):
        Histogram().add(np.array([1.0, bad]))


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(
    "numbers",
    [
        NUMBERS,
        NUMBERS + 50,
        NUMBERS - 50,
        np.maximum(NUMBERS, 0),
        np.zeros((2, 3)),
        np.full((2, 3), 5.0),
        np.full((2, 3), -1e-42),
        np.array([[1e-300]]),
        np.array([[3.4e38, -3.4e38]]),
    ],
    ids=["both", "above", "below", "relu", "zeros", "constant", "denormal", "tiny", "huge"],
)
def test_zero_is_exact_and_scales_are_usable(method, symmetric, numbers):
    params = observed(numbers).params(method, symmetric=symmetric)
    (scale,), (zero,) = params.scale, params.zero_point
    assert -128 <= zero <= 127
    assert zero == 0 or not symmetric
    assert np.float32(scale) == scale
    assert np.isfinite(np.float32(1) / np.float32(scale))


def test_min_max_covers_all_numbers_to_half_a_step():
    low, high = real_range(observed(NUMBERS).params(Method.MIN_MAX))
    step = (high - low) / 255
    assert low - step / 2 <= NUMBERS.min() < low + step
    assert high - step < NUMBERS.max() <= high + step / 2


def test_symmetric_covers_the_larger_side():
    params = params_of(-1.0, 4.0, symmetric=True)
    assert params.scale[0] == pytest.approx(4 / 127)
    assert params.zero_point == (0,)


def test_moving_average_does_not_depend_on_batches_and_follows_the_last_samples():
    first, later = np.full((30, 4), 1.0), np.full((60, 4), 3.0)
    together = observed(np.concatenate([first, later])).range(Method.MOVING_AVERAGE)
    assert together == observed(first, later).range(Method.MOVING_AVERAGE)
    assert 2.8 < together[1] < 3


def test_percentile_leaves_out_an_outlier_and_nothing_else():
    numbers = np.append(np.linspace(-1, 1, 100_000), 1000.0)[np.newaxis]
    low, high = observed(numbers).range(Method.PERCENTILE)
    assert high < 2
    assert low == -1.0
    assert observed(numbers).range(Method.MIN_MAX)[1] == 1000.0


@pytest.mark.parametrize("numbers", [NUMBERS, np.abs(NUMBERS) ** 3, np.append(NUMBERS, 99.0)])
def test_mse_is_no_worse_than_any_other_range(numbers):
    def error(params):
        (scale,), (zero,) = params.scale, params.zero_point
        steps = np.clip(np.rint(numbers / scale), -128 - zero, 127 - zero)
        return float(((numbers - steps * scale) ** 2).sum())

    observer = observed(numbers.reshape(1, -1).astype(np.float64))
    best = error(observer.params(Method.MSE))
    low, high = observer.range(Method.MIN_MAX)
    for factor in np.linspace(0.05, 1, 50):
        assert best <= error(params_of(low * factor, high * factor)) * 1.02


def test_kl_leaves_out_a_far_outlier():
    numbers = np.append(np.random.default_rng(1).normal(0, 1, 200_000), 400.0).reshape(1, -1)
    observer = observed(numbers)
    assert observer.range(Method.KL)[1] < 100
    everything, chosen = (
        divergence(observer.histogram, *observer.range(m)) for m in (Method.MIN_MAX, Method.KL)
    )
    assert chosen < everything
