"""Steps have the values that their kinds say, in ranges that are exact, and few carries."""

import numpy as np
import pytest

from rlx_fpga.architectures.parallel.netlist import Netlist, NetlistStep
from rlx_fpga.cells.rom import signed_bits

SQUARES = tuple(code * code - 9 for code in range(-128, 128))
KINDS = {
    "sum": (lambda n, a, b: n.sum(a, b, (3, 0), negative=False), lambda a, b: 8 * a + b),
    "difference": (lambda n, a, b: n.sum(a, b, (0, 2), negative=True), lambda a, b: a - 4 * b),
    "offset": (lambda n, a, _: n.offset(a, 1, 300, negative=False), lambda a, _: 2 * a + 300),
    "negated offset": (lambda n, a, _: n.offset(a, 2, -7, negative=True), lambda a, _: -7 - 4 * a),
    "choice": (lambda n, a, b: n.choice(a, b, (-20, 1000)),
               lambda a, b: a + np.where(b < 0, 1000, -20)),
    "right": (lambda n, a, _: n.right(a, 3), lambda a, _: np.floor(a / 8)),
    "clamp": (lambda n, a, _: n.clamp(a, -5, 127), lambda a, _: np.maximum(a, -5)),
    "max": (lambda n, a, b: n.maximum(a, b), np.maximum),
    "pick": (lambda n, a, b: n.pick(a, b, n.constant(-3), n.constant(4)),
             lambda a, b: np.where(b > a, 4, -3)),
    "table": (lambda n, a, _: n.table(a, SQUARES), lambda a, _: a * a - 9),
}  # fmt: skip
PAIRS = np.array(np.meshgrid(np.arange(-128, 128), np.arange(-128, 128)))


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_all_operands_are_right_and_both_ends_are_reached(kind):
    append, expected = KINDS[kind]
    netlist = Netlist()
    step = append(netlist, netlist.input(0), netlist.input(1))
    found = netlist.evaluate(PAIRS)[step]
    assert np.array_equal(found, np.broadcast_to(expected(*PAIRS), found.shape))
    one = netlist.steps[step]
    assert (one.low, one.high) == (found.min(), found.max())


@pytest.mark.parametrize(
    ("low", "high", "width"),
    [(0, 0, 1), (-1, 0, 1), (0, 1, 2), (-2, 1, 2), (-128, 127, 8), (-129, 0, 9), (5, 128, 9)],
)
def test_a_number_has_as_many_bits_as_its_range_takes(low, high, width):
    assert NetlistStep("input", (), (0,), low, high).width == width


def test_equal_steps_are_merged_and_others_are_not():
    netlist = Netlist()
    a, b = netlist.input(0), netlist.input(1)
    assert netlist.input(0) == a
    sums = {(p, negative): netlist.sum(a, b, (p, 0), negative=negative)
            for p in (0, 1) for negative in (False, True)}  # fmt: skip
    assert len(set(sums.values())) == 4
    assert netlist.sum(a, b, (1, 0), negative=True) == sums[1, True]
    assert netlist.sum(b, a, (1, 0), negative=True) not in sums.values()
    assert netlist.constant(3) != netlist.right(a, 3) != netlist.offset(a, 3, 0, negative=False)


def test_a_clamp_that_changes_nothing_is_no_step():
    netlist = Netlist()
    a = netlist.offset(netlist.input(0), 0, 10, negative=False)
    assert netlist.clamp(a, -118, 137) == a
    for low, high in ((-117, 137), (-118, 136)):
        step = netlist.steps[netlist.clamp(a, low, high)]
        assert (step.low, step.high) == (low, high)
    outside = netlist.steps[netlist.clamp(a, 200, 210)]
    assert (outside.low, outside.high) == (200, 200)


def test_a_table_is_as_wide_as_the_entries_that_can_be_read():
    netlist = Netlist()
    some = netlist.clamp(netlist.input(0), 2, 4)
    step = netlist.steps[netlist.table(some, SQUARES)]
    assert (step.low, step.high) == (-5, 7)


def test_additions_are_counted_and_other_steps_are_not():
    netlist = Netlist()
    a, b = netlist.input(0), netlist.input(1)
    total = netlist.sum(a, b, (0, 0), negative=False)
    moved = netlist.offset(total, 0, 1, negative=False)
    chosen = netlist.choice(moved, a, (1, 2))
    netlist.clamp(netlist.right(chosen, 1), -128, 127)
    netlist.pick(a, b, netlist.maximum(a, b), netlist.table(a, SQUARES))
    assert netlist.adders == 3
    bits = [netlist.carry_bits(netlist.steps[step]) for step in (total, moved, chosen)]
    assert netlist.adder_bits == sum(bits) == 9 + 9 + 10


def through(value, passing):
    """Return the number of lowest bits that always equal those of ``passing``."""
    different = int(np.bitwise_or.reduce((value ^ passing).reshape(-1)))
    return (different & -different).bit_length() - 1 if different else 64


@pytest.mark.parametrize("p", [0, 1, 4])
@pytest.mark.parametrize("negative", [False, True])
def test_sums_have_no_carries_where_one_operand_is_alone(p, negative):
    """Low bits of the other one pass; what is subtracted has to be complemented."""
    for shifts in ((p, 0), (0, p)):
        netlist = Netlist()
        step = netlist.sum(netlist.input(0), netlist.input(1), shifts, negative=negative)
        value = netlist.evaluate(PAIRS)[step]
        passing = PAIRS[0 if shifts[0] == 0 else 1]
        free = 0 if negative and shifts[0] else through(value, passing)
        one = netlist.steps[step]
        assert netlist.carry_bits(one) == signed_bits(int(value.min()), int(value.max())) - free


@pytest.mark.parametrize("shift", [0, 3])
@pytest.mark.parametrize("constant", [0, 1, 12, -64, 1 << 20])
def test_constants_have_no_carries_below_their_lowest_bit(shift, constant):
    codes = np.arange(-128, 128)[np.newaxis]
    for negative in (False, True):
        netlist = Netlist()
        step = netlist.offset(netlist.input(0), shift, constant, negative=negative)
        value = netlist.evaluate(codes)[step]
        passing = np.full_like(value, constant) if negative else codes[0] << shift
        one = netlist.steps[step]
        free = min(through(value, passing), one.width)
        assert netlist.carry_bits(one) == one.width - free
