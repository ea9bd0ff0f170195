"""Common subexpression elimination: the search for two-term sums that several results share.

Every result is a set of terms: operands, shifted and signed. A pattern is a pair of operands with
a difference of shifts and a relation of signs. While some pattern occurs more than once, the one
with the highest score is replaced everywhere by a new operand. The number of occurrences of a
pattern can only decrease once both of its operands exist, so it is counted once, and again only
when the pattern is about to be replaced.

The idea of sharing two-term patterns of signed digits: R. I. Hartley, "Subexpression sharing in
filters using canonic signed digit multipliers", 1996.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from rlx_fpga.architectures.parallel.program import ShiftAdd
from rlx_fpga.cells.rom import signed_bits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rlx_fpga.architectures.parallel.program import Term

Pattern: TypeAlias = tuple[int, int, int, int]
"""Operands a and b (a not after b), shift of b minus that of a, product of signs."""

Worth: TypeAlias = "Callable[[int, int], int]"
"""Score of a pattern, from the number of overlapping bits of its operands and its sum's price."""

WORTHS: Final[tuple[Worth, ...]] = (
    lambda common, price: common,
    lambda common, price: common + price,
    lambda common, price: 2 * common + price,
    lambda common, price: common + 8,
)
"""Scores that are tried in turn: none is best for all matrices."""


class _Queue:
    """Priority queue of indices: highest worth first, then lowest index.

    A heap for each worth that occurs, and one of the worths: far smaller than one of all indices.
    """

    def __init__(self) -> None:
        self._worths: list[int] = []
        self._numbers: dict[int, list[int]] = {}

    def put(self, number: int, worth: int) -> None:
        numbers = self._numbers.get(worth)
        if numbers is None:
            self._numbers[worth] = [number]
            heapq.heappush(self._worths, -worth)
        else:
            heapq.heappush(numbers, number)

    def __iter__(self) -> Iterator[int]:
        """Pop indices until the queue is empty; others can be put in meanwhile."""
        while self._worths:
            numbers = self._numbers[-self._worths[0]]
            if numbers:
                yield heapq.heappop(numbers)
            else:
                del self._numbers[-heapq.heappop(self._worths)]


@dataclass
class _Digits:
    """Positions of an operand in the sums: sets of :attr:`TermSharing.lane` bits for each sum."""

    plus: int = 0
    minus: int = 0

    def put(self, position: int, sign: int) -> None:
        if sign > 0:
            self.plus |= 1 << position
        else:
            self.minus |= 1 << position

    def drop(self, positions: int) -> None:
        self.plus &= ~positions
        self.minus &= ~positions


@dataclass
class TermSharing:
    """The search in one set of sums.

    Args:
        program: Gets the shared sums; its operands are those of the terms.
        rows: Terms of each sum, without negative shifts.
        patterns: Result of :func:`repeated_patterns` for them: the same for every worth.
        worth: One of :data:`WORTHS`.
    """

    program: ShiftAdd
    rows: Sequence[Sequence[Term]]
    patterns: Mapping[Pattern, int]
    worth: Worth
    lane: int = 0
    _digits: list[_Digits] = field(default_factory=list)
    _sums: list[dict[tuple[int, int], int]] = field(default_factory=list)
    _patterns: list[tuple[Pattern, int, int]] = field(default_factory=list)
    _queue: _Queue = field(default_factory=_Queue)

    def run(self) -> list[list[Term]]:
        """Return the terms that are left of each sum when no pattern occurs twice."""
        # A lane is twice as wide as needed: no difference reaches from one sum into the next.
        self.lane = 2 * (1 + max((shift for row in self.rows for _, shift, _ in row), default=0))
        self._digits = [_Digits() for _ in self.program.ends]
        self._sums = [{} for _ in self.rows]
        for row, terms in enumerate(self.rows):
            for term in terms:
                self._put(row, term)
        self._push(self.patterns)
        for index in self._queue:
            pattern, count, _ = self._patterns[index]
            occurrences = self._occurrences(pattern)
            if occurrences.bit_count() == count:
                self._replace(pattern, occurrences)
            elif occurrences.bit_count() > 1:
                self._requeue(index, occurrences.bit_count())
        return [[(*key, sign) for key, sign in terms.items()] for terms in self._sums]

    def _push(self, repeated: Mapping[Pattern, int]) -> None:
        """Put patterns into the queue, by their number of occurrences."""
        for pattern, count in repeated.items():
            self._patterns.append((pattern, count, self._worth(pattern)))
            self._requeue(len(self._patterns) - 1, count)

    def _requeue(self, index: int, count: int) -> None:
        pattern, _, worth = self._patterns[index]
        self._patterns[index] = pattern, count, worth
        self._queue.put(index, (count - 1) * worth)

    def _worth(self, pattern: Pattern) -> int:
        """Return the worth of one occurrence. On a tie, the pattern seen first is used."""
        a, b, distance, sign = pattern
        ends = self.program.ends
        return self.worth(*_measures(ends[a], ends[b], distance, sign, itself=a == b))

    def _occurrences(self, pattern: Pattern) -> int:
        """Return the positions of the first operand where the pattern occurs, without overlaps."""
        a, b, distance, sign = pattern
        first, second = self._digits[a], self._digits[b]
        plus, minus = second.plus, second.minus
        if sign < 0:
            plus, minus = minus, plus
        occurrences = first.plus & _shift_bits(plus, -distance) | first.minus & _shift_bits(
            minus, -distance
        )
        if a == b and occurrences & occurrences << distance:
            rest, occurrences = occurrences, 0
            while rest:
                lowest = rest & -rest
                occurrences |= lowest
                rest &= ~(lowest | lowest << distance)
        return occurrences

    def _replace(self, pattern: Pattern, positions: int) -> None:
        """Replace the pattern by a new operand in every sum that has it."""
        a, b, distance, sign = pattern
        number, base, number_sign = self.program.add((a, 0, 1), (b, distance, sign))
        self._digits.extend(_Digits() for _ in range(number + 1 - len(self._digits)))
        new = []
        for row, shift in self._decode(positions):
            first = self._sums[row].pop((a, shift))
            del self._sums[row][b, shift + distance]
            new.append((row, (number, shift + base, first * number_sign)))
        self._digits[a].drop(positions)
        self._digits[b].drop(_shift_bits(positions, distance))
        counts: Counter[Pattern] = Counter()
        for row, term in new:
            _count(self._sums[row], term, counts)
            self._put(row, term)
        self._push(_repeated(counts))

    def _decode(self, positions: int) -> Iterator[tuple[int, int]]:
        """Yield sum and shift of each position."""
        while positions:
            lowest = positions & -positions
            positions ^= lowest
            yield divmod(lowest.bit_length() - 1, self.lane)

    def _put(self, row: int, term: Term) -> None:
        number, shift, sign = term
        self._sums[row][number, shift] = sign
        self._digits[number].put(row * self.lane + shift, sign)


def repeated_patterns(rows: Sequence[Sequence[Term]]) -> dict[Pattern, int]:
    """Return the patterns that occur more than once, with their counts, in order of appearance.

    Args:
        rows: Terms of each sum, in ascending order of operands.
    """
    counts: Counter[Pattern] = Counter()
    for terms in rows:
        signs: dict[tuple[int, int], int] = {}
        for term in terms:
            _count(signs, term, counts)
            number, shift, sign = term
            signs[number, shift] = sign
    return _repeated(counts)


def _count(terms: Mapping[tuple[int, int], int], term: Term, counts: Counter[Pattern]) -> None:
    """Count the patterns of a term with those of a sum, which have lower or equal indices."""
    number, shift, sign = term
    # A list: Counter counts it in C.
    counts.update(
        [
            (other, number, abs(shift - place) if other == number else shift - place, its * sign)
            for (other, place), its in terms.items()
        ]
    )


def _repeated(counts: Counter[Pattern]) -> dict[Pattern, int]:
    return {pattern: count for pattern, count in counts.items() if count > 1}


@lru_cache(maxsize=1 << 16)
def _measures(
    first: tuple[int, int], second: tuple[int, int], distance: int, sign: int, *, itself: bool
) -> tuple[int, int]:
    """Return the number of bits where two operands of a sum overlap, and the sum's price.

    Args:
        first: Minimum and maximum of the first operand.
        second: Those of the second.
        distance: Shift of the second minus that of the first.
        sign: Product of their signs.
        itself: Whether they are the same operand.
    """
    widths = signed_bits(*first), signed_bits(*second)
    common = max(0, min(widths[0], distance + widths[1]) - max(0, distance))
    pair = ShiftAdd([first, second])
    step, _, _ = pair.spelled(
        (0, max(0, -distance), 1), (0 if itself else 1, max(0, distance), sign)
    )
    return common, pair.price(step)


def _shift_bits(positions: int, distance: int) -> int:
    return positions << distance if distance >= 0 else positions >> -distance
