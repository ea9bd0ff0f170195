"""Logic of a cell, counted in bits from its parameters: the same on every device.

Tests: tests/targets/fpga/cost/test_costs.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rlx_fpga.cost.memories import Ram


@dataclass(frozen=True, slots=True)
class Logic:
    """Bits of each kind of logic.

    Attributes:
        register: Flip-flops, as the cell describes them; synthesis drops some.
        add: Sums and differences, of which one operand may be a constant.
        compare: Comparisons of order.
        test: Bits that conditions depend on: comparisons for equality, flags, enables.
        mux: Choices between two values; a variable shift by an amount of n bits counts n times.
        product: LUT multipliers: bits of one factor times bits of the other.
        scaled: The same, where the second factor is a constant.
        tree: Sums of adder trees.
        operand: Registers next to multipliers; a DSP slice may absorb them.
        paired: Pairs of products that share a DSP slice and an operand.
        memories: Memories.
    """

    register: float = 0
    add: float = 0
    compare: float = 0
    test: float = 0
    mux: float = 0
    product: float = 0
    scaled: float = 0
    tree: float = 0
    operand: float = 0
    paired: int = 0
    memories: tuple[Ram, ...] = ()

    def __add__(self, other: Logic) -> Logic:
        # Field by field, which is fast: a search adds up thousands of cells.
        return Logic(
            self.register + other.register,
            self.add + other.add,
            self.compare + other.compare,
            self.test + other.test,
            self.mux + other.mux,
            self.product + other.product,
            self.scaled + other.scaled,
            self.tree + other.tree,
            self.operand + other.operand,
            self.paired + other.paired,
            self.memories + other.memories,
        )

    def times(self, count: int) -> Logic:
        """Return ``count`` copies."""
        if count == 1:
            return self
        return Logic(
            self.register * count,
            self.add * count,
            self.compare * count,
            self.test * count,
            self.mux * count,
            self.product * count,
            self.scaled * count,
            self.tree * count,
            self.operand * count,
            self.paired * count,
            self.memories * count,
        )


def total(parts: Iterable[Logic]) -> Logic:
    """Return the sum of all ``parts``."""
    return sum(parts, Logic())


def counter(count: int) -> Logic:
    """Return a counter of ``count`` values that wraps around."""
    bits = (count - 1).bit_length()
    return Logic(register=bits, add=bits, test=4 + 2 * bits) if bits else Logic()
