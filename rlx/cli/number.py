"""Numbers within limits as values of options.

Tests: tests/cli/test_help.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from rlx.support.errors import UsageError
from rlx.support.text.units import check_clock, parse_clock

if TYPE_CHECKING:
    from collections.abc import Callable


class Number(click.ParamType):  # type: ignore[type-arg] # generic in newer versions of click
    """A number of an option; unlike click's own ranges it does not add its limits to the help.

    Args:
        convert: ``int`` or ``float``.
        minimum: Smallest number accepted.
        maximum: Largest number accepted; None for any.
    """

    name = "n"

    def __init__(
        self, convert: Callable[[str], float], minimum: float, maximum: float | None = None
    ) -> None:
        self._convert = convert
        self._minimum = minimum
        self._maximum = maximum

    def convert(
        self,
        value: Any,  # noqa: ANN401 - as click declares it
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return the number in a text."""
        try:
            number = self._convert(value)
        except ValueError:
            self.fail(f"expected {self._expected()}, got {value!r}", param, ctx)
        if not self._minimum <= number <= (math.inf if self._maximum is None else self._maximum):
            self.fail(f"expected {self._expected()}, got {value}", param, ctx)
        return number

    def _expected(self) -> str:
        kind = "an integer" if self._convert is int else "a number"
        if self._maximum is None:
            return f"{kind} of at least {self._minimum}"
        return f"{kind} from {self._minimum} to {self._maximum}"


class Width(click.Choice):  # type: ignore[type-arg] # generic in newer versions of click
    """Bits of a weight, one of some choices; the command says which other numbers cannot be."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 - as click declares it
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:  # noqa: ANN401 - as click declares it
        """Return the choice, or any number of bits."""
        return value if str(value).isdecimal() else super().convert(value, param, ctx)


def hertz(text: str) -> float:
    """Return the hertz of an option ``--clock``.

    Raises:
        UsageError: It is not a clock.
    """
    try:
        clock = parse_clock(text)
    except ValueError as e:
        raise UsageError(str(e), where="--clock", hint="write the unit, as in 100MHz") from None
    check_clock(clock)
    return clock
