"""PLLs: from the oscillator of a board to the requested clock.

Frequencies are exact: fractions of a megahertz.

Source:
    Lattice FPGA-DS-02012 (ECP5, table of sysCLOCK PLL timing) and FPGA-TN-02200; FPGA-DS-02029 and
    FPGA-TN-02052 (iCE40); AMD DS181 (Artix-7, speed grade -1) and UG472.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from rlx.support.errors import EmitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MAX_CLOCK_ERROR: Final = Fraction(1, 100)
"""Relative error that a PLL's output clock may have."""

_FILTERS: Final = ((17, 1), (26, 2), (44, 3), (66, 4), (101, 5), (134, 6))
"""iCE40: ``FILTER_RANGE`` for phase detector frequencies below a number of megahertz."""


@dataclass(frozen=True, slots=True)
class Pll:
    """A PLL and its parameters.

    Attributes:
        cell: Cell of the vendor's library.
        input_mhz: Frequency of the oscillator.
        vco_mhz: Frequency of the PLL's own oscillator.
        output_mhz: Frequency of its output.
        parameters: Dividers and the like, as the cell names them, in Verilog.
    """

    cell: str
    input_mhz: Fraction
    vco_mhz: Fraction
    output_mhz: Fraction
    parameters: Mapping[str, str]


def pll_for(family: str, input_mhz: float, wanted_mhz: float, *, pad: bool = False) -> Pll:
    """Return the PLL whose output is nearest to a frequency.

    Args:
        family: Family of the device.
        input_mhz: Frequency of the oscillator.
        wanted_mhz: Requested frequency.
        pad: Whether the oscillator is at the pin of the PLL (iCE40).

    Raises:
        EmitError: No parameters within the ranges of the data sheet come within
            :data:`MAX_CLOCK_ERROR`.
    """
    source, output = (Fraction(mhz).limit_denominator(10**6) for mhz in (input_mhz, wanted_mhz))
    settings = _SETTINGS[family](source, output)
    best = min(settings, key=lambda pll: abs(pll.output_mhz - output), default=None)
    if best is None or abs(best.output_mhz - output) > MAX_CLOCK_ERROR * output:
        near = "" if best is None else f"; the nearest clock is {float(best.output_mhz):g} MHz"
        raise EmitError(
            f"the PLL cannot make {wanted_mhz:g} MHz from {input_mhz:g} MHz{near}",
            hint="use another --clock, or name the device instead of the board",
        )
    if best.cell == "SB_PLL40_CORE" and pad:
        return Pll("SB_PLL40_PAD", source, best.vco_mhz, best.output_mhz, best.parameters)
    return best


def _ecp5(source: Fraction, output: Fraction) -> Iterator[Pll]:
    """Yield settings that feed CLKOP back, as fast as the phase detector; CLKOS is the output."""
    for divider in range(1, 129):
        detector = source / divider
        # Megahertz, FPGA-DS-02012: phase detector 10 to 400, VCO 400 to 800, output 3.125 to 400.
        if not 10 <= detector <= 400:
            continue
        for factor in range(1, 129):
            vco = detector * factor
            post = min(max(round(vco / output), 1), 128)
            if 400 <= vco <= 800 and Fraction(25, 8) <= vco / post <= 400:
                yield Pll("EHXPLLL", source, vco, vco / post, {
                    "CLKI_DIV": str(divider), "CLKFB_DIV": "1", "CLKOP_DIV": str(factor),
                    "CLKOP_CPHASE": str(factor - 1), "CLKOS_DIV": str(post),
                    "CLKOS_CPHASE": str(post - 1),
                })  # fmt: skip


def _ice40(source: Fraction, _wanted: Fraction) -> Iterator[Pll]:
    """Yield all settings with simple feedback."""
    for divider in range(16):
        detector = source / (divider + 1)
        # Megahertz, FPGA-DS-02029: phase detector 10 to 133, VCO 533 to 1066, output 16 to 275.
        if not 10 <= detector <= 133:
            continue
        for power in range(1, 7):
            for factor in range(1, 129):
                vco = detector * factor
                output = vco / 2**power
                if 533 <= vco <= 1066 and 16 <= output <= 275:
                    range_ = next(number for limit, number in _FILTERS if detector < limit)
                    yield Pll("SB_PLL40_CORE", source, vco, output, {
                        "FEEDBACK_PATH": '"SIMPLE"', "DIVR": f"4'd{divider}",
                        "DIVF": f"7'd{factor - 1}", "DIVQ": f"3'd{power}",
                        "FILTER_RANGE": f"3'd{range_}",
                    })  # fmt: skip


def _mmcm(source: Fraction, output: Fraction) -> Iterator[Pll]:
    """Yield settings of the first output; whole factors first, and high frequencies inside."""
    factors = sorted(range(16, 513), key=lambda eighths: (eighths % 8 != 0, -eighths))
    for divider in range(1, 107):
        # Megahertz, DS181, grade -1: phase detector 10 to 450, VCO 600 to 1200, output 4.69 to 800.
        if not 10 <= source / divider <= 450:
            continue
        for eighths in factors:
            vco = source * eighths / 8 / divider
            if not 600 <= vco <= 1200:
                continue
            near = min(max(Fraction(round(8 * vco / output), 8), Fraction(1)), Fraction(128))
            # UG472: the output divider is 1 or a multiple of 1/8 from 2 on: none between 1 and 2.
            for post in (Fraction(1), Fraction(2)) if 1 < near < 2 else (near,):
                if Fraction(469, 100) <= vco / post <= 800:
                    yield Pll("MMCME2_BASE", source, vco, vco / post, {
                        "CLKIN1_PERIOD": f"{float(1000 / source):.3f}",
                        "DIVCLK_DIVIDE": str(divider), "CLKFBOUT_MULT_F": f"{eighths / 8:.3f}",
                        "CLKOUT0_DIVIDE_F": f"{float(post):.3f}",
                    })  # fmt: skip


_SETTINGS: Final[Mapping[str, Callable[[Fraction, Fraction], Iterator[Pll]]]] = {
    "ecp5": _ecp5,
    "ice40": _ice40,
    "xc7": _mmcm,
}
"""Settings to choose from, by family of the boards."""
