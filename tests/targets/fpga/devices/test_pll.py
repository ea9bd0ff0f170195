"""PLL parameters: within the data sheets' ranges, and the frequency that they make."""

import random
from bisect import bisect
from fractions import Fraction

import pytest

from rlx.support.errors import EmitError
from rlx_fpga.devices.pll import MAX_CLOCK_ERROR, pll_for
from support.messages import raises

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
        assert abs(pll.output_mhz - Fraction(wanted)) <= MAX_CLOCK_ERROR * Fraction(wanted)
    assert found >= 20


def test_a_clock_that_is_a_multiple_is_exact():
    assert pll_for("ecp5", 25, 75).output_mhz == 75
    assert pll_for("ice40", 12, 24, pad=True).cell == "SB_PLL40_PAD"
    assert pll_for("xc7", 100, 62.5).output_mhz == Fraction(125, 2)


@pytest.mark.parametrize(
    ("family", "source", "wanted"),
    [("ecp5", 25, 272.0), ("ice40", 12, 5.0)],
)
def test_a_clock_out_of_reach_is_refused(family, source, wanted):
    with raises(EmitError):
        pll_for(family, source, wanted)


def choices(family):
    """Return the choices of the data sheet: dividers, factors and output dividers."""
    whole = [Fraction(n) for n in range(1, 129)]
    eighths = [Fraction(n, 8) for n in range(16, 1025)]
    return {
        "ecp5": (range(1, 129), whole, whole),
        "ice40": (range(1, 17), whole, [Fraction(2**n) for n in range(1, 7)]),
        "xc7": (range(1, 107), [n for n in eighths if n <= 64], [Fraction(1), *eighths]),
    }[family]


def nearest(family, source, wanted):
    """Return the smallest distance from ``wanted`` of any output within the ranges."""
    (detector_low, detector_high), (low, high), (output_low, output_high) = RANGES[family]
    dividers, factors, posts = choices(family)
    found = []
    for divider in dividers:
        detector = Fraction(source) / divider
        if detector_low <= detector <= detector_high:
            for vco in (detector * factor for factor in factors):
                if low <= vco <= high:
                    place = bisect(posts, vco / wanted)
                    outputs = [vco / post for post in posts[max(0, place - 1) : place + 1]]
                    found += [one for one in outputs if output_low <= one <= output_high]
    return min(abs(one - wanted) for one in found)


EDGES = [
    ("ecp5", 25, 400), ("ecp5", 25, 3.125), ("ecp5", 10, 10), ("ecp5", 400, 100),
    ("ice40", 13, 266.5), ("ice40", 16, 16), ("ice40", 100, 275), ("ice40", 10, 20),
    ("xc7", 10, 320), ("xc7", 100, 600), ("xc7", 100, 9.375), ("xc7", 12, 4.75),
]  # fmt: skip
"""Clocks that only settings at the ends of the ranges make exactly, or come near to."""


@pytest.mark.parametrize(("family", "source", "wanted"), EDGES)
def test_the_ends_of_the_ranges_can_be_used(family, source, wanted):
    pll = pll_for(family, source, wanted)
    assert abs(pll.output_mhz - Fraction(wanted)) == nearest(family, source, Fraction(wanted))


@pytest.mark.parametrize(("family", "source"), [*BOARDS, ("ecp5", 100)])
def test_no_setting_is_nearer_to_the_clock(family, source):
    pick = random.Random(f"{family} {source}")
    low, high = RANGES[family][2]
    for _ in range(4):
        wanted = Fraction(pick.randint(int(1000 * low) + 500, 1000 * high), 1000)
        distance = nearest(family, source, wanted)
        assert distance <= MAX_CLOCK_ERROR * wanted, "every clock within the range can be made"
        assert abs(pll_for(family, source, float(wanted)).output_mhz - wanted) == distance


def test_a_clock_may_be_off_by_the_tolerance_and_no_more():
    assert pll_for("ice40", 16, 1600 / 101).output_mhz == 16
    with raises(EmitError):
        pll_for("ice40", 16, 15.84)


@pytest.mark.parametrize(
    ("family", "source", "wanted", "output"),
    [("ecp5", 25, 3.1, 3.125), ("ice40", 10, 15.935, 16.09375), ("xc7", 100, 4.66, 4.69727)],
)
def test_a_clock_just_below_the_range_gets_the_lowest(family, source, wanted, output):
    assert pll_for(family, source, wanted).output_mhz == pytest.approx(output, abs=1e-5)


@pytest.mark.parametrize(("family", "source"), [("ecp5", 25), ("ice40", 12), ("xc7", 12)])
def test_a_clock_far_beyond_the_range_is_answered_with_the_end_of_it(family, source):
    for wanted in (1, 2000):
        with raises(EmitError):
            pll_for(family, source, wanted)


def test_output_dividers_between_one_and_two_do_not_exist():
    # 600 MHz divided by 1.5, of an oscillator whose PLL reaches 640 MHz.
    with raises(EmitError):
        pll_for("xc7", 10, 400)


@pytest.mark.parametrize(
    ("source", "filter_range"),
    [(16.9, 1), (17, 2), (25.9, 2), (26, 3), (43.9, 3), (44, 4), (65.9, 4), (66, 5), (100.9, 5),
     (101, 6), (133, 6)],
)  # fmt: skip
def test_the_filter_is_that_of_the_phase_detector(source, filter_range):
    factor = int(1066 / source)
    pll = pll_for("ice40", source, source * factor / 16)
    assert (pll.parameters["DIVR"], pll.parameters["DIVF"]) == ("4'd0", f"7'd{factor - 1}")
    assert pll.parameters["FILTER_RANGE"] == f"3'd{filter_range}"


def test_outputs_of_ecp5_are_in_phase():
    """An output has no delay if its phase is its divider less one (FPGA-TN-02200)."""
    for wanted in (10, 75, 400):
        n = {name: int(value) for name, value in pll_for("ecp5", 25, wanted).parameters.items()}
        assert (n["CLKOP_CPHASE"], n["CLKOS_CPHASE"]) == (n["CLKOP_DIV"] - 1, n["CLKOS_DIV"] - 1)


@pytest.mark.parametrize(
    ("wanted", "factor", "divider"), [(80, "12.000", "15.000"), (62.5, "10.000", "16.000")]
)
def test_mmcm_takes_whole_factors_and_then_the_fastest(wanted, factor, divider):
    assert pll_for("xc7", 100, wanted).parameters == {
        "CLKIN1_PERIOD": "10.000", "DIVCLK_DIVIDE": "1", "CLKFBOUT_MULT_F": factor,
        "CLKOUT0_DIVIDE_F": divider,
    }  # fmt: skip


def test_only_a_clock_at_the_pin_of_a_pll_takes_the_pad():
    assert pll_for("ice40", 12, 24).cell == "SB_PLL40_CORE"
    assert pll_for("ecp5", 25, 75, pad=True).cell == "EHXPLLL"
