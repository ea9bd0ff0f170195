"""Products by shifts and additions are exact, and take few additions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rlx_fpga.unrolled.netlist import Netlist
from rlx_fpga.unrolled.sums import MOST_TERMS, shift_add, signed_digits


def product(matrix, x):
    """Return ``matrix @ x`` by the program, and the netlist."""
    program, netlist = shift_add(matrix), Netlist()
    terms = program.build(netlist, [netlist.input(i) for i in range(matrix.shape[1])])
    values = netlist.evaluate(x)
    rows = [np.zeros(x.shape[1:], np.int64) if t is None else (values[t[0]] << t[1]) * t[2]
            for t in terms]  # fmt: skip
    return np.array(rows), netlist, values


@given(st.integers(-(2**40), 2**40))
def test_signed_digits_add_up_and_are_never_neighbours(number):
    digits = signed_digits(number)
    assert sum(sign << shift for shift, sign in digits) == number
    shifts = [shift for shift, _ in digits]
    assert all(b - a > 1 for a, b in pairwise(shifts))


@given(
    hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=7),
               elements=st.integers(-128, 127)),
    st.integers(0, 2**31),
)  # fmt: skip
def test_products_are_exact_and_within_their_ranges(matrix, seed):
    x = np.random.default_rng(seed).integers(-128, 128, (matrix.shape[1], 9))
    x[:, 0], x[:, 1] = -128, 127
    found, netlist, values = product(matrix, x)
    assert np.array_equal(found, matrix @ x)
    for step, value in zip(netlist.steps, values, strict=True):
        assert (step.low <= value).all()
        assert (value <= step.high).all()


def test_common_parts_are_computed_once():
    matrix = np.array([[5, 3, 0], [5, 3, 7], [10, 6, -1], [-5, -3, 0]])
    _, netlist, _ = product(matrix, np.ones((3, 1), np.int64))
    # 5a, 3b and their sum; 8c - c and its sum; 2 (5a + 3b) - c: everything else is a shift.
    assert netlist.adders <= 6


# Reference: da4ml 0.6 estimates 1,329 lookup tables for TinyConv's 72 weights and 17,405 for a
# random matrix of 72 by 16, which is 18.5 and 15.1 for each weight.
@pytest.mark.parametrize(("shape", "bits"), [((8, 9), 21), ((12, 40), 18.5)])
def test_random_matrices_take_few_bits_of_adders(shape, bits):
    matrix = np.random.default_rng(0).integers(-128, 128, shape)
    _, netlist, _ = product(matrix, np.zeros((shape[1], 1), np.int64))
    assert netlist.adder_bits <= bits * matrix.size


def test_long_sums_are_cut():
    matrix = np.random.default_rng(1).integers(-128, 128, (2, MOST_TERMS // 2))
    x = np.random.default_rng(2).integers(-128, 128, (matrix.shape[1], 3))
    found, _, _ = product(matrix, x)
    assert np.array_equal(found, matrix @ x)
