import re

import pytest

from rlx.support.errors import UsageError
from rlx_fpga.devices import DEFAULT_DEVICE, boards, device, devices

NAMES = [
    "ecp5-25k", "ecp5-45k", "ecp5-85k", "ice40-up5k", "ice40-hx8k", "artix7-35t", "artix7-100t",
    "zynq-7020", "zu3eg", "zu7ev",
]  # fmt: skip


def test_devices_are_those_that_are_promised():
    assert list(devices()) == NAMES
    assert DEFAULT_DEVICE in devices()


@pytest.mark.parametrize("name", NAMES)
def test_device_makes_sense(name):
    found = device(name)
    assert found.name == name
    assert found.package.lower() in (found.part + " ".join(found.pnr)).lower()
    assert found.lut_inputs in (4, 6)
    assert found.lut <= found.ff
    assert found.bram > 0 <= found.dsp
    assert 1 < found.clock_mhz < 1000
    assert re.fullmatch(r"synth_(ecp5|ice40|xilinx)( -\w+( \w+)?)*", found.synth)
    assert (found.maker == "Lattice") == bool(found.pnr)
    assert f"{found.lut} LUT{found.lut_inputs}" in found.summary


def test_synthesis_is_not_asked_for_the_multipliers_of_ice40():
    """Its pass gets their registers wrong; see ``test_gate_level.py``."""
    assert [one.name for one in devices().values() if "-dsp" in one.synth] == []


def test_large_memories_are_those_of_ultraplus():
    found = device("ice40-up5k")
    assert (found.spram, found.spram_bits) == (4, 256 * 1024)
    assert found.summary.endswith("30 SB_RAM40_4K, 4 SB_SPRAM256KA")
    assert device("ice40-hx8k").spram == 0


def test_device_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(UsageError) as caught:
        device("spartan")
    assert str(caught.value) == (
        "no device is called 'spartan'\n"
        f"  hint: devices: {', '.join(NAMES)}; boards: {', '.join(boards())}"
    )


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("zynq7020", "zynq-7020"),
        ("ECP5_85K", "ecp5-85k"),
        ("xc7a35t", "artix7-35t"),
        ("up5k", "ice40-up5k"),
        ("ecp5-12k", "ecp5-25k"),
        ("ecp5", "ecp5-25k or ecp5-45k or ecp5-85k"),
    ],
)
def test_a_name_like_another_is_answered_with_that_one(name, meant):
    with pytest.raises(UsageError) as caught:
        device(name)
    hint = caught.value.hint.replace("'", "")
    assert hint.startswith(f"did you mean {meant}? devices: ecp5-25k, ")


def test_at_most_two_similar_names_are_suggested_and_none_for_no_name():
    with pytest.raises(UsageError) as caught:
        device("artix7-3t")
    assert caught.value.hint.startswith("did you mean 'artix7-35t'")
    for name in ("", "---"):
        with pytest.raises(UsageError) as caught:
            device(name)
        assert caught.value.hint.startswith("devices: ")


def test_a_board_is_its_device_but_for_name_clock_and_pins():
    for name, board in boards().items():
        (bare,) = [one for one in devices().values() if one.part[:9] == board.part[:9]
                   and one.lut == board.lut]  # fmt: skip
        assert board.name == name
        assert board.clock_pin == ""
        same = ("family", "lut", "ff", "dsp", "bram", "bram_bits", "spram", "grid", "synth")
        assert [getattr(board, key) for key in same] == [getattr(bare, key) for key in same]
        assert board.pnr[0] == bare.pnr[0] if bare.pnr else board.pnr == ()
