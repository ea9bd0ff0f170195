"""Products with a constant matrix by shifts and additions, common parts computed once.

Every weight is written in signed digits (non-adjacent form: about a third of the bits), so that a
result is a sum of operands, each shifted and signed. ``sharing.py`` finds what several results have
in common; what is left of each sum is added as a tree (``program.py``). Which choice among patterns
is the best one depends on the matrix, so a few are tried and the cheapest program is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx_fpga.unrolled.program import ShiftAdd, signed_digits
from rlx_fpga.unrolled.sharing import WORTHS, Sharing, repeated_patterns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx_fpga.cells.rom import Integers
    from rlx_fpga.unrolled.program import Term

MOST_TERMS: Final = 400
"""Terms of a sum that are searched together; longer sums are cut: pairs grow as their square."""

CODES: Final = -128, 127
"""Least and greatest operand, unless told."""


def shift_add(matrix: Integers, ends: Sequence[tuple[int, int]] | None = None) -> ShiftAdd:
    """Return the program for ``matrix @ x`` with the fewest bits of adders of those tried.

    Args:
        matrix: Integers [outputs, inputs].
        ends: Least and greatest value of each input; :data:`CODES` unless told.
    """
    operands = [CODES] * matrix.shape[1] if ends is None else list(ends)
    rows = [
        [(place, *digit) for place, weight in enumerate(row) for digit in signed_digits(weight)]
        for row in matrix.tolist()
    ]
    blocks = [
        [[term for term in row if term[0] in block] for row in rows]
        for block in _blocks(len(operands), max(map(len, rows), default=0))
    ]
    patterns = [repeated_patterns(block) for block in blocks]
    found = [_summed(ShiftAdd(list(operands)), rows)]
    for worth in WORTHS:
        program = ShiftAdd(list(operands))
        left: list[list[Term]] = [[] for _ in rows]
        for block, repeated in zip(blocks, patterns, strict=True):
            for part, terms in zip(
                left, Sharing(program, block, repeated, worth).run(), strict=True
            ):
                part.extend(terms)
        found.append(_summed(program, left))
    return min(found, key=lambda program: (program.bits, program.depth))


def _summed(program: ShiftAdd, rows: list[list[Term]]) -> ShiftAdd:
    """Return ``program`` with its results: what is left of each sum after sharing, added."""
    program.outputs = [program.total(terms) for terms in rows]
    return program


def _blocks(columns: int, terms: int) -> Iterator[range]:
    """Yield ranges of columns such that sums have about :data:`MOST_TERMS` terms in each."""
    count = max(1, -(-terms // MOST_TERMS))
    size = max(1, -(-columns // count))
    for start in range(0, columns, size):
        yield range(start, min(start + size, columns))
