"""Sums that share two-term patterns stay equal, and no pattern is left that occurs twice."""

from itertools import combinations

import numpy as np
import pytest

from rlx_fpga.architectures.parallel.netlist import Netlist
from rlx_fpga.architectures.parallel.program import ShiftAdd, signed_digits
from rlx_fpga.architectures.parallel.sharing import (
    WORTHS,
    TermSharing,
    _measures,
    _Queue,
    repeated_patterns,
)

INT8 = (-128, 127)


def digits(matrix):
    """Return the terms of each row."""
    return [
        [(place, *digit) for place, weight in enumerate(row) for digit in signed_digits(weight)]
        for row in matrix.tolist()
    ]


def left_over(rows):
    """Return patterns that could still be replaced in two places, none of which overlap."""
    found = {}
    for index, terms in enumerate(rows):
        for one, two in combinations(sorted(terms), 2):
            (a, p, s), (b, q, t) = one, two
            found.setdefault((a, b, q - p, s * t), []).append((index, p))
    for (a, b, distance, _), places in found.items():
        free = set()
        for row, shift in sorted(places):
            if a != b or (row, shift - distance) not in free:
                free.add((row, shift))
        if len(free) > 1:
            yield a, b, distance


@pytest.mark.parametrize("worth", WORTHS)
@pytest.mark.parametrize("high", [2, 8, 128, 1 << 14])
def test_what_is_left_of_sums_is_equal_and_shares_nothing(worth, high):
    rng = np.random.default_rng(high)
    for shape in ((1, 1), (1, 4), (3, 2), (6, 5), (9, 9)):
        matrix = rng.integers(-high, high, shape)
        rows = digits(matrix)
        program = ShiftAdd([INT8] * shape[1])
        left = TermSharing(program, rows, repeated_patterns(rows), worth).run()
        x = rng.integers(-128, 128, shape[1])
        numbers = x.tolist()
        for a, p, b, q, sign in program.steps:
            numbers.append((numbers[a] << p) + sign * (numbers[b] << q))
        sums = [sum(sign * (numbers[n] << shift) for n, shift, sign in row) for row in left]
        assert np.array_equal(sums, matrix @ x)
        assert list(left_over(left)) == []
        # Each replaced pattern leaves one term in place of two, in two sums or more.
        before, after = (sum(map(len, those)) for those in (rows, left))
        assert before - after >= 2 * len(program.steps)


def test_occurrences_of_a_number_with_itself_never_overlap():
    """The digits of 0b10101 hold ``x + 4 x`` twice, but once without sharing a digit."""
    rows = digits(np.array([[0b10101]]))
    patterns = repeated_patterns(rows)
    assert patterns == {(0, 0, 2, 1): 2}
    program = ShiftAdd([INT8])
    assert TermSharing(program, rows, patterns, WORTHS[0]).run() == rows
    assert program.steps == []
    rows = digits(np.array([[0b1010101]]))
    left = TermSharing(program, rows, repeated_patterns(rows), WORTHS[0]).run()
    assert program.steps == [(0, 0, 0, 2, 1)]
    assert sorted(left[0]) == [(1, 0, 1), (1, 4, 1)]


def test_the_queue_gives_the_highest_worth_then_the_lowest_number():
    queue = _Queue()
    for number, worth in ((4, 2), (1, 2), (3, 7), (2, -1)):
        queue.put(number, worth)
    found = []
    for number in queue:
        found.append(number)
        if number == 1:
            queue.put(9, 7)
            queue.put(5, 2)
            queue.put(0, 0)
    assert found == [3, 1, 9, 4, 5, 0, 2]


@pytest.mark.parametrize("second", [INT8, (0, 1), (-3, 500)])
@pytest.mark.parametrize("distance", [-20, -9, -1, 0, 1, 7, 8, 20])
@pytest.mark.parametrize("sign", [1, -1])
def test_measures_are_the_overlap_of_bits_and_the_adder_s_carries(second, distance, sign):
    common, price = _measures(INT8, second, distance, sign, itself=False)
    netlist = Netlist()
    operands = [netlist.clamp(netlist.offset(netlist.input(k), 3, 0, negative=False), *end)
                for k, end in enumerate((INT8, second))]  # fmt: skip
    width = netlist.steps[operands[1]].width
    bits = set(range(8)) & set(range(distance, distance + width))
    assert common == len(bits)
    shifts = (max(0, -distance), max(0, distance))
    a, b = (netlist.steps[netlist.sum(*pair, negative=sign < 0)] for pair in
            ((*operands, shifts), (*operands[::-1], shifts[::-1])))  # fmt: skip
    assert price == min(netlist.carry_bits(a), netlist.carry_bits(b))
