"""One option for each of several layers, where options share parts: branch and bound.

The initial selection is found by descent, layer by layer; the search then improves it until it has
visited a fixed number of partial selections, so results do not depend on the machine. Under a
limit of bytes the bounds are Lagrangian: the price of bytes rises until the descent keeps to the
limit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MAX_PARTIAL_SELECTIONS: Final = 2000
"""Partial selections that a search visits."""

MAX_DESCENT_ROUNDS: Final = 4
"""Passes of a descent over the layers."""

MAX_GRANTED_PARTS: Final = 8
"""Parts that are free at the start of a descent, one in each."""

PRICE_RISES: Final = (0, *(1 << k for k in range(24)))
"""Amounts added to the price of a byte until a limit is kept."""

T = TypeVar("T")
P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Alternative(Generic[T, P]):
    """One way for a layer.

    Attributes:
        tag: Object that it represents.
        cost: Its cost without bytes.
        nbytes: Bytes that it does not share with other options.
        shared: Parts that other layers may use too.
    """

    tag: T
    cost: int
    nbytes: int
    shared: frozenset[P]


class Selection(Generic[T, P]):
    """The problem: options of each layer, bytes of the parts, price and limit of bytes.

    Args:
        layers: Options of each layer, at least one.
        parts: Bytes of each shared part.
        price: Price of a byte.
        limit: Most bytes, or None.
    """

    def __init__(
        self,
        layers: Sequence[Sequence[Alternative[T, P]]],
        parts: Mapping[P, int],
        price: int,
        limit: int | None = None,
    ) -> None:
        users = Counter(part for layer in layers for part in {p for o in layer for p in o.shared})
        self._parts = parts
        self._shares = {part: size // users[part] for part, size in parts.items() if users[part]}
        self._price = price
        self._limit = limit
        self._layers = [_undominated(layer, price, limited=limit is not None) for layer in layers]
        # Layers with one option first: parts that they use are free for all others.
        self._order = sorted(range(len(layers)), key=lambda i: (len(self._layers[i]), i))

    def cost(self, options: Iterable[Alternative[T, P]]) -> int:
        """Return the cost of a selection, its bytes included."""
        chosen = list(options)
        return sum(o.cost for o in chosen) + self._price * self.nbytes(chosen)

    def nbytes(self, options: Iterable[Alternative[T, P]]) -> int:
        """Return the bytes of a selection, shared parts counted once."""
        selected = list(options)
        parts = frozenset().union(*(o.shared for o in selected))
        return sum(o.nbytes for o in selected) + sum(self._parts[p] for p in parts)

    def bound(self) -> int:
        """Return a cost that no selection is below."""
        return self._rest(0, frozenset(), 0)

    def solve(self) -> list[Alternative[T, P]] | None:
        """Return the cheapest selection found within the limit, or None."""
        rise, start = self._start()
        return _BranchAndBound(self, rise, start).run()

    def _start(self) -> tuple[int, list[Alternative[T, P]] | None]:
        """Return the smallest rise of the price at which a descent keeps to the limit."""
        granted = sorted(self._shares, key=lambda p: -self._parts[p])[:MAX_GRANTED_PARTS]
        starts = [frozenset[P](), frozenset(self._shares), *(frozenset([p]) for p in granted)]
        for rise in PRICE_RISES if self._limit is not None else PRICE_RISES[:1]:
            selections = [self._descend(rise, free) for free in starts]
            fitting = [f for f in selections if self._fits(f)]
            if fitting:
                return rise, min(fitting, key=self.cost)
        return PRICE_RISES[-1], None

    def _fits(self, options: Iterable[Alternative[T, P]]) -> bool:
        return self._limit is None or self.nbytes(options) <= self._limit

    def _descend(self, rise: int, free: frozenset[P]) -> list[Alternative[T, P]]:
        """Choose, layer by layer, the cheapest option given the others, until nothing changes.

        Args:
            rise: Amount added to the price of a byte.
            free: Parts that are free at first.
        """
        selected = [min(layer, key=lambda o: self._added(o, rise, free)) for layer in self._layers]
        used = Counter(part for option in selected for part in option.shared)
        for _ in range(MAX_DESCENT_ROUNDS):
            before = list(selected)
            for i, layer in enumerate(self._layers):
                used.subtract(selected[i].shared)
                there = frozenset(part for part, count in used.items() if count > 0)
                selected[i] = min(layer, key=lambda o: self._added(o, rise, there))
                used.update(selected[i].shared)
            if selected == before:
                break
        return selected

    def _added(self, option: Alternative[T, P], rise: int, there: frozenset[P]) -> int:
        """Return the cost of an option when some parts are already present."""
        new = sum(self._parts[part] for part in option.shared if part not in there)
        return option.cost + (self._price + rise) * (option.nbytes + new)

    def _rest(self, position: int, there: frozenset[P], rise: int) -> int:
        """Return a lower bound on the cost of the layers from ``position`` on; parts are split."""
        price = self._price + rise
        return sum(
            min(o.cost + price * (o.nbytes + self._split(o, there)) for o in self._layers[i])
            for i in self._order[position:]
        )

    def _rest_bytes(self, position: int, there: frozenset[P]) -> int:
        return sum(
            min(o.nbytes + self._split(o, there) for o in self._layers[i])
            for i in self._order[position:]
        )

    def _split(self, option: Alternative[T, P], there: frozenset[P]) -> int:
        return sum(self._shares[part] for part in option.shared if part not in there)


@dataclass(frozen=True, slots=True)
class _Partial(Generic[T, P]):
    """Options of the first layers in the order of the search.

    Attributes:
        picked: Option of each of these layers.
        there: Parts that they use.
        cost: Cost of the options, bytes included.
        nbytes: Bytes of the options.
    """

    picked: tuple[Alternative[T, P], ...]
    there: frozenset[P]
    cost: int
    nbytes: int


class _BranchAndBound(Generic[T, P]):
    """Depth-first search of selections that prunes those that cannot be better."""

    def __init__(
        self, problem: Selection[T, P], rise: int, start: list[Alternative[T, P]] | None
    ) -> None:
        self._problem = problem
        self._rise = rise
        self._left = MAX_PARTIAL_SELECTIONS
        self._best = start
        self._cost = 1 << 62 if start is None else problem.cost(start)

    def run(self) -> list[Alternative[T, P]] | None:
        """Return the best selection found."""
        # A stack of its own: networks of thousands of layers exceed that of Python.
        stack = [self._children(_Partial((), frozenset(), 0, 0))]
        while stack:
            child = next(stack[-1], None)
            if child is None:
                stack.pop()
            else:
                stack.append(self._children(child))
        return self._best

    def _children(self, partial: _Partial[T, P]) -> Iterator[_Partial[T, P]]:
        """Yield the promising selections with one layer more; a whole one becomes the best."""
        problem, count = self._problem, len(partial.picked)
        if count == len(problem._layers):
            self._best, self._cost = _in_order(partial.picked, problem._order), partial.cost
            return
        layer = problem._layers[problem._order[count]]
        for option in sorted(layer, key=lambda o: problem._added(o, 0, partial.there)):
            self._left -= 1
            if self._left < 0:
                return
            added = sum(problem._parts[part] for part in option.shared - partial.there)
            nbytes = option.nbytes + added
            child = _Partial(
                (*partial.picked, option),
                partial.there | option.shared,
                partial.cost + option.cost + problem._price * nbytes,
                partial.nbytes + nbytes,
            )
            if self._promising(count + 1, child.there, child.cost, child.nbytes):
                yield child

    def _promising(self, position: int, there: frozenset[P], cost: int, nbytes: int) -> bool:
        """Whether the partial selection may still lead to a better one than the best."""
        problem, limit = self._problem, self._problem._limit
        if cost + problem._rest(position, there, 0) >= self._cost:
            return False
        if limit is None:
            return True
        if nbytes + problem._rest_bytes(position, there) > limit:
            return False
        dear = self._rise * (nbytes - limit) + problem._rest(position, there, self._rise)
        return cost + dear < self._cost


def _in_order(picked: Sequence[Alternative[T, P]], order: Sequence[int]) -> list[Alternative[T, P]]:
    """Return options picked in ``order`` in the order of the layers."""
    by_layer = dict(zip(order, picked, strict=True))
    return [by_layer[i] for i in range(len(picked))]


def _undominated(
    options: Sequence[Alternative[T, P]], price: int, *, limited: bool
) -> list[Alternative[T, P]]:
    """Return the options that are not worse than another with the same shared parts."""
    kept: list[Alternative[T, P]] = []
    for option in sorted(options, key=lambda o: (o.cost + price * o.nbytes, o.nbytes)):
        same = [o for o in kept if o.shared == option.shared]
        if not same or (limited and option.nbytes < min(o.nbytes for o in same)):
            kept.append(option)
    return kept
