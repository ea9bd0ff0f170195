"""Boards: devices with the clock and the pins of amaranth-boards."""

from __future__ import annotations

from importlib import import_module

import pytest

from rlx.support.errors import ToolMissingError
from rlx_fpga import FpgaOptions
from rlx_fpga.devices import boards, device, devices
from rlx_fpga.devices.pins import BoardPin, board_pins
from support.messages import raises

CLOCKS = {
    "ulx3s-25f": 25, "ulx3s-45f": 25, "ulx3s-85f": 25, "orangecrab-25f": 48, "orangecrab-85f": 48,
    "icebreaker": 12, "ice40-hx8k-evn": 12, "arty-a7-35t": 100, "arty-a7-100t": 100,
}  # fmt: skip


def test_designs_for_a_board_are_planned_for_its_clock():
    assert list(boards()) == list(CLOCKS)
    for name, mhz in CLOCKS.items():
        assert device(name).clock_mhz == mhz
        assert FpgaOptions(device=name).clock_hz == mhz * 1e6
    assert FpgaOptions(device="icebreaker", clock=20e6).clock_hz == 20e6


@pytest.mark.parametrize("name", CLOCKS)
def test_board_has_the_device_that_amaranth_knows(name):
    found = device(name)
    module, _, platform = found.platform.partition(".")
    known = getattr(import_module(f"amaranth_boards.{module}"), platform)
    part = found.part.lower()
    # Arty A7-100T comes with the commercial grade; amaranth-boards says industrial.
    assert part.startswith(known.device.lower().removesuffix("i"))
    assert known.package.lower() in part


@pytest.mark.parametrize("name", CLOCKS)
def test_pins_of_a_board(name):
    found = device(name)
    assert [pin.name for pin in found.pins.located] == ["clk_i", *["rst_ni"] * bool(found.reset)]
    sites = [pin.site for pin in (*found.pins.located, *found.pins.named)]
    assert len(set(sites)) == len(sites)
    assert any("led" in pin.name for pin in found.pins.named)
    for bare in devices().values():
        if bare.board == found.board:
            assert found.pins.located[0].site == bare.clock_pin


def test_attributes_of_buffers_are_kept():
    clock, reset = device("ulx3s-85f").pins.located
    assert clock == BoardPin("clk_i", "G2", (("IO_TYPE", "LVCMOS33"),))
    assert reset == BoardPin("rst_ni", "D6", (("IO_TYPE", "LVCMOS33"), ("PULLMODE", "UP")))


def test_a_button_that_is_high_while_pressed_is_no_reset():
    with raises(AssertionError):
        board_pins("ulx3s.ULX3S_85F_Platform", "button")


def test_boards_need_the_package_that_knows_them(monkeypatch):
    def absent(name):
        raise ImportError(name)

    board_pins.cache_clear()
    monkeypatch.setattr("rlx_fpga.devices.pins.import_module", absent)
    with pytest.raises(ToolMissingError) as caught:
        device("icebreaker")
    assert str(caught.value) == (
        "amaranth-boards, which has the pins of boards, is not installed\n"
        "  hint: pip install 'rlx[boards]', or name the device instead of the board"
    )
    assert "with the pins of the board" in boards()["icebreaker"].summary
    assert device("ice40-up5k").pins is None


@pytest.mark.parametrize("name", CLOCKS)
def test_pins_are_those_of_the_package_and_attributes_are_texts(name):
    """Pins behind a connector have the name of that, with a colon."""
    pins = device(name).pins
    for pin in (*pins.located, *pins.named):
        assert pin.site.isalnum(), pin
        assert all(isinstance(value, str) for _, value in pin.attributes)


def test_parts_of_a_resource_are_named():
    """The pins of a serial port, and the colours of a light."""
    names = {pin.name for pin in device("icebreaker").pins.named}
    assert {"uart_0_rx", "uart_0_tx"} <= names
    colours = {pin.name for pin in device("arty-a7-35t").pins.named if "rgb" in pin.name}
    assert colours == {f"rgb_led_{n}_{colour}" for n in range(4) for colour in "rgb"}
