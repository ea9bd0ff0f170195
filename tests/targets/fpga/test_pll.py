"""PLL parameters: within the data sheets' ranges, and the frequency that they make."""

from fractions import Fraction

import pytest

from rlx.errors import EmitError
from rlx_fpga.devices.pll import TOLERANCE, pll_for

BOARDS = [("ecp5", 25), ("ecp5", 48), ("ice40", 12), ("xc7", 100)]


def number(text):
    return Fraction(text.rpartition("'d")[2])


def made(pll, source):
    """Return phase detector, VCO and output by the vendors' formulas, from the parameters alone."""
    values = {name: value for name, value in pll.parameters.items() if name != "FEEDBACK_PATH"}
    n = {name: number(value) for name, value in values.items()}
    match pll.cell:
        case "EHXPLLL":
            detector = source / n["CLKI_DIV"]
            vco = detector * n["CLKFB_DIV"] * n["CLKOP_DIV"]
            return detector, vco, vco / n["CLKOS_DIV"]
        case "MMCME2_BASE":
            detector = source / n["DIVCLK_DIVIDE"]
            vco = detector * n["CLKFBOUT_MULT_F"]
            return detector, vco, vco / n["CLKOUT0_DIVIDE_F"]
        case _:
            detector = source / (n["DIVR"] + 1)
            vco = detector * (n["DIVF"] + 1)
            return detector, vco, vco / 2 ** n["DIVQ"]


RANGES = {
    "ecp5": ((10, 400), (400, 800), (3.125, 400)),
    "ice40": ((10, 133), (533, 1066), (16, 275)),
    "xc7": ((10, 450), (600, 1200), (4.69, 800)),
}
"""Phase detector, VCO and output in MHz, by the data sheets."""


@pytest.mark.parametrize(("family", "source"), BOARDS)
def test_parameters_make_the_clock_within_the_ranges(family, source):
    found = 0
    for wanted in (*range(3, 300, 7), Fraction(667, 10), 133.333):
        try:
            pll = pll_for(family, source, float(wanted))
        except EmitError:
            continue
        found += 1
        frequencies = made(pll, Fraction(source))
        assert frequencies[1:] == (pll.vco_mhz, pll.output_mhz)
        for frequency, (low, high) in zip(frequencies, RANGES[family], strict=True):
            assert low <= frequency <= high
        assert abs(pll.output_mhz - Fraction(wanted)) <= TOLERANCE * Fraction(wanted)
    assert found >= 20


def test_a_clock_that_is_a_multiple_is_exact():
    assert pll_for("ecp5", 25, 75).output_mhz == 75
    assert pll_for("ice40", 12, 24, pad=True).cell == "SB_PLL40_PAD"
    assert pll_for("xc7", 100, 62.5).output_mhz == Fraction(125, 2)


@pytest.mark.parametrize(
    ("family", "source", "wanted", "message"),
    [
        ("ecp5", 25, 272.0, "makes 272 MHz of 25 MHz; the nearest clock is 275 MHz"),
        ("ice40", 12, 5.0, "makes 5 MHz of 12 MHz"),
    ],
)
def test_a_clock_out_of_reach_is_refused(family, source, wanted, message):
    hint = "take another --clock, or name the device in place of the board"
    with pytest.raises(EmitError, match=rf"^no setting of the PLL {message}\n  hint: {hint}$"):
        pll_for(family, source, wanted)
