"""The base of all cells: payloads, lanes and what a cell must say of itself."""

import pytest
from amaranth import Format

from rlx_fpga.cells.fifo import SkidBuffer
from rlx_fpga.cells.pad import Pad
from rlx_fpga.cells.streams import Cell, Lanes, lanes_of, raw, require_divisor, stream_of
from support.messages import raises


def test_lane_0_is_in_the_lowest_bits():
    payload = stream_of(3, 5).members["payload"].shape
    assert [(payload[lane].offset, payload[lane].width) for lane in range(3)] == [
        (0, 5), (5, 5), (10, 5)
    ]  # fmt: skip
    assert len(raw(SkidBuffer(3, 5).i)) == 15


@pytest.mark.parametrize(("lanes", "width"), [(0, 8), (1, 0), (-1, 8)])
def test_a_payload_has_a_bit(lanes, width):
    with raises(ValueError):
        Lanes(lanes, width)


def test_a_payload_is_printed_as_one_number():
    layout = Lanes(2)
    found = layout.format(SkidBuffer(2).i.payload, "")
    assert isinstance(found, Format)
    with raises(ValueError):
        layout.format(SkidBuffer(2).i.payload, "x")


def test_ports_are_created_when_they_are_used():
    cell = Pad(4, (2, 3), (1, 0), (0, 1), 0)
    assert lanes_of(cell, "i") == lanes_of(cell, "o") == 4
    assert "i" not in vars(cell)
    assert cell.i is cell.i
    with raises(AttributeError):
        _ = cell.z


def test_a_cell_must_say_what_it_is_made_of():
    class Silent(Cell):
        pass

    with raises(NotImplementedError):
        Silent({}).cost("ecp5")


@pytest.mark.parametrize(("lanes", "channels"), [(2, 3), (0, 3), (4, 0), (5, 3)])
def test_lanes_divide_channels(lanes, channels):
    with raises(ValueError):
        require_divisor(lanes, channels)
    require_divisor(3, 6)
