"""Cycles of the array if it must pause while results are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from rlx_fpga.architectures.engine.scale import LATENCY as SCALE_LATENCY

if TYPE_CHECKING:
    from rlx_fpga.architectures.engine.program import Instruction

ARRAY_LATENCY: Final = 3
"""Cycles from the step that ends a block to its results."""

WRITE_DELAY: Final = ARRAY_LATENCY + 2 + SCALE_LATENCY
"""Cycles from the step that ends a block until its first result is written."""

Writes: TypeAlias = "tuple[tuple[int, int], ...]"
"""Pending results: cycle of the first write, relative to now, and number of writes."""


def running_cycles(instruction: Instruction) -> int:
    """Return the cycles from the first step of an instruction to its last, pauses included.

    Blocks have equal steps, and soon pauses are at the same steps of each: the cycles of a block
    are cached by the writes that are pending when it begins.
    """
    known: dict[tuple[Writes, int], tuple[int, Writes]] = {}
    rows, columns, blocks = instruction.loops.counts[:3]
    total = 0
    writes: Writes = ()
    for block in range(rows * columns * blocks):
        results = instruction.last_lanes if (block + 1) % blocks == 0 else instruction.lanes
        timing = known.get((writes, results))
        if timing is None:
            timing = known[writes, results] = _block(instruction, writes, results)
        total += timing[0]
        writes = timing[1]
    return total


def _block(instruction: Instruction, writes: Writes, results: int) -> tuple[int, Writes]:
    """Return the cycles of a block, and the writes pending at its end."""
    last_step = _after(0, instruction.loops.inner, writes) - 1
    writes = (*writes, (last_step + WRITE_DELAY, results))
    end = _after(last_step + 1, instruction.gap, writes)
    return end, tuple((start - end, count) for start, count in writes if start + count > end)


def _after(now: int, free: int, writes: Writes) -> int:
    """Return the cycle after which ``free`` cycles without a write have passed."""
    end = now + free
    for start, count in writes:
        if start >= end:
            break
        end += max(0, start + count - max(start, now))
    return end
