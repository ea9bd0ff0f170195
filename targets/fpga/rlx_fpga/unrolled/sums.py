"""Products with a constant matrix by shifts and additions, common parts computed once.

Every weight is written in signed digits (non-adjacent form: about a third of the bits), so that a
result is a sum of operands, each shifted and signed. While some pair of operands with the same
distance of shifts and the same relation of signs occurs more than once, the pair that occurs most
often becomes an operand of its own. What is left of each sum is added as a tree.

The idea of sharing two-term patterns of signed digits: R. I. Hartley, "Subexpression sharing in
filters using canonic signed digit multipliers", 1996.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rlx_fpga.cells.rom import Integers
    from rlx_fpga.unrolled.netlist import Netlist

Term: TypeAlias = tuple[int, int, int]
"""Operand, shift to the left, sign."""

Pattern: TypeAlias = tuple[int, int, int, int]
"""Two operands (the first one not after the second), distance of shifts, product of signs."""

MOST_TERMS: Final = 400
"""Terms of a sum that are searched together; longer sums are cut: pairs grow as their square."""


def signed_digits(number: int) -> list[tuple[int, int]]:
    """Return ``(shift, sign)`` of the non-adjacent form, least shift first."""
    found = []
    shift = 0
    while number:
        if number & 1:
            digit = 2 - (number & 3)
            found.append((shift, digit))
            number -= digit
        number >>= 1
        shift += 1
    return found


@dataclass
class ShiftAdd:
    """A product with a matrix as a program of additions.

    Attributes:
        inputs: Operands: numbers 0 to ``inputs - 1``.
        steps: Number ``inputs + k`` is ``(a << p) + sign * (b << q)`` for the k-th
            ``(a, p, b, q, sign)``.
        outputs: Each result as a term, or None if it is 0.
        widths: Bits of each number, at most, for int8 operands.
    """

    inputs: int
    steps: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    outputs: list[Term | None] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    _depths: list[int] = field(default_factory=list)
    _known: dict[tuple[int, int, int, int, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._depths = [0] * self.inputs
        self.widths = [8] * self.inputs

    def depth(self, number: int) -> int:
        """Return how many additions lie behind one another."""
        return self._depths[number]

    def add(self, first: Term, second: Term) -> Term:
        """Append the sum of two terms, and return the term that equals it."""
        (a, p, sign), (b, q, other) = first, second
        if sign < 0 < other:
            (a, p, sign), (b, q, other) = second, first
        base = min(p, q)
        step = (a, p - base, b, q - base, sign * other)
        if step not in self._known:
            self._known[step] = len(self._depths)
            self.steps.append(step)
            self._depths.append(1 + max(self._depths[a], self._depths[b]))
            self.widths.append(1 + max(self.widths[a] + step[1], self.widths[b] + step[3]))
        return self._known[step], base, sign

    def total(self, terms: Sequence[Term]) -> Term | None:
        """Append the sum of many terms as a tree, shallow ones first."""
        heap = [(self.depth(term[0]), term) for term in terms]
        heapq.heapify(heap)
        while len(heap) > 1:
            (_, first), (_, second) = heapq.heappop(heap), heapq.heappop(heap)
            term = self.add(first, second)
            heapq.heappush(heap, (self.depth(term[0]), term))
        return heap[0][1] if heap else None

    def build(self, netlist: Netlist, operands: Sequence[int]) -> list[Term | None]:
        """Append the program to a netlist; return results as terms of its steps."""
        numbers = list(operands)
        for a, p, b, q, sign in self.steps:
            numbers.append(netlist.sum(numbers[a], numbers[b], (p, q), negative=sign < 0))
        return [None if o is None else (numbers[o[0]], o[1], o[2]) for o in self.outputs]


def shift_add(matrix: Integers) -> ShiftAdd:
    """Return the program for ``matrix @ x``.

    Args:
        matrix: Integers [outputs, inputs].
    """
    program = ShiftAdd(matrix.shape[1])
    rows = [
        [(place, *digit) for place, weight in enumerate(row) for digit in signed_digits(weight)]
        for row in matrix.tolist()
    ]
    parts: list[list[Term]] = [[] for _ in rows]
    for columns in _blocks(matrix.shape[1], max(map(len, rows), default=0)):
        sharing = _Sharing(program, [[t for t in row if t[0] in columns] for row in rows])
        for part, terms in zip(parts, sharing.run(), strict=True):
            part.extend(terms)
    program.outputs = [program.total(terms) for terms in parts]
    return program


def _blocks(columns: int, terms: int) -> Iterator[range]:
    """Yield ranges of columns such that sums have about :data:`MOST_TERMS` terms in each."""
    count = max(1, -(-terms // MOST_TERMS))
    size = max(1, -(-columns // count))
    for start in range(0, columns, size):
        yield range(start, min(start + size, columns))


class _Sharing:
    """The search for common pairs."""

    def __init__(self, program: ShiftAdd, rows: list[list[Term]]) -> None:
        self.program = program
        # Each sum: for each operand its digits, shift to sign.
        self.rows: list[dict[int, dict[int, int]]] = []
        self.counts: dict[Pattern, int] = {}
        self.heap: list[tuple[int, int, Pattern]] = []
        self.grown: set[Pattern] = set()
        for row in rows:
            self.rows.append({})
            for term in row:
                self._insert(self.rows[-1], term)

    def run(self) -> list[list[Term]]:
        """Return what is left of each sum when no pair occurs twice."""
        self._push(self.grown)
        while self.heap:
            count, _, pattern = heapq.heappop(self.heap)
            if -count == self.counts[pattern]:
                self._replace(pattern)
                self._push(self.grown)
            else:
                # Counts that fall are brought up to date here, those that grow at once.
                self._push([pattern])
        return [list(_terms(row)) for row in self.rows]

    def _push(self, patterns: Iterable[Pattern]) -> None:
        """Put patterns that occur more than once into the heap."""
        for pattern in sorted(patterns):
            count = self.counts[pattern]
            if count > 1:
                heapq.heappush(self.heap, (-count, -self._overlap(pattern), pattern))
        self.grown = set()

    def _overlap(self, pattern: Pattern) -> int:
        """Return the bits that both operands have in common: of equal patterns, narrow sums."""
        a, b, distance, _ = pattern
        widths = self.program.widths
        return max(0, min(widths[a], distance + widths[b]) - max(0, distance))

    def _replace(self, pattern: Pattern) -> None:
        """Make a number of the pattern, in every sum that has it."""
        a, b, distance, sign = pattern
        found = [(row, shift) for row in self.rows for shift in _places(row, pattern)]
        if len(found) < 2:
            # Counted twice, but in places that overlap.
            self.counts[pattern] = 0
            return
        number, base, own = self.program.add((a, 0, 1), (b, distance, sign))
        for row, shift in found:
            first = row[a][shift]
            self._remove(row, (a, shift, first))
            self._remove(row, (b, shift + distance, first * sign))
            self._insert(row, (number, shift + base, first * own))

    def _insert(self, row: dict[int, dict[int, int]], term: Term) -> None:
        number, shift, sign = term
        counts = self.counts
        for pattern in _patterns(row, term):
            count = counts.get(pattern, 0) + 1
            counts[pattern] = count
            if count > 1:
                self.grown.add(pattern)
        row.setdefault(number, {})[shift] = sign

    def _remove(self, row: dict[int, dict[int, int]], term: Term) -> None:
        number, shift, _ = term
        del row[number][shift]
        if not row[number]:
            del row[number]
        for pattern in _patterns(row, term):
            self.counts[pattern] -= 1


def _terms(row: dict[int, dict[int, int]]) -> Iterator[Term]:
    for number, digits in row.items():
        for shift, sign in digits.items():
            yield number, shift, sign


def _patterns(row: dict[int, dict[int, int]], term: Term) -> Iterator[Pattern]:
    """Yield the pattern of ``term`` with each term of a sum, the same for both orders."""
    a, p, sign = term
    for b, digits in row.items():
        for q, other in digits.items():
            if a < b or (a == b and p < q):
                yield a, b, q - p, sign * other
            else:
                yield b, a, p - q, sign * other


def _places(row: dict[int, dict[int, int]], pattern: Pattern) -> Iterator[int]:
    """Yield shifts of the first operand where a sum has the pattern, without overlaps."""
    a, b, distance, sign = pattern
    if a not in row or b not in row:
        return
    used: set[int] = set()
    for shift, first in sorted(row[a].items()):
        if shift in used or row[b].get(shift + distance, 0) != first * sign:
            continue
        if a == b:
            used.add(shift + distance)
        yield shift
