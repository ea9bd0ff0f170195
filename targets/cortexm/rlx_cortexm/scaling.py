"""Requantization at compile time: the C function to call, and its constants.

The exact function for any number costs some ten instructions; the usual case, proven here from the
actual weights, costs half of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.numerics.fixed_point import Rounding

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.numerics.fixed_point import Int64, Rescale

INT32_BOUND: Final = 1 << 31
NARROW_BOUND: Final = 1 << 30

USUAL_PLACES: Final = 12
"""Places by which all channels of a layer are shifted right, if accumulators have bits to spare."""


@dataclass(frozen=True, slots=True)
class AccumulatorScaling:
    """How accumulators become int8 values.

    Attributes:
        function: ``requantize_narrow``, ``requantize_folded``, ``requantize_level_<places>``,
            ``requantize_wide``, or ``requantize_`` and the name of a rounding that rounds once:
            ``single``, ``even`` or ``odd`` (see ``support.c.j2``, ``blocks.c.j2``).
        multiplier: Q0.31 multipliers, one or one for each channel.
        shift: As many shifts, as ``function`` counts them.
    """

    function: str
    multiplier: tuple[int, ...]
    shift: tuple[int, ...]

    @property
    def per_channel(self) -> bool:
        """Whether each channel has factors of its own."""
        return len(self.multiplier) > 1

    @property
    def is_level(self) -> bool:
        """Whether all channels are shifted right by the same number of places."""
        return self.function.startswith("requantize_level")


def scaling(rescale: Rescale, bound: int) -> AccumulatorScaling:
    """Return the cheapest exact way to scale numbers of magnitude up to ``bound``.

    ``requantize_narrow`` doubles the accumulator and never shifts left, so that it needs
    ``bound < 2^30`` and a right shift of at least 1; ``requantize_wide`` takes any int32 number.
    """
    if rescale.rounding is not Rounding.DOUBLE:
        function = f"requantize_{rescale.rounding.value}"
        return AccumulatorScaling(
            function, rescale.multiplier, tuple(31 - s for s in rescale.shift)
        )
    # A factor of zero gives zero whatever the shift.
    shift = tuple(s if m else -1 for m, s in zip(rescale.multiplier, rescale.shift, strict=True))
    if bound < NARROW_BOUND and max(shift) <= -1:
        return AccumulatorScaling("requantize_narrow", rescale.multiplier, tuple(-s for s in shift))
    return AccumulatorScaling("requantize_wide", rescale.multiplier, shift)


def folded(chosen: AccumulatorScaling, bounds: Int64, zero_point: int) -> AccumulatorScaling:
    """Return a scaling that adds half and zero point at once, where int32 is proven to hold it.

    ``requantize_folded`` computes ``(high + offset) >> shift`` where ``requantize_narrow`` adds two
    constants and shifts between them; ``offset`` is ``(zero point + 1/2) * 2^shift``.

    Args:
        chosen: What :func:`scaling` returned; other functions than ``requantize_narrow`` stay.
        bounds: Bound on the accumulators of each channel.
        zero_point: Of the result.
    """
    if chosen.function != "requantize_narrow":
        return chosen
    multiplier, shift = (np.array(v, np.int64) for v in (chosen.multiplier, chosen.shift))
    most = bounds if chosen.per_channel else bounds.max(keepdims=True)
    high = (most * multiplier + (1 << 30)) >> 31
    # What is less than half of a step always becomes 0, as it does if the factor is 0.
    vanishing = high < np.int64(1) << (shift - 1)
    multiplier, shift = np.where(vanishing, 0, multiplier), np.where(vanishing, 1, shift)
    offset = abs(2 * zero_point + 1) << (shift - 1)
    if (high + 1 + offset).max() >= INT32_BOUND:
        return chosen
    return AccumulatorScaling("requantize_folded", _integers(multiplier), _integers(shift))


def level(
    chosen: AccumulatorScaling, bounds: Int64, zero_point: int, max_places: int | Int64 = 16
) -> AccumulatorScaling:
    """Return a scaling that shifts all channels by the same number of places, if int32 holds it.

    A channel that ``requantize_folded`` shifts by ``s`` places is kept ``2^(places - s)`` times as
    large and shifted by ``places``, a number in the instruction that also clamps. Nothing is
    rounded in between, so that every bit stays. ``shift`` counts the places by which accumulators
    are pre-scaled, one more than that: a product's high word is half of what is wanted.

    Args:
        chosen: What :func:`folded` returned; other functions than ``requantize_folded`` stay.
        bounds: Bound on the accumulators of each channel.
        zero_point: Of the result.
        max_places: Most places by which each channel's accumulators may be pre-scaled.
    """
    if chosen.function != "requantize_folded":
        return chosen
    multiplier, shift = (np.array(v, np.int64) for v in (chosen.multiplier, chosen.shift))
    most = bounds if chosen.per_channel else bounds.max(keepdims=True)
    fewest = int(shift.max(initial=1, where=multiplier != 0)) + 1
    # Layers shall share functions: one number for all that can take it, round ones for the others.
    usual = (USUAL_PLACES,) if fewest <= USUAL_PLACES else ()
    for places in (*usual, -(-fewest // 4) * 4, -(-fewest // 2) * 2, fewest):
        larger = np.where(multiplier != 0, places - shift, 1) + 1
        high = (most * multiplier >> (32 - np.minimum(larger, 32))) + (1 << larger)
        offset = abs(2 * zero_point + 1) << (places - 1)
        fits = (larger <= max_places).all() and (most << larger).max() < INT32_BOUND
        if fits and (high + offset).max() < INT32_BOUND:
            return AccumulatorScaling(
                f"requantize_level_{places}", _integers(multiplier), _integers(larger)
            )
    return chosen


def _integers(values: Int64) -> tuple[int, ...]:
    return tuple(int(v) for v in values)


def output_constants(low: int, high: int, zero_point: int) -> dict[str, Hashable]:
    """Return what the templates see of a result's range."""
    return {"low": low, "high": high, "zero_point": zero_point}
