"""Options to try for a design that does not fit: strategies, each a generator of suggestions.

Tests: tests/targets/fpga/explore/test_fit.py
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from rlx.support.errors import DoesNotFitError, UsageError
from rlx_fpga.devices import devices
from rlx_fpga.explore.fit import excesses, fitting, shortage
from rlx_fpga.options import BUDGETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from rlx_fpga.explore.fit import Estimate
    from rlx_fpga.options import FpgaOptions

SMALLER_MODEL: Final = "make the model smaller"
"""Hint if no option helps."""

MAX_CLOCK_RATIO: Final = 1.5
"""Highest clock that a hint names, relative to the device's default: what routed designs reach."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Options with which a design fits.

    Attributes:
        flags: The changed options, as on the command line: ``--dsp 5 --lut 600``.
        options: All options.
    """

    flags: str
    options: FpgaOptions


@dataclass(frozen=True, slots=True)
class Advice:
    """Suggestions for a design that does not fit, the preferred one first.

    Attributes:
        suggestions: Alternatives: each is enough.
        otherwise: Hint without suggestions; empty if the caller may search for more.
    """

    suggestions: tuple[Suggestion, ...] = ()
    otherwise: str = ""

    @property
    def hint(self) -> str:
        """The advice as the hint of an error."""
        flags = ", or ".join(suggestion.flags for suggestion in self.suggestions)
        return flags or self.otherwise or SMALLER_MODEL

    def extended(self, more: Iterable[Suggestion]) -> Advice:
        """Return the advice followed by ``more``."""
        return replace(self, suggestions=(*self.suggestions, *more))


class DesignTooLargeError(DoesNotFitError):
    """No design fits the budget, or reaches the rate within it.

    Attributes:
        advice: Options to try.
    """

    def __init__(self, message: str, *, where: str | None = None, advice: Advice) -> None:
        super().__init__(message, where=where, hint=advice.hint)
        self.advice = advice


def too_large(
    report: Mapping[str, Any],
    options: FpgaOptions,
    estimate: Estimate,
    variants: Iterable[Suggestion],
    alternatives: Iterable[Suggestion],
) -> DesignTooLargeError:
    """Return (not raise) the error for a finished design that does not fit.

    Args:
        report: Report of the design.
        options: Options that it was built with.
        estimate: Returns the report for other options; may raise an ``RlxError``.
        variants: Options that use less of a device.
        alternatives: Options with which another architecture fits.
    """
    suggestions = tuple(raised_budgets(report, options)) or (
        *islice(fitting_variants(variants, estimate), 1),
        *islice(alternatives, 1),
        *islice(fitting_devices(options, estimate), 1),
    )
    return DesignTooLargeError(
        f"the design does not fit: {shortage(report, options)}",
        where=options.device,
        advice=Advice(suggestions, otherwise=SMALLER_MODEL),
    )


def reachable_rate(options: FpgaOptions, cycles: int) -> Iterator[Suggestion]:
    """Yield the highest rate at the clock, and the lowest clock for the rate if it is realistic.

    Args:
        options: The user's options, with a rate.
        cycles: Initiation interval.
    """
    assert options.fps is not None
    rate = int(options.clock_hz / cycles)
    if rate:
        yield Suggestion(f"--fps {rate}", replace(options, fps=float(rate)))
    megahertz = -(-options.fps * cycles // 1e6)
    if megahertz <= MAX_CLOCK_RATIO * options.chosen_device.clock_mhz:
        yield Suggestion(f"--clock {megahertz:.0f}MHz", replace(options, clock=megahertz * 1e6))


def raised_budgets(report: Mapping[str, Any], options: FpgaOptions) -> Iterator[Suggestion]:
    """Yield the options with all exceeded budgets raised, if the design fits the device then."""
    budgets = {
        excess.option: math.ceil(excess.needed)
        for excess in excesses(report, options)
        if excess.option and getattr(options, excess.option) is not None
    }
    if budgets and not shortage(report, replace(options, dsp=None, bram=None, lut=None)):
        yield with_budgets(options, budgets)


def with_budgets(options: FpgaOptions, budgets: Mapping[str, int]) -> Suggestion:
    """Return the suggestion of some budgets, by the name of their option."""
    flags = " ".join(f"--{name} {count}" for name, count in budgets.items())
    changes: dict[str, Any] = dict(budgets)
    return Suggestion(flags, replace(options, **changes))


def fitting_variants(variants: Iterable[Suggestion], estimate: Estimate) -> Iterator[Suggestion]:
    """Yield the variants whose design fits."""
    return (variant for variant in variants if fitting(variant.options, estimate) is not None)


def fitting_devices(options: FpgaOptions, estimate: Estimate) -> Iterator[Suggestion]:
    """Yield the other devices that the design fits."""
    return fitting_variants(other_devices(options), estimate)


def other_devices(options: FpgaOptions) -> Iterator[Suggestion]:
    """Yield the options with each other device: with the budgets that were given, then without."""
    yield from _on_other_devices(options, "")
    if given := [name for name in BUDGETS if getattr(options, name) is not None]:
        flags = " and ".join(f"--{name}" for name in given)
        unlimited = replace(options, dsp=None, bram=None, lut=None)
        yield from _on_other_devices(unlimited, f" without {flags}")


def _on_other_devices(options: FpgaOptions, words: str) -> Iterator[Suggestion]:
    """Yield the options with each other device that has as much as the budgets allow."""
    for name in devices():
        if name != options.device:
            # A budget or the clock is larger than that of the device.
            with suppress(UsageError, DoesNotFitError):
                yield Suggestion(f"--device {name}{words}", replace(options, device=name))
