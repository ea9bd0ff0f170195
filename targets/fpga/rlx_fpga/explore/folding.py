"""Choose the folding of each layer: exactly, under a budget, for a goal.

A choice is the result of ``solver.choose`` for the foldings that are fast enough:

- ``fastest``: minimum cycles of the slowest layer within the budget (a binary search over all
  cycles that occur), then minimum cost;
- ``cheapest``: minimum cost with no layer slower than a limit;
- ``smallest``: minimum LUTs with no layer slower than a limit, then minimum cost;
- ``lowest_latency``: as ``fastest``, but then the minimum sum of delays instead of cost;
- ``lowest_energy``: minimum product of cost and cycles, that is of cells and the time they are
  clocked.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar

from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean
from rlx_fpga.explore.solver import Amount, Option, choose, min_amount

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx_fpga.explore.fold import Fold

    Price = Callable[[str, Fold], Option]
    Guess = Callable[[str, Fold], Amount]
    Delay = Callable[[str, Fold], int]
    Value = Callable[[str, Fold, Option], int]

T = TypeVar("T")

MAX_PRICED_FOLDINGS: Final = 10_000
"""Foldings of a network above which only those within the margin are priced."""


def nothing(name: str, fold: Fold) -> Amount:
    """Return zero resources as an estimate for any folding."""
    del name, fold
    return Amount()


def multipliers_only(name: str, fold: Fold) -> Option:
    """Return the resources of a folding if only DSP slices count."""
    del name
    return Option(Amount(dsp=fold.multipliers), fold.multipliers)


@dataclass
class Folding:
    """The foldings of all layers, and the resources of each.

    Args:
        choices: Foldings to choose from, by name of the layer.
        fixed: ``(pe, simd)`` of layers whose folding is fixed.
        price: Returns the resources of a folding of a layer, and their cost. It is called once,
            and only for those that can be chosen (again for those that are).
        guess: Returns approximate resources of a folding, faster than ``price``: only the start
            of the search for the fastest choice depends on them.
        margin: Factor by which a layer may be faster than its slowest permitted folding; None for
            any.
        labels: Names of layers for messages, where they differ.

    Raises:
        UsageError: A layer in ``fixed`` does not exist or cannot be folded like that.
    """

    choices: Mapping[str, Sequence[Fold]]
    fixed: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    price: Price = multipliers_only
    guess: Guess = nothing
    margin: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        allowed = {name: list(folds) for name, folds in self.choices.items()}
        for name, (pe, simd) in self.fixed.items():
            allowed[name] = [_fixed_fold(self.choices, name, (pe, simd), self.labels)]
        self.allowed = allowed
        for folds in allowed.values():
            # From small to large: of choices with equal values the first one is used.
            folds.sort(
                key=lambda fold: (fold.multipliers, fold.logic, fold.pe * fold.simd, fold.cycles)
            )
        self._priced: dict[tuple[str, int], Option] = {}
        self._valued: dict[tuple[str, Value], dict[int, Option]] = {}

    @cached_property
    def steps(self) -> list[int]:
        """All possible cycles of a layer, ascending."""
        return sorted({fold.cycles for folds in self.allowed.values() for fold in folds})

    def fastest(self, limit: Amount) -> dict[str, Fold] | None:
        """Return the foldings with minimum cycles of the slowest layer, then minimum cost."""
        cycles = self.min_cycles(limit)
        return None if cycles is None else self.cheapest(limit, cycles)

    def cheapest(self, limit: Amount, cycles: int | None = None) -> dict[str, Fold] | None:
        """Return the foldings of minimum cost with no layer slower than ``cycles``, if not None."""
        return self._choose(limit, cycles, self._cost)

    def smallest(self, limit: Amount, cycles: int | None = None) -> dict[str, Fold] | None:
        """Return the foldings with the fewest LUTs, then minimum cost."""
        return self._choose(limit, cycles, self._size)

    def lowest_latency(
        self, limit: Amount, delay: Delay, cycles: int | None = None
    ) -> dict[str, Fold] | None:
        """Return the fastest foldings, and of those the ones with the minimum sum of ``delay``.

        If LUTs are short too, the sum is the best one found, not always the minimum.

        Args:
            limit: Resources of all layers together.
            delay: Delay of a folding, in cycles.
            cycles: Limit for the slowest layer; by default the minimum.
        """
        cycles = self.min_cycles(limit) if cycles is None else cycles
        if cycles is None:
            return None
        folds = self._choose(limit, cycles, lambda name, fold, _: delay(name, fold))
        return folds or self.cheapest(limit, cycles)

    def lowest_energy(self, limit: Amount, cycles: int | None = None) -> dict[str, Fold] | None:
        """Return the foldings with the minimum product of cost and cycles of the slowest layer."""
        minimum = self.min_cycles(limit)
        steps = [n for n in self.steps if minimum and minimum <= n <= (cycles or n)]
        best, best_folds = None, None
        for step in steps:
            folds = self.cheapest(limit, step)
            if folds is None:
                continue
            product = step * sum(self.cost(name, fold) for name, fold in folds.items())
            if best is None or product < best:
                best, best_folds = product, folds
        return best_folds

    def min_cycles(self, limit: Amount) -> int | None:
        """Return the minimum cycles of the slowest layer within ``limit``; None if none fits."""
        if not self.steps:
            return 0
        if self.cheapest(limit, self.steps[-1]) is None:
            return None
        guesses = Folding(self.allowed, price=lambda *key: Option(self.guess(*key), 0))
        guess = first_step(self.steps, lambda step: guesses._step(limit, step))
        return first_step(self.steps, lambda step: self._step(limit, step), guess=guess or 0)

    def _step(self, limit: Amount, cycles: int) -> int | None:
        """Return ``cycles`` if there is a choice without a slower layer, else None."""
        return None if self.cheapest(limit, cycles) is None else cycles

    def min_amount(self) -> Amount:
        """Return the minimum of each resource, each on its own, at any speed.

        Of very many foldings only those within the margin are priced: it may then be a little more.
        """
        if sum(map(len, self.allowed.values())) > MAX_PRICED_FOLDINGS:
            layers = [self._options(name, None, self._cost)[1] for name in self.allowed]
        else:
            layers = [
                [self._price(name, place) for place in range(len(folds))]
                for name, folds in self.allowed.items()
            ]
        return min_amount(layers)

    def amount(self, folds: Mapping[str, Fold]) -> Amount:
        """Return the resources of a choice."""
        return sum((self.price(name, fold).amount for name, fold in folds.items()), Amount())

    def cost(self, name: str, fold: Fold) -> int:
        """Return the cost of a folding; on a tie, fewer lanes cost less."""
        return self._cost(name, fold, self.price(name, fold))

    def _cost(self, name: str, fold: Fold, price: Option) -> int:
        del name
        return (price.value << 12) + fold.pe * fold.simd

    def _size(self, name: str, fold: Fold, price: Option) -> int:
        return (price.amount.lut << 40) + self._cost(name, fold, price)

    def _choose(self, limit: Amount, cycles: int | None, value: Value) -> dict[str, Fold] | None:
        folds, options = [], []
        for name in self.allowed:
            mine, priced = self._options(name, cycles, value)
            folds.append(mine)
            options.append(priced)
        indices = choose(options, limit)
        if indices is None:
            return None
        return {
            name: mine[place]
            for name, mine, place in zip(self.allowed, folds, indices, strict=True)
        }

    def _options(
        self, name: str, cycles: int | None, value: Value
    ) -> tuple[list[Fold], list[Option]]:
        """Return the foldings to choose from, and the solver's options for them."""
        every = self.allowed[name]
        indices = [n for n, f in enumerate(every) if cycles is None or f.cycles <= cycles]
        if self.margin is not None and indices:
            slowest = max(every[n].cycles for n in indices)
            indices = [n for n in indices if every[n].cycles * self.margin >= slowest]
        # By place, not by folding: hashes of these would take most of the time.
        known = self._valued.setdefault((name, value), {})
        for index in indices:
            if index not in known:
                price = self._price(name, index)
                known[index] = Option(price.amount, value(name, every[index], price))
        return [every[n] for n in indices], [known[n] for n in indices]

    def _price(self, name: str, index: int) -> Option:
        """Return the cached price of a folding."""
        key = name, index
        if key not in self._priced:
            self._priced[key] = self.price(name, self.allowed[name][index])
        return self._priced[key]


def first_step(
    steps: Sequence[int], build: Callable[[int], T | None], minimum: int = 0, guess: int = 0
) -> T | None:
    """Return the result of ``build`` for the first step with one: a galloping search.

    Each step after the first one with a result has one too. Steps are tried from ``guess`` on at
    doubling distances, up or down, until the first one is bracketed, then by bisection: those far
    from it never.

    Args:
        steps: Ascending.
        build: Returns None for a step without a result.
        minimum: Smaller steps are known to have no result.
        guess: Approximate first step.
    """
    results: dict[int, T | None] = {}

    def can_build(index: int) -> bool:
        if index not in results:
            results[index] = build(steps[index])
        return results[index] is not None

    indices = range(len(steps))
    low, high = _bracket(
        can_build, bisect_left(steps, minimum), len(steps), bisect_left(steps, guess)
    )
    return results.get(bisect_left(indices, True, low, high, key=can_build))


def _bracket(holds: Callable[[int], bool], low: int, end: int, guess: int) -> tuple[int, int]:
    """Return bounds of the first index for which ``holds``, which then holds for all later ones.

    It does not hold below the lower bound. It holds at the upper one, unless that is ``end``.

    Args:
        holds: The predicate.
        low: First index.
        end: Index after the last one.
        guess: Index at which the search begins.
    """
    if low == end:
        return low, end
    index, stride = min(max(guess, low), end - 1), 1
    if holds(index):
        high = index
        while high > low:
            index = max(high - stride, low)
            if not holds(index):
                return index + 1, high
            high, stride = index, 2 * stride
        return low, high
    low = index + 1
    while low < end:
        index = min(low + stride - 1, end - 1)
        if holds(index):
            return low, index
        low, stride = index + 1, 2 * stride
    return low, end


def _fixed_fold(
    choices: Mapping[str, Sequence[Fold]],
    name: str,
    pe_simd: tuple[int, int],
    labels: Mapping[str, str],
) -> Fold:
    pe, simd = pe_simd
    if name not in choices:
        known = [labels.get(one, one) for one in choices]
        raise UsageError(
            f"no layer is called {name!r}",
            hint=did_you_mean(name, known, what="layers")
            if choices
            else "leave it out: no layer of this network can be folded",
        )
    for fold in choices[name]:
        if (fold.pe, fold.simd) == (pe, simd):
            return fold
    pes = sorted({fold.pe for fold in choices[name]})
    simds = sorted({fold.simd for fold in choices[name]})
    raise UsageError(
        f"layer {labels.get(name, name)!r} cannot have pe {pe} and simd {simd}",
        hint=f"pe: {', '.join(map(str, pes))}; simd: {', '.join(map(str, simds))}",
    )
