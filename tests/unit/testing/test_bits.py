"""Arrays are compared bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.testing import assert_same_bits

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
    ("actual", "expected", "message"),
    [
        (np.int8([1]), np.int16([1]), r"int8\[1\] is not int16\[1\]"),
        (np.int8([1]), np.int8([[1]]), r"int8\[1\] is not int8\[1, 1\]"),
        (np.int8([[1, 2], [3, 4]]), np.int8([[1, 2], [5, 6]]), r"2 of 4 .*\[1, 0\]: 3 is not 5"),
        (np.float32([0.0]), np.float32([-0.0]), r"at \[0\]: 0.0 is not -0.0"),
        (NAN, NAN.view(np.int32).__add__(1).view(np.float32), "nan is not nan"),
    ],
)  # fmt: skip
def test_a_difference_is_shown(actual, expected, message):
    with pytest.raises(AssertionError, match=message):
        assert_same_bits(actual, expected)
