"""Exact choice of one option for each layer under limits on multipliers, memories and logic.

Dynamic programming finds the minimum sum of values within the limits: a table holds, for each
number of DSP slices and block RAMs in use, the minimum for the layers so far, and layers are added
one after the other. Before that, the best option of every layer is tried, which is enough if limits
are wide, dominated options are removed, and so are those that no best choice can have: a price for
each resource (a Lagrangian relaxation) yields a lower bound for every choice with an option, and a
choice that fits is an upper one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

INFEASIBLE: Final = int(np.iinfo(np.int64).max) // 4
"""Value of an infeasible choice."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Resources of an option, or a limit for all together; integers, not negative.

    Attributes:
        dsp: DSP slices.
        bram: Block RAMs, in the smallest parts that can be used on their own.
        lut: LUTs.
    """

    dsp: int = 0
    bram: int = 0
    lut: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.dsp + other.dsp, self.bram + other.bram, self.lut + other.lut)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.dsp - other.dsp, self.bram - other.bram, self.lut - other.lut)

    def fits(self, limit: Amount) -> bool:
        """Whether each amount is at most that of ``limit``."""
        return self.dsp <= limit.dsp and self.bram <= limit.bram and self.lut <= limit.lut


@dataclass(frozen=True)
class Option:
    """One way to build a layer: its resources, and the value to minimize."""

    amount: Amount
    value: int

    @cached_property
    def key(self) -> tuple[int, int, int, int]:
        """Everything that is better if it is smaller, the value first."""
        return self.value, self.amount.dsp, self.amount.bram, self.amount.lut


def choose(layers: Sequence[Sequence[Option]], limit: Amount) -> list[int] | None:
    """Return for each layer the index of its option in the choice with the minimum sum of values.

    Args:
        layers: Options of each layer. The result is exact if, of two choices with equal DSP slices
            and block RAMs, the one with the smaller sum uses no more LUTs (values are costs), or
            if LUTs are not short; else it is the best one found.
        limit: Limit for all layers together.

    Returns:
        None if no choice fits.
    """
    if not all(layers):
        return None
    keys = [[option.key for option in layer] for layer in layers]
    best = [min(range(len(key)), key=key.__getitem__) for key in keys]
    if _total(layers, best).fits(limit):
        return best
    undominated = [_nondominated(key) for key in keys]
    minimum = [
        Amount(
            min(layer[n].amount.dsp for n in indices),
            min(layer[n].amount.bram for n in indices),
            min(layer[n].amount.lut for n in indices),
        )
        for layer, indices in zip(layers, undominated, strict=True)
    ]
    space = limit - sum(minimum, Amount())
    if min(space.dsp, space.bram, space.lut) < 0:
        return None
    # From here on amounts are relative to the minimum of each layer.
    beyond = [
        {n: Option(layer[n].amount - low, layer[n].value) for n in indices}
        for layer, indices, low in zip(layers, undominated, minimum, strict=True)
    ]
    return _solve_without_memories(beyond, space) or _solve_with_bounds(beyond, space)


def min_amount(layers: Sequence[Sequence[Option]]) -> Amount:
    """Return the minimum of each resource for all layers, each on its own."""
    return Amount(
        sum(min(option.amount.dsp for option in layer) for layer in layers),
        sum(min(option.amount.bram for option in layer) for layer in layers),
        sum(min(option.amount.lut for option in layer) for layer in layers),
    )


def _total(layers: Sequence[Sequence[Option]], indices: Sequence[int]) -> Amount:
    amounts = (layer[n].amount for layer, n in zip(layers, indices, strict=True))
    return sum(amounts, Amount())


def _nondominated(keys: Sequence[tuple[int, int, int, int]]) -> list[int]:
    """Return the options that no other one dominates in value and resources.

    Args:
        keys: Keys of the options of a layer.
    """
    indices: list[int] = []
    amounts: list[tuple[int, int, int]] = []
    # Ascending by value.
    for (_, dsp, bram, lut), index in sorted((key, n) for n, key in enumerate(keys)):
        # A plain loop: this is where large choices spend most of their time.
        for d, b, t in amounts:
            if d <= dsp and b <= bram and t <= lut:
                break
        else:
            indices.append(index)
            amounts.append((dsp, bram, lut))
    return indices


@dataclass(frozen=True)
class _Table:
    """For each number of DSP slices (rows) and block RAMs (columns): minimum sums, or NEVER.

    Attributes:
        values: Sum of values.
        luts: LUTs of the same choice.
    """

    values: npt.NDArray[np.int64]
    luts: npt.NDArray[np.int64]

    def plus(self, options: dict[int, Option]) -> tuple[_Table, npt.NDArray[np.int16]]:
        """Return the table with one more layer, and the index of the option chosen in each cell."""
        values = np.full_like(self.values, INFEASIBLE)
        luts = np.full_like(self.luts, INFEASIBLE)
        picked = np.full(values.shape, -1, np.int16)
        for index, option in options.items():
            rows = values.shape[0] - option.amount.dsp
            columns = values.shape[1] - option.amount.bram
            if rows <= 0 or columns <= 0:
                continue
            there = (slice(option.amount.dsp, None), slice(option.amount.bram, None))
            value = self.values[:rows, :columns] + option.value
            lut = self.luts[:rows, :columns] + option.amount.lut
            equal = value == values[there]
            better = (value < values[there]) | (equal & (lut < luts[there]))
            np.copyto(values[there], value, where=better)
            np.copyto(luts[there], lut, where=better)
            np.copyto(picked[there], np.int16(index), where=better)
        return _Table(values, luts), picked


def _solve_without_memories(layers: Sequence[dict[int, Option]], space: Amount) -> list[int] | None:
    """Return the best choice with memories for free, if it fits nevertheless.

    Then it is optimal, and the table is a hundred times smaller.
    """
    free = [
        {n: Option(replace(o.amount, bram=0, lut=0), o.value) for n, o in layer.items()}
        for layer in layers
    ]
    indices = _solve_by_table(free, replace(space, bram=0))
    if indices is None:
        return None
    amounts = (layer[n].amount for layer, n in zip(layers, indices, strict=True))
    return indices if sum(amounts, Amount()).fits(space) else None


MAX_PRICE_STEPS: Final = 150
"""Steps of the subgradient ascent that improves the prices of resources."""

RELATIVE_SLACK: Final = 1e-9
"""Relative error of bounds, which are floating-point numbers."""

MAX_TABLE_WORK: Final = 2 * 10**8
"""Cells of tables, times options, up to which the choice is exact."""


def _solve_with_bounds(layers: Sequence[dict[int, Option]], space: Amount) -> list[int] | None:
    """Return the choice of ``_solve_by_table``, without the options that bounds exclude.

    If the table would be very large even so, the best choice found with prices is returned.
    """
    bounded = _lagrangian_bounds(layers, space)
    if bounded is None:
        return None
    known, remaining = bounded
    low = [_minimum(layer) for layer in remaining]
    left = space - sum(low, Amount())
    rest = [
        {n: Option(option.amount - minimum, option.value) for n, option in layer.items()}
        for layer, minimum in zip(remaining, low, strict=True)
    ]
    if min(left.dsp, left.bram, left.lut) < 0:
        return known
    work = math.prod(_shape(rest, left)) * sum(map(len, rest))
    exact = None if known is not None and work > MAX_TABLE_WORK else _solve_by_table(rest, left)
    if exact is None or known is None:
        return exact or known
    return min((exact, known), key=lambda indices: _value(layers, indices))


def _lagrangian_bounds(
    layers: Sequence[dict[int, Option]], space: Amount
) -> tuple[list[int] | None, list[dict[int, Option]]] | None:
    """Return the best choice found with prices, and the options that a better one may have.

    None if no choice fits: the bound exceeds the sum of all maximum values.
    """
    option_indices = [place for layer in layers for place in layer]
    options = [option for layer in layers for option in layer.values()]
    values = np.array([option.value for option in options], np.float64)
    amounts = np.array([_vector(option.amount) for option in options], np.float64)
    starts = np.cumsum([0, *(len(layer) for layer in layers[:-1])])
    sizes = np.array([len(layer) for layer in layers])
    limit = np.array(_vector(space), np.float64)
    units = np.maximum(limit, 1)
    prices, bound, excess = np.zeros(3), -np.inf, values
    best, picked = np.inf, None
    most = float(np.maximum.reduceat(values, starts).sum())
    for step in range(MAX_PRICE_STEPS):
        reduced = values + amounts @ prices
        lowest = np.minimum.reduceat(reduced, starts)
        over = reduced - np.repeat(lowest, sizes)
        selection = _first_zeros(over, starts)
        used = amounts[selection].sum(axis=0)
        total = float(lowest.sum() - prices @ limit)
        if total > bound:
            bound, excess = total, over
        # The dual bound exceeds every sum of values: no choice fits. The slack covers rounding.
        if bound > most * (1 + RELATIVE_SLACK) + 1:
            return None
        if (used <= limit).all() and values[selection].sum() < best:
            best, picked = float(values[selection].sum()), selection
        slope = (used - limit) / units
        # Without a choice that fits, no upper bound is known: aim at some value above the bound.
        target = best if picked is not None else 2 * abs(bound) + 1
        norm = float(slope @ slope)
        if norm == 0 or target <= bound:
            break
        # Polyak's step of a subgradient method, damped to let prices converge.
        pace = 1.5 * 0.97**step * (target - total) / norm
        prices = np.maximum(prices + pace * slope / units, 0)
    if picked is None:
        return None, list(layers)
    # Reduced costs: a choice with an option costs at least the bound plus the option's excess.
    possible = bound + excess <= best + RELATIVE_SLACK * abs(best)
    possible[picked] = True
    remaining: list[dict[int, Option]] = []
    for start, size in zip(starts, sizes, strict=True):
        there = [start + n for n in range(size) if possible[start + n]]
        remaining.append({option_indices[n]: options[n] for n in there})
    return [option_indices[n] for n in picked], remaining


def _first_zeros(
    over: npt.NDArray[np.float64], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return for each layer the index of its first option whose reduced value is the minimum."""
    zeros = np.flatnonzero(over == 0)
    first = np.searchsorted(zeros, starts)
    return zeros[first]


def _vector(amount: Amount) -> tuple[int, int, int]:
    return amount.dsp, amount.bram, amount.lut


def _minimum(layer: dict[int, Option]) -> Amount:
    """Return the minimum of each resource over the options of a layer."""
    rows = [_vector(option.amount) for option in layer.values()]
    return Amount(*(min(column) for column in zip(*rows, strict=True)))


def _value(layers: Sequence[dict[int, Option]], indices: Sequence[int]) -> int:
    return sum(layer[n].value for layer, n in zip(layers, indices, strict=True))


def _shape(layers: Sequence[dict[int, Option]], space: Amount) -> tuple[int, int]:
    """Return rows and columns of the table that choices among ``layers`` need."""
    return (
        min(space.dsp, sum(max(o.amount.dsp for o in layer.values()) for layer in layers)) + 1,
        min(space.bram, sum(max(o.amount.bram for o in layer.values()) for layer in layers)) + 1,
    )


def _solve_by_table(layers: Sequence[dict[int, Option]], space: Amount) -> list[int] | None:
    """Return the choice with the minimum sum of values among those that fit into ``space``."""
    shape = _shape(layers, space)
    table = _Table(np.full(shape, INFEASIBLE, np.int64), np.full(shape, INFEASIBLE, np.int64))
    table.values[0, 0] = table.luts[0, 0] = 0
    picks = []
    for layer in layers:
        table, picked = table.plus(layer)
        picks.append(picked)
    values = np.where(table.luts <= space.lut, table.values, INFEASIBLE)
    dsp, bram = (int(n) for n in np.unravel_index(int(values.argmin()), shape))
    if values[dsp, bram] >= INFEASIBLE:
        return None
    result = []
    for layer, picked in zip(reversed(layers), reversed(picks), strict=True):
        index = int(picked[dsp, bram])
        result.append(index)
        dsp -= layer[index].amount.dsp
        bram -= layer[index].amount.bram
    return result[::-1]
