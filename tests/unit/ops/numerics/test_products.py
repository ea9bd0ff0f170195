"""Products through floating point against products of integers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ops.numerics.products import exact_float, exact_matmul, sum_bound


def test_bound_is_that_of_the_heaviest_column() -> None:
    assert sum_bound(np.array([[1, -128], [2, 127]], np.int8)) == 128 * 255


@pytest.mark.parametrize(
    ("rows", "weight", "expected"),
    [(1023, -128, np.float32), (1024, -128, np.float64), (1024, 127, np.float32)],
)
def test_float32_is_used_while_sums_stay_below_2_to_24(rows, weight, expected) -> None:
    assert exact_float(np.full((rows, 2), weight, np.int8)) == expected


@pytest.mark.parametrize("code", [-128, 127])
@pytest.mark.parametrize("rows", [1023, 1024, 1025, 5000])
def test_greatest_sums_are_exact(rows: int, code: int) -> None:
    x = np.full((1, rows), code, np.int8)
    w = np.full((rows, 1), -128, np.int8)
    w[0] = -127
    assert exact_matmul(x, w).tolist() == [[code * (-128 * rows + 1)]]


@given(
    st.tuples(st.integers(1, 5), st.integers(1, 300), st.integers(1, 5)),
    st.integers(-128, 127),
    st.sampled_from((np.int8, ml_dtypes.int4, ml_dtypes.int2)),
    st.integers(0, 2**16),
)
def test_matmul_equals_integers(shape, zero_point: int, dtype, seed: int) -> None:
    rows, inner, columns = shape
    generator = np.random.default_rng(seed)
    x = generator.integers(-128, 128, (rows, inner)).astype(np.int8)
    w = generator.integers(-2, 2, (inner, columns)).astype(dtype)
    bias = generator.integers(-(2**20), 2**20, columns).astype(np.int32)
    wide = w.astype(np.int64)
    expected = (x.astype(np.int64) - zero_point) @ wide + bias
    result = exact_matmul(x, w, x_zero_point=zero_point, bias=bias)
    assert result.dtype == np.int32
    assert np.array_equal(result, expected)
    assert np.array_equal(exact_matmul(x, w), x.astype(np.int64) @ wide)


def test_a_stack_is_the_product_of_each_matrix() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-128, 128, (3, 5, 7)).astype(np.int8)
    w = rng.integers(-128, 128, (3, 7, 2)).astype(np.int8)
    bias = rng.integers(-1000, 1000, (3, 2)).astype(np.int32)
    whole = exact_matmul(x, w, x_zero_point=3, bias=bias)
    for own, *parts in zip(whole, x, w, bias, strict=True):
        expected = exact_matmul(parts[0], parts[1], x_zero_point=3, bias=parts[2])
        np.testing.assert_array_equal(own, expected)
