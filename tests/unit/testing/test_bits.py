"""Arrays are compared bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.testing import assert_same_bits
from support.messages import raises

NAN = np.array([np.nan], np.float32)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (np.int8([1, -128]), np.int8([1, -128])),
        (np.zeros((2, 0), np.int8), np.zeros((2, 0), np.int8)),
        (NAN, NAN.copy()),
        (np.float32(-0.0), np.float32(-0.0)),
    ],
)
def test_same_bits_pass(actual, expected):
    assert_same_bits(actual, expected)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (np.int8([1]), np.int16([1])),
        (np.int8([1]), np.int8([[1]])),
        (np.int8([[1, 2], [3, 4]]), np.int8([[1, 2], [5, 6]])),
        (np.float32([0.0]), np.float32([-0.0])),
        (NAN, NAN.view(np.int32).__add__(1).view(np.float32)),
    ],
)
def test_a_difference_is_shown(actual, expected):
    with raises(AssertionError):
        assert_same_bits(actual, expected)
