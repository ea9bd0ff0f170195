"""Dimensions as expressions: arithmetic, one form for equal ones, bounds."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rlx.ir import Dim
from rlx.ir.dims import MAX_DEGREE, MAX_TERMS, is_negative, minimum, product, quotient
from rlx.support.errors import ShapeError
from support.messages import raises
from support.networks.ir_dims import NAMES, computed, dims, expression, expressions, recipes, sizes

PAST, BATCH, LENGTH = Dim("past"), Dim("batch"), Dim("length")


def value(dim, bound):
    return dim.bind(bound) if isinstance(dim, Dim) else dim


@given(recipes(), sizes)
def test_arithmetic_is_that_of_the_numbers(recipe, bound):
    assert value(expression(recipe), bound) == computed(recipe, bound.__getitem__)


@given(dims, sizes, st.sets(st.sampled_from(NAMES)))
def test_symbols_may_be_bound_one_after_the_other(dim, bound, first):
    half = value(dim, {n: s for n, s in bound.items() if n in first})
    assert value(half, bound) == dim.bind(bound)
    assert isinstance(half, int) or not first & set(half.symbols)


@given(expressions, expressions, expressions)
def test_equal_expressions_are_alike(x, y, z):
    try:
        pairs = [(x + y, y + x), (x * y, y * x), (x + (y + z), (x + y) + z), (x - x, 0),
                 (x * (y + z), x * y + x * z), (x * (y * z), (x * y) * z)]  # fmt: skip
    except ShapeError:
        assume(False)
    for one, other in pairs:
        assert one == other
        assert hash(one) == hash(other)
        assert repr(one) == repr(other)


@given(expressions, expressions, sizes)
def test_a_quotient_times_its_divisor_is_the_dividend(x, y, bound):
    assume(y != 0)
    try:
        whole = x * y
    except ShapeError:
        assume(False)
    found = quotient(whole, y)
    assert found == x or found is None  # None where steps on the way grow too large
    any_quotient = quotient(x, y)
    if any_quotient is not None:
        assert value(any_quotient, bound) * value(y, bound) == value(x, bound)


@given(expressions, sizes)
def test_bounds_hold(dim, bound):
    number, lowest = value(dim, bound), minimum(dim)
    assert lowest is None or lowest <= number
    assert not is_negative(dim) or number < 0


@given(dims)
def test_repr_is_python(dim):
    assert eval(repr(dim), {"Dim": Dim}) == dim
    assert copy.deepcopy(dim) == dim
    assert pickle.loads(pickle.dumps(dim)) == dim


def test_growth_is_bounded():
    wide = sum((Dim(f"n{i}") for i in range(MAX_TERMS)), start=0)
    with raises(ShapeError):
        wide + 1
    with raises(ShapeError):
        wide * wide
    assert product([PAST] * MAX_DEGREE) == math.prod([PAST] * MAX_DEGREE)
    with raises(ShapeError):
        product([PAST] * (MAX_DEGREE + 1))


def test_division_is_exact_or_refused():
    assert (BATCH * LENGTH) // LENGTH == BATCH
    assert (PAST * PAST - 1) // (PAST + 1) == PAST - 1
    assert (4 * BATCH) // 2 == 2 * BATCH
    assert (4 * BATCH) // BATCH == 4
    assert 0 // BATCH == 0
    for total, divisor in ((BATCH, 2), (BATCH + 1, BATCH), (6, BATCH), (BATCH, LENGTH), (BATCH, 0)):
        with raises(ShapeError):
            total // divisor


@pytest.mark.parametrize("other", [1.5, "n", None])
def test_only_numbers_and_dimensions_combine(other):
    with raises(TypeError):
        PAST + other
    with raises(TypeError):
        other * PAST


def test_symbols_are_listed():
    assert (LENGTH * BATCH + PAST + 1).symbols == ("batch", "length", "past")
    assert PAST.symbols == ("past",)
