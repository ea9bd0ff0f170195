"""Spreads of numbers against the range of their type, computed again from the numbers."""

import numpy as np
import pytest

from rlx.ir import QuantParams
from rlx.metrics.histogram import Histogram
from rlx.metrics.spread import PERCENTILES, spread_of_results, spread_of_weights

NUMBERS = np.random.default_rng(3).normal(1.0, 2.0, 20_000).astype(np.float32)


def histogram_of(numbers, parts=7):
    histogram = Histogram()
    for part in np.array_split(numbers, parts):
        histogram.add(part)
    return histogram


@pytest.mark.parametrize("relu", [False, True])
def test_percentiles_of_a_histogram_are_those_of_the_numbers(relu):
    numbers = np.maximum(NUMBERS, 0) if relu else NUMBERS
    histogram = histogram_of(numbers)
    found = histogram.percentiles(PERCENTILES)
    expected = np.percentile(numbers, PERCENTILES, method="lower")
    assert found == pytest.approx(expected, abs=2 * histogram.width)
    if relu:
        assert found[:2] == (0.0, 0.0)


def test_percentiles_of_equal_numbers_and_of_none():
    assert histogram_of(np.zeros(5, np.float32), 1).percentiles((0.1, 50, 99.9)) == (0, 0, 0)
    assert Histogram().percentiles((50,)) == (0,)


def test_results_are_counted_outside_where_int8_values_end():
    params = QuantParams.per_tensor(0.02, -50)
    spread = spread_of_results(histogram_of(NUMBERS), params)
    assert (spread.low, spread.high) == pytest.approx((0.02 * -78, 0.02 * 177))
    steps = np.rint(NUMBERS / 0.02) - 50
    outside = ((steps < -128) | (steps > 127)).mean()
    assert 0.1 < outside < 0.3
    assert spread.outside == pytest.approx(outside, abs=0.01)
    assert spread.steps[0] == pytest.approx(NUMBERS.min() / 0.02 - 50, rel=1e-5)
    assert spread.steps[-1] == pytest.approx(NUMBERS.max() / 0.02 - 50, rel=1e-5)
    assert list(spread.steps) == sorted(spread.steps)


def test_weights_are_measured_by_the_scale_of_their_own_channel():
    rows = np.array([[1.0, -2.0, 0.5, 0.0], [100.0, -300.0, 50.0, 0.0]])
    spread = spread_of_weights(rows, np.array([0.25, 50.0]), 7)
    assert (spread.minimum, spread.maximum) == (-300, 100)
    assert (spread.low, spread.high) == (-350, 350)
    assert (spread.steps[0], spread.steps[-1]) == (-8, 4)
    assert spread.outside == 1 / 8  # -2.0 / 0.25 is -8
    assert (spread.lowest, spread.highest) == (-7, 7)
    assert spread.as_json()["percentiles"] == np.percentile(rows, PERCENTILES).tolist()
