"""Additions are spelled in one way, the cheapest, and sums are shallow trees of them."""

from itertools import product

import numpy as np
import pytest

from rlx_fpga.architectures.parallel.netlist import Netlist
from rlx_fpga.architectures.parallel.program import ShiftAdd

INT8 = (-128, 127)
SIGNS = (1, -1)


def value(term, numbers):
    number, shift, sign = term
    return sign * (numbers[number] << shift)


def numbers_of(program, operands):
    """Return all numbers of a program for given operands."""
    numbers = list(operands)
    for a, p, b, q, sign in program.steps:
        numbers.append((numbers[a] << p) + sign * (numbers[b] << q))
    return numbers


def test_a_spelled_addition_equals_the_sum_of_its_terms():
    program = ShiftAdd([INT8, (0, 9)])
    for a, b, p, q, s, t in product((0, 1), (0, 1), (0, 1, 3), (0, 1, 3), SIGNS, SIGNS):
        if (a, p) == (b, q):
            continue
        first, second = (a, p, s), (b, q, t)
        step, shift, sign = program.spelled(first, second)
        x, left, y, right, other = step
        assert min(left, right) == 0
        for operands in ((-128, 9), (127, 0), (5, 3)):
            found = (operands[x] << left) + other * (operands[y] << right)
            assert sign * (found << shift) == value(first, operands) + value(second, operands)
        # Whoever adds the same two terms, or both of them moved or negated, shares the adder.
        assert program.spelled(second, first) == (step, shift, sign)
        if p != q or s == t:
            assert program.spelled((a, p, -s), (b, q, -t)) == (step, shift, -sign)
        assert program.spelled((a, p + 2, s), (b, q + 2, t)) == (step, shift + 2, sign)
        assert program.price(step) <= program.price((y, right, x, left, other))


def test_ranges_prices_and_depths_are_those_of_the_netlist():
    rng = np.random.default_rng(0)
    for _ in range(20):
        ends = [tuple(sorted(map(int, rng.integers(-300, 300, 2)))) for _ in range(3)]
        program = ShiftAdd(list(ends))
        netlist = Netlist()
        operands = [netlist.clamp(netlist.offset(netlist.input(k), 2, 0, negative=False), *end)
                    for k, end in enumerate(ends)]  # fmt: skip
        before = netlist.adder_bits
        terms = [(k, 0, 1) for k in range(3)]
        for _ in range(6):
            a, b = (terms[k] for k in rng.choice(len(terms), 2, replace=False))
            first, second = ((n, k + int(rng.integers(3)), int(rng.choice(SIGNS))) for n, k, _ in
                             (a, b))  # fmt: skip
            if first[:2] != second[:2]:
                terms.append(program.add(first, second))
        program.outputs = terms
        built = program.build(netlist, operands)
        for (number, *rest), (step, *same) in zip(terms, built, strict=True):
            assert rest == same
            one = netlist.steps[step]
            assert program.ends[number] == (one.low, one.high)
        assert netlist.adder_bits - before == program.bits
        depth = [0] * len(ends)
        for a, _, b, _, _ in program.steps:
            depth.append(1 + max(depth[a], depth[b]))
        assert program.depth == max(depth)


def test_the_same_addition_is_made_once():
    program = ShiftAdd([INT8] * 2)
    term = program.add((0, 1, 1), (1, 0, -1))
    bits = program.bits
    assert program.add((1, 3, 1), (0, 4, -1)) == (term[0], term[1] + 3, -term[2])
    assert (program.bits, len(program.steps)) == (bits, 1)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 9, 40])
def test_a_total_is_the_sum_of_its_terms(count):
    rng = np.random.default_rng(count)
    program = ShiftAdd([INT8, (0, 1), (-3, 70_000)])
    places = [(int(n), int(shift)) for n, shift in product(range(3), range(15))]
    chosen = rng.permutation(len(places))[:count]
    terms = [(*places[k], int(rng.choice(SIGNS))) for k in chosen]
    total = program.total(terms)
    if not terms:
        assert total is None
        return
    for operands in ((-128, 1, 70_000), (127, 0, -3), (-1, 1, 0)):
        numbers = numbers_of(program, operands)
        assert value(total, numbers) == sum(value(term, operands) for term in terms)
    assert len(program.steps) == len(set(program.steps)) <= count - 1


@pytest.mark.parametrize("count", [2, 3, 5, 8, 16, 33])
def test_a_total_of_equals_is_as_shallow_as_can_be(count):
    program = ShiftAdd([INT8] * count)
    program.total([(place, 0, 1) for place in range(count)])
    assert program.depth == (count - 1).bit_length()


def test_narrow_terms_are_added_first():
    """The wide number is added last: three additions of 2 to 4 bits, and one of 21."""
    program = ShiftAdd([(-(1 << 19), 1 << 18)] + [(-1, 0)] * 4)
    program.total([(place, 0, 1) for place in range(5)])
    assert program.bits == 2 + 2 + 3 + 21
