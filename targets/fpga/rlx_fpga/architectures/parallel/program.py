"""Products with a constant matrix as a program of additions, and the cost of the additions."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from rlx_fpga.cells.rom import signed_bits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx_fpga.architectures.parallel.netlist import Netlist

Term: TypeAlias = tuple[int, int, int]
"""Operand, shift to the left, sign."""

Addition: TypeAlias = tuple[int, int, int, int, int]
"""``(a, p, b, q, sign)``: ``(a << p) + sign * (b << q)``, one of the shifts 0."""

MAX_PARTNERS: Final = 8
"""Terms that are tried as the second operand of the next addition."""

LEVEL_BITS: Final = 4
"""Weight of a level of depth, in bits, when the order of a sum is chosen. Without it trees have
1.5 % fewer adder bits but are two levels deeper, which costs a quarter more flip-flops."""


def signed_digits(number: int) -> list[tuple[int, int]]:
    """Return ``(shift, sign)`` of the non-adjacent form, lowest shift first."""
    digits = []
    shift = 0
    while number:
        if number & 1:
            digit = 2 - (number & 3)
            digits.append((shift, digit))
            number -= digit
        number >>= 1
        shift += 1
    return digits


@dataclass
class ShiftAdd:
    """A product with a matrix as a program of additions.

    Attributes:
        ends: Minimum and maximum of each value, the operands first.
        steps: Additions: the one at index k computes the value at ``operands + k``.
        outputs: Each result as a term, or None if it is 0.
        bits: Bits of all additions that need a carry.
    """

    ends: list[tuple[int, int]]
    steps: list[Addition] = field(default_factory=list)
    outputs: list[Term | None] = field(default_factory=list)
    bits: int = 0
    _depths: list[int] = field(default_factory=list)
    _known: dict[Addition, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._depths = [0] * len(self.ends)

    @property
    def depth(self) -> int:
        """Maximum number of additions in sequence."""
        return max(self._depths, default=0)

    def spelled(self, first: Term, second: Term) -> tuple[Addition, int, int]:
        """Return the addition of two terms, with the shift and the sign of the sum.

        Bits below the larger shift pass through without a carry, unless they are subtracted: of
        two differences the one that subtracts the operand with the larger shift is cheaper, and the
        sign is applied where the result is read.
        """
        (a, p, sign), (b, q, other) = first, second
        base = min(p, q)
        swapped = (a, p) > (b, q) if sign == other else (p, other) > (q, sign)
        if swapped:
            a, p, sign, b, q, other = b, q, other, a, p, sign
        return (a, p - base, b, q - base, sign * other), base, sign

    def ends_of(self, step: Addition) -> tuple[int, int]:
        """Return the minimum and the maximum result of an addition."""
        a, p, b, q, sign = step
        low, high = self.ends[b]
        if sign < 0:
            low, high = -high, -low
        return (self.ends[a][0] << p) + (low << q), (self.ends[a][1] << p) + (high << q)

    def price(self, step: Addition) -> int:
        """Return the bits of an addition that need a carry."""
        _, p, _, q, sign = step
        return signed_bits(*self.ends_of(step)) - (q if sign < 0 else max(p, q))

    def add(self, first: Term, second: Term) -> Term:
        """Append the sum of two terms, and return the term that equals it."""
        step, base, sign = self.spelled(first, second)
        if step not in self._known:
            self._known[step] = len(self.ends)
            self.bits += self.price(step)
            self.steps.append(step)
            self.ends.append(self.ends_of(step))
            self._depths.append(1 + max(self._depths[step[0]], self._depths[step[2]]))
        return self._known[step], base, sign

    def total(self, terms: Sequence[Term]) -> Term | None:
        """Append the sum of terms as a tree; return it, None without terms.

        An addition costs about the bits that its result has above the larger shift. So narrow
        and shallow terms are added first, as in Huffman coding.
        """
        heap = [(self._rank(term), term) for term in terms]
        heapq.heapify(heap)
        while len(heap) > 1:
            _, first = heapq.heappop(heap)
            partners = [heapq.heappop(heap) for _ in range(min(MAX_PARTNERS, len(heap)))]
            best = min(range(len(partners)), key=lambda i: self._value(first, partners[i][1]))
            _, partner = partners.pop(best)
            for other in partners:
                heapq.heappush(heap, other)
            term = self.add(first, partner)
            heapq.heappush(heap, (self._rank(term), term))
        return heap[0][1] if heap else None

    def _rank(self, term: Term) -> int:
        number, shift, _ = term
        return signed_bits(*self.ends[number]) + shift + LEVEL_BITS * self._depths[number]

    def _value(self, first: Term, second: Term) -> tuple[int, int]:
        """Return the rank of a sum minus a level, and its price: the minimum is the best."""
        step, base, _ = self.spelled(first, second)
        top = signed_bits(*self.ends_of(step)) + base
        depth = max(self._depths[step[0]], self._depths[step[2]])
        return top + LEVEL_BITS * depth, 0 if step in self._known else self.price(step)

    def build(self, netlist: Netlist, operands: Sequence[int]) -> list[Term | None]:
        """Append the program to a netlist; return results as terms of its steps."""
        numbers = list(operands)
        for a, p, b, q, sign in self.steps:
            numbers.append(netlist.sum(numbers[a], numbers[b], (p, q), negative=sign < 0))
        return [None if o is None else (numbers[o[0]], o[1], o[2]) for o in self.outputs]
