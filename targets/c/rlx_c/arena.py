"""Placement of scratch memory in the arena.

Tests: tests/targets/cortexm/test_program.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.ir import Region

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import MemoryPlan, Placement

MIN_ALIGNMENT: Final = 4
"""Alignment of the arena in bytes, the minimum."""


def find_scratch(alive: Sequence[Placement], nbytes: int, alignment: int = MIN_ALIGNMENT) -> int:
    """Return the lowest aligned offset where ``nbytes`` do not overlap values alive at a step.

    The offset may be beyond the plan's arena, which then grows.

    Args:
        alive: Values in the arena then, by offset (see ``alive_by_step``).
        nbytes: Size of the scratch memory.
        alignment: Bytes that the offset is a multiple of.
    """
    offset = 0
    for placement in alive:
        if offset + nbytes <= placement.offset:
            break
        end = placement.offset + placement.nbytes
        offset = max(offset, -(-end // alignment) * alignment)
    return offset


def alive_by_step(plan: MemoryPlan) -> list[list[Placement]]:
    """Return for each step the contents of the arena while it runs, by offset."""
    alive: list[list[Placement]] = [[] for _ in plan.schedule]
    for placement in sorted(plan.placements, key=lambda p: p.offset):
        if placement.region is Region.ARENA:
            for step in range(max(placement.first, 0), min(placement.last + 1, len(alive))):
                alive[step].append(placement)
    return alive
