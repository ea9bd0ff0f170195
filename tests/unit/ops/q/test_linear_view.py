"""The matrix that convolutions and dense layers share."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import Linear, QConv2d, QDense, Window
from rlx.ops.q.linear_view import accumulator_bounds

WEIGHTS = np.array([[1, 2], [-3, 100]], np.int8)
BIAS = np.array([10, 20], np.int32)
DENSE = QDense(x_zero_point=-128, rescale=Rescale.of(0.01), zero_point=3, low=-100, high=90)


def test_the_zero_point_is_folded_into_the_bias():
    linear = Linear.of(DENSE, WEIGHTS, BIAS)
    assert linear.bias.tolist() == [10 + 128 * 3, 20 + 128 * 97]
    assert linear.unfolded_bias.tolist() == BIAS.tolist()


def test_terms_in_the_padding_are_left_out_of_the_bias():
    linear = Linear.of(DENSE, WEIGHTS, BIAS)
    assert linear.bias_of(WEIGHTS[1:, :1], slice(1, 2)).tolist() == [20 - 128 * 3]
    assert linear.bias_of(WEIGHTS[:, :0]).tolist() == BIAS.tolist()


def test_bounds_hold_for_partial_sums():
    linear = Linear.of(DENSE, np.array([[100, -100], [1, 1]], np.int8), np.array([-7, 9000]))
    assert linear.bias.tolist() == [-7, 9256]
    assert linear.bounds().tolist() == [7 + 128 * 200, 9256 + 128 * 2]
    assert linear.bounds(folded=False).tolist() == [7 + 255 * 200, 9000 + 255 * 2]


def test_bounds_of_magnitudes():
    found = accumulator_bounds(np.array([200, 2]), np.array([-7, 90_000], np.int32), 130)
    assert found.tolist() == [7 + 130 * 200, 90_000 + 130 * 2]
    assert found.dtype == np.int64


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_convolution_is_the_matrix_times_its_windows(groups: int):
    random = np.random.default_rng(groups)
    x = random.integers(-128, 128, (1, 3, 3, 4), np.int8)
    weights = random.integers(-128, 128, (4, 2, 2, 4 // groups), np.int8)
    bias = random.integers(-999, 999, 4, np.int32)
    op = QConv2d(
        window=Window(kernel=(2, 2)), groups=groups,
        x_zero_point=5, rescale=Rescale.of(0.002), zero_point=-4,
    )  # fmt: skip
    linear = Linear.of(op, weights, bias)
    (expected,) = op.evaluate(x, weights, bias)
    window, inner = x[:, 1:3, 1:3], 4 // groups
    for channel, row in enumerate(linear.weights):
        group = channel // (4 // groups)
        terms = window[..., group * inner : (group + 1) * inner].reshape(-1)
        total = linear.rescale.apply(terms.astype(np.int64) @ row + linear.bias[channel])
        assert (
            np.clip(total + linear.zero_point, linear.low, linear.high)
            == expected[0, 1, 1, channel]
        )


def test_dense_layer_is_the_matrix_times_its_rows():
    x = np.array([[3, -128], [127, 1]], np.int8)
    linear = Linear.of(DENSE, WEIGHTS, BIAS)
    totals = linear.rescale.apply(x.astype(np.int64) @ linear.weights.T + linear.bias)
    found = np.clip(totals + linear.zero_point, linear.low, linear.high)
    assert np.array_equal(found, DENSE.evaluate(x, WEIGHTS, BIAS)[0])
