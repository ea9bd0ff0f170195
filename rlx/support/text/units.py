"""Numbers with units and nouns: parsing and formatting."""

from __future__ import annotations

import re
from typing import Final

from rlx.support.errors import UsageError

_CLOCK: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kKMG]?)((?:[Hh][Zz])?)")
_FACTORS: Final = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_MIN_WITHOUT_UNIT: Final = 1e6
_MIN_CLOCK_HZ: Final = 1e3
_BYTES: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMG])(?:I?B)?|B)?")
_COUNT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kKMG]?)")
_POWERS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, in the singular for 1: ``1 op``, ``2,000 ops``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {_plural(noun)}"


def parse_clock(text: str) -> float:
    """Return the hertz in ``text``: a number followed by Hz, kHz, MHz or GHz.

    A number without a unit is hertz; below 1 MHz it is refused, as 50 may well mean 50 MHz.

    Raises:
        ValueError: It is something else, zero, or a small number without a unit.
    """
    match = _CLOCK.fullmatch(text.strip())
    if match is None or float(match[1]) == 0:
        msg = f"expected a clock, got {text!r}: write for example 100MHz"
        raise ValueError(msg)
    number, prefix, unit = match.groups()
    hertz = float(number) * _FACTORS[prefix]
    if not prefix and not unit and hertz < _MIN_WITHOUT_UNIT:
        msg = f"{text!r} would be {number} Hz: did you mean {number}MHz?"
        raise ValueError(msg)
    return hertz


def check_clock(hertz: float | None) -> None:
    """Refuse a clock that is infinite or below 1 kHz, as 75 may well mean 75 MHz.

    Args:
        hertz: The value of an option ``--clock``; None if it has none.

    Raises:
        UsageError: It is such a clock.
    """
    if hertz is None or _MIN_CLOCK_HZ <= hertz < float("inf"):
        return
    megahertz = f"{hertz:g}" if 0 < hertz < _MIN_CLOCK_HZ else "100"
    raise UsageError(
        f"expected a clock of at least 1 kHz, got {hertz:g} Hz",
        where="--clock",
        hint=f"write --clock {megahertz}MHz; a number is in hertz: clock={megahertz}e6",
    )


def parse_bytes(text: str) -> int:
    """Return the bytes in ``text``: a number, or one followed by K, M or G (1024, 1024^2, ...).

    ``KB`` and ``KiB`` are ``K``, as in linker scripts and data sheets; so are small letters.

    Raises:
        ValueError: It is something else, or not an integral number of bytes.
    """
    match = _BYTES.fullmatch(text.strip().upper())
    found = None if match is None else float(match[1]) * _POWERS[match[2] or ""]
    if found is None or found != int(found):
        msg = f"expected a size in bytes, got {text!r}: write for example 65536 or 64K"
        raise ValueError(msg)
    return int(found)


def parse_count(text: str) -> int:
    """Return the count in ``text``: a number, or one followed by k, M or G (1000, 1000000, ...).

    Raises:
        ValueError: It is something else, or not an integer.
    """
    match = _COUNT.fullmatch(text.strip())
    found = None if match is None else round(float(match[1]) * _FACTORS[match[2]], 6)
    if found is None or found != int(found):
        msg = f"expected a count, got {text!r}: write for example 2.8M or 2800000"
        raise ValueError(msg)
    return int(found)


def _plural(noun: str) -> str:
    """Return the plural of a noun, or of the first word of ``kind of op``."""
    head, of, rest = noun.partition(" of ")
    if head.endswith("y") and head[-2] not in "aeiou":
        return f"{head[:-1]}ies{of}{rest}"
    return f"{head}{'es' if head.endswith(('s', 'x', 'ch', 'sh')) else 's'}{of}{rest}"
