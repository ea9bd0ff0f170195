"""Words hold what was put into them, in as few bits as that takes."""

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
