"""The arithmetic of scales, apart from any file format."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from rlx.frontends.quantization import (
    activation_bounds,
    check_accumulator,
    linear_rescale,
    quantized,
    rescale_of,
    softmax_scaling,
    sum_scaling,
)
from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.ir import DType
from rlx.ops.numerics.fixed_point import Rescale
from support import ROOT
from support.messages import raises

# A scale that float32 holds, and the same number in double.
TENTH = float(np.float32(0.1))


def test_the_module_knows_no_file_format() -> None:
    source = ast.parse((ROOT / "rlx" / "frontends" / "quantization.py").read_text())
    modules = {n.module for n in ast.walk(source) if isinstance(n, ast.ImportFrom)}
    assert not [m for m in modules if m and "tflite" in m]
    assert "rlx.frontends.refusal" in modules


def test_factors_become_multipliers_of_31_bits() -> None:
    assert rescale_of(0.5, 0.75) == Rescale((2**30, 3 * 2**29), (0, 0))


def test_a_factor_beyond_the_fixed_point_is_refused() -> None:
    with raises(UnsupportedError):
        rescale_of(1.0, 2.0**30)


def test_scales_of_layers_are_multiplied_in_double_and_before_the_division() -> None:
    x, w, result = 0.01302660908550024, 0.013234728947281837, 1675.7247314453125
    found = linear_rescale(x, [w], result)
    assert found == rescale_of(x * w / result)
    assert found != rescale_of(x * (w / result))
    assert found != rescale_of(float(np.float32(x) * np.float32(w) / np.float32(result)))


def test_a_sum_goes_to_twice_the_larger_scale() -> None:
    found = sum_scaling(0.25, 0.5, 2.0)
    assert found.left_shift == 20
    assert found.x_rescale == rescale_of(0.25)
    assert found.y_rescale == rescale_of(0.5)
    assert found.rescale == rescale_of(1 / (2**20 * 2.0))


def test_softmax_scales_to_26_fraction_bits() -> None:
    found = softmax_scaling(0.5, 1.0)
    assert (found.multiplier, found.left_shift, found.diff_min) == (2**30, 26, -31)
    with raises(UnsupportedError):
        softmax_scaling(1e-9, 1.0)


def test_quotients_are_taken_in_float32_and_halves_go_away_from_zero() -> None:
    assert [quantized(r, 1.0, 3) for r in (0.5, 1.5, 2.5, -0.5, -2.5)] == [4, 5, 6, 2, 0]
    # In double the quotient is 59.9999991; in float32 it is 60.
    assert 6.0 / TENTH < 60 == np.float32(6.0) / np.float32(TENTH)
    # A half in float32, which in double lies just below it.
    scale = float(np.float32(6.0) / np.float32(2.5))
    assert 6.0 / scale < 2.5 == np.float32(6.0) / np.float32(scale)
    assert quantized(6.0, scale, 0) == 3


def test_a_quotient_beyond_int32_is_refused() -> None:
    with raises(MalformedError):
        quantized(6.0, 1e-30, 0)


@pytest.mark.parametrize(
    ("dtype", "whole"),
    [
        (DType.I8, (-128, 127)),
        (DType.U8, (0, 255)),
        (DType.I4, (-8, 7)),
        (DType.I16, (-32768, 32767)),
    ],
)
def test_bounds_are_clamped_to_the_element_type(dtype: DType, whole: tuple[int, int]) -> None:
    assert activation_bounds(None, None, 0.5, 0, dtype) == whole
    assert activation_bounds(0.0, 1.0, 0.5, 2, dtype) == (2, 4)
    assert activation_bounds(-1e6, 1e6, 0.5, 0, dtype) == whole


def test_accumulators_beyond_int32_are_refused() -> None:
    sums, bias = np.array([1000, 10]), np.array([0, 2**31 - 1 - 1281], np.int32)
    check_accumulator(sums, bias, 0)
    with raises(UnsupportedError):
        check_accumulator(sums, bias, -1)
