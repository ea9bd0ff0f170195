"""Words hold what was put into them, in as few bits as that takes."""

import numpy as np
from amaranth import Const, Shape, signed, unsigned

from rlx_fpga.architectures.engine.fields import Fields


def test_numbers_lie_side_by_side_in_as_many_bits_as_needed():
    fields = Fields([{"a": 3, "b": -4, "c": 0}, {"a": 0, "b": 3, "c": 0}])
    assert [fields.size(name) for name in "abc"] == [2, 3, 1]
    assert fields.width == 6
    assert fields.words == [0b0_100_11, 0b0_011_00]


def test_a_number_that_can_be_negative_is_signed():
    fields = Fields([{"a": 3, "b": -4}])
    word = Const(0, fields.width)
    assert fields.get(word, "a").shape() == unsigned(2)
    assert Shape.cast(fields.get(word, "b").shape()) == signed(3)


def unpacked(fields, word, names):
    """Return the numbers of a word, cut apart in order by the sizes of its fields."""
    found = {}
    for name in names:
        size, shape = fields.size(name), fields.get(Const(0, fields.width), name).shape()
        number, word = word & ((1 << size) - 1), word >> size
        found[name] = number - (1 << size) * (shape.signed and number >> (size - 1))
    assert word == 0
    return found


def test_words_hold_every_number_of_every_row():
    rng = np.random.default_rng(1)
    for rows in (1, 2, 7):
        ranges = {f"f{k}": sorted(map(int, rng.integers(-300, 300, 2))) for k in range(20)}
        table = [
            {name: int(rng.integers(low, high + 1)) for name, (low, high) in ranges.items()}
            for _ in range(rows)
        ]
        fields = Fields(table)
        assert [unpacked(fields, word, ranges) for word in fields.words] == table
        assert fields.width == sum(map(fields.size, ranges))
        # A bit less, and the largest or the smallest number would be another one.
        for name in ranges:
            size, numbers = fields.size(name), [row[name] for row in table]
            half = 1 << (size - 1)
            narrower = range(-(half >> 1), half >> 1) if min(numbers) < 0 else range(half)
            assert size == 1 or not {min(numbers), max(numbers)} <= set(narrower)
