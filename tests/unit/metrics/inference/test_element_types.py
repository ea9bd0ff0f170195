"""Networks of every element type, and without dimensions, run on random and on given numbers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import rlx
from rlx.driver.reference import random_inputs as whole_range
from rlx.ir import DType, TensorType
from rlx.ir.module import GraphModule
from rlx.ops.real.cast import integer_range
from rlx.runtime.latency import random_inputs

INTEGERS = [dtype for dtype in DType if dtype.is_integer]


def passed_on(dtype, *shape):
    return rlx.trace("g", lambda x: {"y": x}, TensorType(shape, dtype)).graph


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.value)
def test_random_integers_are_of_the_whole_range(dtype):
    (array,) = whole_range(passed_on(dtype, 1000), frames=4)
    low, high = integer_range(dtype)
    assert array.dtype == dtype.numpy
    numbers = array.astype(object)
    middle = (low + high) // 2
    assert low <= numbers.min() < middle < numbers.max() <= high
    assert (min(numbers.ravel()), max(numbers.ravel())) == (low, high) or dtype.bits > 8


@pytest.mark.parametrize("dtype", list(DType), ids=lambda d: d.value)
def test_every_type_has_inputs_for_measurements(dtype):
    given = random_inputs(passed_on(dtype, 5))["x"]
    assert given.dtype == dtype.numpy
    (y,) = rlx.Session().compile(passed_on(dtype, 5)).run({"x": given})
    np.testing.assert_array_equal(y, given)


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.value)
def test_whole_numbers_in_lists_are_of_the_type(dtype):
    found = rlx.run(GraphModule.hir(passed_on(dtype, 2)), [[1, 0], [0, 1]])
    assert found.codes.dtype == dtype.numpy
    assert found.codes.tolist() == [[1, 0], [0, 1]]


def test_narrow_floats_are_taken_as_they_are():
    x = np.array([[1.5, -2.0]], ml_dtypes.bfloat16)
    found = rlx.run(GraphModule.hir(passed_on(DType.BF16, 2)), x)
    np.testing.assert_array_equal(found.values, x)


def test_samples_without_dimensions():
    double = rlx.trace("double", lambda x: {"y": x * 2.0}, TensorType((), DType.F32))
    found = rlx.run(double.module, np.array([1, 2, 3], np.float32))
    assert found.values.tolist() == [2.0, 4.0, 6.0]
