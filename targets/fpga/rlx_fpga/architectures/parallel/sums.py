"""Products with a constant matrix by shifts and additions, with shared subexpressions.

Every weight is written in signed digits (non-adjacent form: a third of the bits are set): a
result is a sum of shifted and signed operands. ``sharing.py`` finds common subexpressions; the rest
of each sum is added as a tree (``program.py``). The best order of patterns depends on the matrix,
so a few are tried and the cheapest program is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx_fpga.architectures.parallel.program import ShiftAdd, signed_digits
from rlx_fpga.architectures.parallel.sharing import WORTHS, TermSharing, repeated_patterns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx_fpga.architectures.parallel.program import Term
    from rlx_fpga.cells.rom import Integers

MAX_TERMS: Final = 400
"""Maximum terms of a sum that are searched together: the number of pairs is quadratic."""

INT8_RANGE: Final = -128, 127
"""Default minimum and maximum of operands."""


def shift_add(matrix: Integers, ends: Sequence[tuple[int, int]] | None = None) -> ShiftAdd:
    """Return the program for ``matrix @ x`` with the fewest bits of adders of those tried.

    Args:
        matrix: Integers [outputs, inputs].
        ends: Minimum and maximum of each input; by default :data:`INT8_RANGE`.
    """
    operands = [INT8_RANGE] * matrix.shape[1] if ends is None else list(ends)
    rows = [
        [(place, *digit) for place, weight in enumerate(row) for digit in signed_digits(weight)]
        for row in matrix.tolist()
    ]
    blocks = [
        [[term for term in row if term[0] in block] for row in rows]
        for block in _blocks(len(operands), max(map(len, rows), default=0))
    ]
    patterns = [repeated_patterns(block) for block in blocks]
    programs = [_summed(ShiftAdd(list(operands)), rows)]
    for worth in WORTHS:
        program = ShiftAdd(list(operands))
        left: list[list[Term]] = [[] for _ in rows]
        for block, repeated in zip(blocks, patterns, strict=True):
            for part, terms in zip(
                left, TermSharing(program, block, repeated, worth).run(), strict=True
            ):
                part.extend(terms)
        programs.append(_summed(program, left))
    return min(programs, key=lambda program: (program.bits, program.depth))


def _summed(program: ShiftAdd, rows: list[list[Term]]) -> ShiftAdd:
    """Return ``program`` with its outputs: the remaining terms of each sum, added."""
    program.outputs = [program.total(terms) for terms in rows]
    return program


def _blocks(columns: int, terms: int) -> Iterator[range]:
    """Yield ranges of columns such that sums have about :data:`MAX_TERMS` terms in each."""
    count = max(1, -(-terms // MAX_TERMS))
    size = max(1, -(-columns // count))
    for start in range(0, columns, size):
        yield range(start, min(start + size, columns))
