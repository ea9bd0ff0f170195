"""Products by shifts and additions are exact, and take few additions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rlx_fpga.architectures.parallel import sums
from rlx_fpga.architectures.parallel.netlist import Netlist
from rlx_fpga.architectures.parallel.program import ShiftAdd, signed_digits
from rlx_fpga.architectures.parallel.sharing import repeated_patterns
from rlx_fpga.architectures.parallel.sums import shift_add


def product(matrix, x):
    """Return ``matrix @ x`` by the program, the netlist, and values of its steps."""
    program, netlist = shift_add(matrix), Netlist()
    terms = program.build(netlist, [netlist.input(i) for i in range(matrix.shape[1])])
    values = netlist.evaluate(x)
    rows = [np.zeros(x.shape[1:], np.int64) if t is None else (values[t[0]] << t[1]) * t[2]
            for t in terms]  # fmt: skip
    return np.array(rows), netlist, values


def plain(matrix):
    """Return the bits of the adders of ``matrix @ x`` when nothing is shared."""
    program = ShiftAdd([(-128, 127)] * matrix.shape[1])
    for row in matrix.tolist():
        program.total([(i, *digit) for i, weight in enumerate(row)
                       for digit in signed_digits(weight)])  # fmt: skip
    return program.bits


def check(matrix, seed=0):
    x = np.random.default_rng(seed).integers(-128, 128, (matrix.shape[1], 9))
    x[:, 0], x[:, 1] = -128, 127
    found, netlist, values = product(matrix, x)
    assert np.array_equal(found, matrix @ x)
    for step, value in zip(netlist.steps, values, strict=True):
        assert (step.low <= value).all()
        assert (value <= step.high).all()
    # What the search counts is what the netlist takes.
    assert netlist.adder_bits == shift_add(matrix).bits <= plain(matrix)


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
    check(matrix, seed)


KINDS = {
    "int8": lambda rng, shape: rng.integers(-128, 128, shape),
    "int4": lambda rng, shape: rng.integers(-8, 8, shape),
    "ternary": lambda rng, shape: rng.integers(-1, 2, shape),
    "sparse": lambda rng, shape: rng.integers(-128, 128, shape) * (rng.random(shape) < 0.1),
    "powers of two": lambda rng, shape: rng.choice([-1, 1], shape) << rng.integers(0, 8, shape),
    "repeated": lambda rng, shape: np.full(shape, int(rng.integers(2, 128)) | 85),
    "zeros": lambda _, shape: np.zeros(shape),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 1), (6, 11), (8, 18)])
def test_every_kind_of_matrix_is_exact_and_never_dearer_than_plain_sums(kind, shape):
    check(KINDS[kind](np.random.default_rng(1), shape).astype(np.int64))


def test_operands_may_be_of_any_range():
    matrix, ends = np.array([[1365], [-683]]), [(-70_000, 3)]
    program, netlist = shift_add(matrix, ends), Netlist()
    wide = netlist.offset(netlist.input(0), 9, -4_464, negative=False)
    terms = program.build(netlist, [wide])
    x = np.arange(-128, 0)
    values = netlist.evaluate(x[np.newaxis])
    for (number, shift, sign), (weight,) in zip(terms, matrix.tolist(), strict=True):
        assert np.array_equal((values[number] << shift) * sign, weight * ((x << 9) - 4_464))


def test_common_parts_are_computed_once():
    matrix = np.array([[5, 3, 0], [5, 3, 7], [10, 6, -1], [-5, -3, 0]])
    _, netlist, _ = product(matrix, np.ones((3, 1), np.int64))
    # 5a, 3b and their sum; 8c - c and its sum; 2 (5a + 3b) - c: everything else is a shift.
    assert netlist.adders <= 6


def test_a_difference_lets_low_bits_pass():
    # 256 a - b takes 17 bits with a carry, b - 256 a takes 9: the sign is left to the reader.
    program = shift_add(np.array([[256, -1]]))
    assert program.steps == [(1, 0, 0, 8, -1)]
    assert (program.outputs, program.bits) == ([(2, 0, -1)], 9)


# Reference: adders that da4ml 0.6 makes of the same random matrix of 72 by 16, counted as here:
# 19,145 bits, 16.6 for each weight; see the page on benchmarks.
@pytest.mark.parametrize(("shape", "bits"), [((8, 9), 18), ((8, 24), 17.5)])
def test_random_matrices_take_few_bits_of_adders(shape, bits):
    matrix = np.random.default_rng(0).integers(-128, 128, shape)
    _, netlist, _ = product(matrix, np.zeros((shape[1], 1), np.int64))
    assert netlist.adder_bits <= bits * matrix.size


def test_long_sums_are_cut(monkeypatch):
    whole = [found.stop - found.start for found in sums._blocks(60, 2 * sums.MAX_TERMS)]
    assert whole == [30, 30]
    monkeypatch.setattr(sums, "MAX_TERMS", 20)
    check(np.random.default_rng(1).integers(-128, 128, (3, 24)))


def test_patterns_are_counted_that_occur_more_than_once():
    rows = [[(0, 0, 1), (0, 2, 1), (1, 1, -1)], [(0, 1, -1), (1, 2, 1)], [(0, 0, 1), (1, 1, 1)]]
    # x0 less 2 x1 is in the first sum, and in the second one (times -2); in the third, plus 2 x1.
    assert repeated_patterns(rows) == {(0, 1, 1, -1): 2}
    assert repeated_patterns(rows * 2) == {
        (0, 0, 2, 1): 2, (0, 1, 1, -1): 4, (0, 1, -1, -1): 2, (0, 1, 1, 1): 2,
    }  # fmt: skip
