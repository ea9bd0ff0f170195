"""Requantization at compile time: the C function to call, and its constants.

The exact function for any int32 costs some ten instructions; the usual case, proven here from the
actual weights, costs half of that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ops.numerics.fixed_point import Rounding

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ops.numerics.fixed_point import Int64, Rescale

# Exclusive bounds. Below 2^30 a doubled accumulator fits int32 (docs/design/0004-one-shift.md).
INT32_BOUND: Final = 1 << 31
NARROW_BOUND: Final = 1 << 30

DEFAULT_SHIFT: Final = 12
"""Places by which all channels of a layer are shifted right, if accumulators have bits to spare."""

CENTRED: Final = np.arange(-255, 256, dtype=np.int64)
"""Differences of an int8 value and a zero point."""

WIDE: Final = ("scale_single", "scale_even", "scale_odd")
"""Functions whose results have 64 bits."""


@dataclass(frozen=True, slots=True)
class AccumulatorScaling:
    """Scaling of accumulators to int8 values.

    Attributes:
        function: With two roundings ``requantize_narrow``, ``requantize_folded``,
            ``requantize_level_<places>`` or ``requantize_wide``. With one ``requantize_high``,
            ``requantize_power_<rounding>``, ``requantize_level_<rounding>_<places>``, or
            ``requantize_<rounding>``, which accepts any int32; the rounding is ``single``, ``even``
            or ``odd`` (see ``support.c.j2``, ``blocks.c.j2``). In float32 ``requantize_float32``,
            or ``requantize_float32_wide``, which accepts any int32.
        multiplier: Q0.31 multipliers, one or one for each channel.
        shift: Shift of each multiplier, in the convention of ``function``.
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

    @property
    def common_shift(self) -> int:
        """Places by which all channels are shifted right, if they are by the same number."""
        return int(self.function.rsplit("_", 1)[1])

    @property
    def rounds_twice(self) -> bool:
        """Whether halves of negative values need a correction, as with two roundings."""
        twice = ("requantize_narrow", "requantize_folded", "requantize_wide")
        return self.function in twice or self.function.removeprefix("requantize_level_").isdigit()

    @property
    def to_parity(self) -> bool:
        """Whether halves are rounded to even or to odd integers."""
        return not {"even", "odd"}.isdisjoint(self.function.split("_"))


def scaling(rescale: Rescale, bound: int) -> AccumulatorScaling:
    """Return the cheapest exact way to scale integers of magnitude up to ``bound``.

    ``requantize_narrow`` doubles the accumulator and never shifts left: it needs
    ``bound < 2^30`` and a right shift of at least 1; ``requantize_wide`` accepts any int32.
    """
    if rescale.rounding is not Rounding.DOUBLE:
        return _single_rounding(rescale, bound)
    # With a factor of zero the result is zero for any shift.
    shift = tuple(s if m else -1 for m, s in zip(rescale.multiplier, rescale.shift, strict=True))
    if bound < NARROW_BOUND and max(shift) <= -1:
        return AccumulatorScaling("requantize_narrow", rescale.multiplier, tuple(-s for s in shift))
    return AccumulatorScaling("requantize_wide", rescale.multiplier, shift)


def scaling_of_values(rescale: Rescale, values: Int64) -> AccumulatorScaling:
    """Return the cheapest exact way to scale ``values``, by any rounding with equal results."""
    twice = replace(rescale, rounding=Rounding.DOUBLE)
    same = np.array_equal(twice.apply(values), rescale.apply(values))
    return scaling(twice if same else rescale, int(np.abs(values).max()))


def _single_rounding(rescale: Rescale, bound: int) -> AccumulatorScaling:
    """Return the cheapest exact way to scale with one rounding, or in float32.

    ``requantize_high`` adds half to the high word of the product, whose low word then does not
    matter: it needs a shift by more than 32 places. ``requantize_power_even`` is for powers of two
    only, without a product.
    """
    multiplier, total = rescale.multiplier, tuple(31 - s for s in rescale.shift)
    # With a factor of zero the result is zero for any shift.
    high = tuple(t - 32 if m else 1 for m, t in zip(multiplier, total, strict=True))
    if rescale.rounding is Rounding.FLOAT32:
        if min(high) >= 1:
            return AccumulatorScaling("requantize_float32", multiplier, high)
        return AccumulatorScaling("requantize_float32_wide", multiplier, total)
    if rescale.rounding is Rounding.SINGLE:
        if min(high) >= 1:
            return AccumulatorScaling("requantize_high", multiplier, high)
    elif set(multiplier) <= {0, 1 << 30}:
        # For divisors beyond twice the bound all results are zero, as with a factor of zero.
        max_shift = bound.bit_length() + 1
        shifts = tuple(
            min(t - 30, max_shift) if m else max_shift
            for m, t in zip(multiplier, total, strict=True)
        )
        if min(shifts) >= 1 and bound < NARROW_BOUND:
            function = f"requantize_power_{rescale.rounding.value}"
            return AccumulatorScaling(function, multiplier, shifts)
    return AccumulatorScaling(f"requantize_{rescale.rounding.value}", multiplier, total)


def fold_offset(narrow: AccumulatorScaling, bounds: Int64, zero_point: int) -> AccumulatorScaling:
    """Return a scaling that adds half and zero point in one addition, if int32 can hold the sum.

    ``requantize_folded`` computes ``(high + offset) >> shift`` where ``requantize_narrow`` adds two
    constants and shifts between them; ``offset`` is ``(zero point + 1/2) * 2^shift``.

    Args:
        narrow: Result of :func:`scaling`; other functions than ``requantize_narrow`` stay.
        bounds: Bound on the accumulators of each channel.
        zero_point: Of the result.
    """
    if narrow.function != "requantize_narrow":
        return narrow
    multiplier, shift = (np.array(v, np.int64) for v in (narrow.multiplier, narrow.shift))
    max_abs = bounds if narrow.per_channel else bounds.max(keepdims=True)
    high = (max_abs * multiplier + (1 << 30)) >> 31
    # Products of less than half of a step always become 0, as with a factor of 0.
    vanishing = high < np.int64(1) << (shift - 1)
    multiplier, shift = np.where(vanishing, 0, multiplier), np.where(vanishing, 1, shift)
    offset = abs(2 * zero_point + 1) << (shift - 1)
    if (high + 1 + offset).max() >= INT32_BOUND:
        return narrow
    return AccumulatorScaling("requantize_folded", _integers(multiplier), _integers(shift))


def for_doubled_sums(folded_scaling: AccumulatorScaling, bound: int) -> AccumulatorScaling | None:
    """Return a scaling of doubled accumulators, or None without a cheap one.

    Args:
        folded_scaling: Result of :func:`fold_offset`.
        bound: Bound on the accumulators, not doubled.
    """
    if folded_scaling.function == "requantize_folded":
        return folded_scaling
    shift = tuple(s + 1 for s in folded_scaling.shift)
    high = folded_scaling.function == "requantize_high" and max(shift) <= 30
    power = folded_scaling.function.startswith("requantize_power") and max(shift) <= 31
    if high or (power and 2 * bound < NARROW_BOUND):
        return replace(folded_scaling, shift=shift)
    return None


def level(
    folded_scaling: AccumulatorScaling, bounds: Int64, zero_point: int, max_places: int | Int64 = 16
) -> AccumulatorScaling:
    """Return a scaling that shifts all channels by the same number of places, if int32 holds it.

    A channel that ``requantize_folded`` shifts by ``s`` places is kept ``2^(places - s)`` times as
    large and shifted by ``common_shift``, an immediate of the instruction that also clamps.
    Nothing is rounded in between. ``shift`` counts the places by which accumulators are pre-scaled,
    one more than that: a product's high word is half of the scaled sum.

    Args:
        folded_scaling: Result of :func:`fold_offset`. Functions other than ``requantize_folded``
            and those of one rounding without a 64-bit product stay.
        bounds: Bound on the accumulators of each channel.
        zero_point: Of the result.
        max_places: Maximum places by which each channel's accumulators may be pre-scaled.
    """
    if folded_scaling.function == "requantize_high" or folded_scaling.function.startswith(
        "requantize_power"
    ):
        return _level_once(folded_scaling, bounds, zero_point, max_places)
    if folded_scaling.function != "requantize_folded":
        return folded_scaling
    multiplier, shift = (
        np.array(v, np.int64) for v in (folded_scaling.multiplier, folded_scaling.shift)
    )
    max_abs = bounds if folded_scaling.per_channel else bounds.max(keepdims=True)
    min_shift = int(shift.max(initial=1, where=multiplier != 0)) + 1
    for common_shift in _places(min_shift):
        extra_shift = np.where(multiplier != 0, common_shift - shift, 1) + 1
        # Bound on the high word of the product of a pre-scaled accumulator.
        high = (max_abs * multiplier >> (32 - np.minimum(extra_shift, 32))) + (1 << extra_shift)
        if (
            _places_are_allowed(extra_shift, max_places)
            and _accumulators_fit(max_abs, extra_shift)
            and _sums_fit(high, zero_point, common_shift)
        ):
            return AccumulatorScaling(
                f"requantize_level_{common_shift}", _integers(multiplier), _integers(extra_shift)
            )
    return folded_scaling


def _level_once(
    single_rounding: AccumulatorScaling, bounds: Int64, zero_point: int, max_places: int | Int64
) -> AccumulatorScaling:
    """Return :func:`level` of ``requantize_high`` or ``requantize_power_<rounding>``.

    Accumulators are pre-scaled by the places that their own shift lacks. Half and zero point, at
    ``zero_point * 2^places``, are one addition.
    """
    multiplier, shift = (
        np.array(v, np.int64) for v in (single_rounding.multiplier, single_rounding.shift)
    )
    max_abs = bounds if single_rounding.per_channel else bounds.max(keepdims=True)
    word, rounding = 0, single_rounding.function.removeprefix("requantize_power_")
    if single_rounding.function == "requantize_high":
        word, rounding = 32, Rounding.SINGLE.value
        # Products of less than half of a step always become 0, as with a factor of 0.
        vanishing = (max_abs * multiplier >> word) + 1 < np.int64(1) << (shift - 1)
        multiplier = np.where(vanishing, 0, multiplier)
        shift = np.where(multiplier == 0, 1, shift)
    for common_shift in _places(int(shift.max())):
        extra_shift = (
            np.where(multiplier == 0, 0, common_shift - shift) if word else common_shift - shift
        )
        scaled = max_abs << np.minimum(extra_shift, 31)
        result = (scaled * multiplier >> word) if word else scaled
        if (
            _places_are_allowed(extra_shift, max_places)
            and _accumulators_fit(max_abs, extra_shift)
            and _sums_fit(result + 1, zero_point, common_shift)
        ):
            function = f"requantize_level_{rounding}_{common_shift}"
            return AccumulatorScaling(function, _integers(multiplier), _integers(extra_shift))
    return single_rounding


# Conditions of docs/design/0004-one-shift.md, for an accumulator a, a multiplier m, a shift s and a
# zero point z, where accumulators are pre-scaled by k' places (k + 1 there, or k without a doubled
# product) and all channels are shifted by s + k. Extra shifts are k', the common shift is s + k.


def _places_are_allowed(extra_shift: Int64, max_places: int | Int64) -> bool:
    # k' <= max_places, for each channel.
    return bool((extra_shift <= max_places).all())


def _accumulators_fit(max_abs: Int64, extra_shift: Int64) -> bool:
    # |a| 2^k' < 2^31: the pre-scaled accumulator is an int32. From 31 places on only 0 is.
    return bool((max_abs << np.minimum(extra_shift, 31)).max() < INT32_BOUND)


def _sums_fit(high: Int64, zero_point: int, common_shift: int) -> bool:
    # |a| m 2^k' / 2^32 + |2 z + 1| 2^(s + k - 1) < 2^31: the high word of the product with half
    # and zero point added is an int32. ``high`` is the first term, rounded up.
    offset = abs(2 * zero_point + 1) << (common_shift - 1)
    return bool(high.max() + offset < INT32_BOUND)


def _places(min_shift: int) -> tuple[int, ...]:
    """Return the shifts to try for all channels, the preferred one first.

    Layers share functions: the default for all for which it is enough, multiples for the others.
    """
    usual = (DEFAULT_SHIFT,) if min_shift <= DEFAULT_SHIFT else ()
    return (*usual, -(-min_shift // 4) * 4, -(-min_shift // 2) * 2, min_shift)


def _integers(values: Int64) -> tuple[int, ...]:
    return tuple(int(v) for v in values)


def output_constants(low: int, high: int, zero_point: int) -> dict[str, Hashable]:
    """Return the constants of a result's range, for the templates."""
    return {"low": low, "high": high, "zero_point": zero_point}
