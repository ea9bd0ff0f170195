"""Exact choice of one option for each layer under limits on multipliers, memories and logic.

The least sum of values within the limits comes from one table: for each number of multipliers and
of memories in use, the least that the layers so far can have. Layers are added to it one after the
other. Before that, the best option of every layer is tried, which is enough where limits are wide,
and options that another one beats everywhere are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

NEVER: Final = int(np.iinfo(np.int64).max) // 4
"""Value of what cannot be had."""


@dataclass(frozen=True, slots=True)
class Amount:
    """What an option takes, or what all may take together; whole numbers that are not negative.

    Attributes:
        dsp: Multiplier blocks.
        bram: Block memories, in the smallest parts that can be used on their own.
        lut: Lookup tables.
    """

    dsp: int = 0
    bram: int = 0
    lut: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.dsp + other.dsp, self.bram + other.bram, self.lut + other.lut)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.dsp - other.dsp, self.bram - other.bram, self.lut - other.lut)

    def fits(self, limit: Amount) -> bool:
        """Whether nothing exceeds ``limit``."""
        return self.dsp <= limit.dsp and self.bram <= limit.bram and self.lut <= limit.lut


@dataclass(frozen=True)
class Option:
    """One way to build a layer: what it takes, and what is to be small in the end."""

    amount: Amount
    value: int

    @cached_property
    def key(self) -> tuple[int, int, int, int]:
        """Everything that is better if it is less, the value first."""
        return self.value, self.amount.dsp, self.amount.bram, self.amount.lut


def choose(layers: Sequence[Sequence[Option]], limit: Amount) -> list[int] | None:
    """Return for each layer the place of the option with which the sum of values is least.

    Args:
        layers: Options of each layer. The answer is exact if of two sums with as many multipliers
            and memories the lesser one takes no more lookup tables (values are costs), or if
            lookup tables are not short; else it is the best that was seen.
        limit: For all together.

    Returns:
        None if nothing fits.
    """
    if not all(layers):
        return None
    keys = [[option.key for option in layer] for layer in layers]
    best = [min(range(len(key)), key=key.__getitem__) for key in keys]
    if _total(layers, best).fits(limit):
        return best
    kept = [_undominated(key) for key in keys]
    least = [
        Amount(
            min(layer[n].amount.dsp for n in places),
            min(layer[n].amount.bram for n in places),
            min(layer[n].amount.lut for n in places),
        )
        for layer, places in zip(layers, kept, strict=True)
    ]
    room = limit - sum(least, Amount())
    if min(room.dsp, room.bram, room.lut) < 0:
        return None
    # From here on amounts count what an option takes beyond the least of its layer.
    beyond = [
        {n: Option(layer[n].amount - low, layer[n].value) for n in places}
        for layer, places, low in zip(layers, kept, least, strict=True)
    ]
    return _without_memories(beyond, room) or _by_table(beyond, room)


def least_amount(layers: Sequence[Sequence[Option]]) -> Amount:
    """Return the least of each resource that all layers together take, each one on its own."""
    return Amount(
        sum(min(option.amount.dsp for option in layer) for layer in layers),
        sum(min(option.amount.bram for option in layer) for layer in layers),
        sum(min(option.amount.lut for option in layer) for layer in layers),
    )


def _total(layers: Sequence[Sequence[Option]], places: Sequence[int]) -> Amount:
    amounts = (layer[n].amount for layer, n in zip(layers, places, strict=True))
    return sum(amounts, Amount())


def _undominated(keys: Sequence[tuple[int, int, int, int]]) -> list[int]:
    """Return the options that no other one equals or beats in value and in everything it takes.

    Args:
        keys: Of the options of a layer.
    """
    kept: list[int] = []
    taken: list[tuple[int, int, int]] = []
    # In the order of values: what was kept before is no worse in that.
    for (_, dsp, bram, lut), place in sorted((key, n) for n, key in enumerate(keys)):
        # A loop of its own: this is where large choices spend most of their time.
        for d, b, t in taken:
            if d <= dsp and b <= bram and t <= lut:
                break
        else:
            kept.append(place)
            taken.append((dsp, bram, lut))
    return kept


@dataclass(frozen=True)
class _Table:
    """For each number of multipliers (rows) and memories (columns): the least sums, or NEVER.

    Attributes:
        values: Sum of values.
        luts: Lookup tables of the same choice.
    """

    values: npt.NDArray[np.int64]
    luts: npt.NDArray[np.int64]

    def plus(self, options: dict[int, Option]) -> tuple[_Table, npt.NDArray[np.int16]]:
        """Return the table with one more layer, and which option is taken where."""
        values = np.full_like(self.values, NEVER)
        luts = np.full_like(self.luts, NEVER)
        picked = np.full(values.shape, -1, np.int16)
        for place, option in options.items():
            rows = values.shape[0] - option.amount.dsp
            columns = values.shape[1] - option.amount.bram
            if rows <= 0 or columns <= 0:
                continue
            there = (slice(option.amount.dsp, None), slice(option.amount.bram, None))
            value = self.values[:rows, :columns] + option.value
            lut = self.luts[:rows, :columns] + option.amount.lut
            equal = value == values[there]
            better = (value < values[there]) | (equal & (lut < luts[there]))
            values[there] = np.where(better, value, values[there])
            luts[there] = np.where(better, lut, luts[there])
            picked[there] = np.where(better, place, picked[there])
        return _Table(values, luts), picked


def _without_memories(layers: Sequence[dict[int, Option]], room: Amount) -> list[int] | None:
    """Return the best choice as if memories were free, if it fits nevertheless.

    Then no other is better, and the table is a hundred times smaller.
    """
    free = [
        {n: Option(replace(o.amount, bram=0, lut=0), o.value) for n, o in layer.items()}
        for layer in layers
    ]
    places = _by_table(free, replace(room, bram=0))
    if places is None:
        return None
    amounts = (layer[n].amount for layer, n in zip(layers, places, strict=True))
    return places if sum(amounts, Amount()).fits(room) else None


def _by_table(layers: Sequence[dict[int, Option]], room: Amount) -> list[int] | None:
    """Return the choice with the least sum of values among those that fit into ``room``."""
    shape = (
        min(room.dsp, sum(max(o.amount.dsp for o in layer.values()) for layer in layers)) + 1,
        min(room.bram, sum(max(o.amount.bram for o in layer.values()) for layer in layers)) + 1,
    )
    table = _Table(np.full(shape, NEVER, np.int64), np.full(shape, NEVER, np.int64))
    table.values[0, 0] = table.luts[0, 0] = 0
    picks = []
    for layer in layers:
        table, picked = table.plus(layer)
        picks.append(picked)
    values = np.where(table.luts <= room.lut, table.values, NEVER)
    dsp, bram = (int(n) for n in np.unravel_index(int(values.argmin()), shape))
    if values[dsp, bram] >= NEVER:
        return None
    result = []
    for layer, picked in zip(reversed(layers), reversed(picks), strict=True):
        place = int(picked[dsp, bram])
        result.append(place)
        dsp -= layer[place].amount.dsp
        bram -= layer[place].amount.bram
    return result[::-1]
