"""Parsing of numbers with units."""

from __future__ import annotations

import re
from typing import Final

_CLOCK: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kKMG]?)((?:[Hh][Zz])?)")
_FACTORS: Final = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_MIN_WITHOUT_UNIT: Final = 1e6


def parse_clock(text: str) -> float:
    """Return the hertz in ``text``: a number followed by Hz, kHz, MHz or GHz.

    A number without a unit is hertz; below 1 MHz it is refused, as 50 may well mean 50 MHz.

    Raises:
        ValueError: It is something else, zero, or a small number without a unit.
    """
    match = _CLOCK.fullmatch(text.strip())
    if match is None or float(match[1]) == 0:
        msg = f"{text!r} is no clock: write for example 100MHz"
        raise ValueError(msg)
    number, prefix, unit = match.groups()
    hertz = float(number) * _FACTORS[prefix]
    if not prefix and not unit and hertz < _MIN_WITHOUT_UNIT:
        msg = f"{text!r} would be {number} Hz: did you mean {number}MHz?"
        raise ValueError(msg)
    return hertz
