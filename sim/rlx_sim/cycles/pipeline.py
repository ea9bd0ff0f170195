"""Cycles of a sequence of instructions in an in-order pipeline, by the timings of a core."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rlx_sim.cycles.instruction import FLAGS
from rlx_sim.cycles.timings import Bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx_sim.cycles.instruction import Instruction
    from rlx_sim.cycles.timings import CoreTimings, Pairing

_WORD_BYTES: Final = 4


def block_cycles(
    block: Sequence[Instruction],
    timings: CoreTimings,
    *,
    is_taken: bool = False,
    bound: Bound = Bound.EXPECTED,
) -> int:
    """Return the cycles of a sequence without a transfer of control before its end.

    Waiting for results from before the sequence, and predictions, are not included.

    Args:
        block: Its instructions.
        timings: Those of the core.
        is_taken: Whether the last instruction transfers control.
        bound: Choice among cycles that are a range.
    """
    pipeline = _Pipeline(timings, bound)
    for instruction in block:
        pipeline.issue(instruction, is_taken=is_taken and instruction is block[-1])
    if is_taken and block:
        pipeline.now += taken_cycles(block[-1], timings, bound)
    return pipeline.now


def taken_cycles(instruction: Instruction, timings: CoreTimings, bound: Bound) -> int:
    """Return the further cycles of an instruction that transfers control."""
    cycles = timings.taken_extra.get(instruction.kind)
    return 0 if cycles is None else cycles[bound]


class UnknownTimingError(Exception):
    """A kind of instruction without timing on a core."""


@dataclass(slots=True)
class _Pipeline:
    """State after the instructions so far.

    Attributes:
        now: First cycle in which the next instruction may begin.
        ready: Cycle from which on the result in a register can be used, and the kind of its
            instruction.
        units: Cycle from which on a unit is free.
        previous: The last instruction.
        began: Cycle in which it began.
        is_single: Whether it began alone.
    """

    timings: CoreTimings
    bound: Bound
    now: int = 0
    ready: dict[str, tuple[int, str]] = field(default_factory=dict)
    units: dict[str, int] = field(default_factory=dict)
    previous: Instruction | None = None
    began: int = 0
    is_single: bool = False

    def issue(self, instruction: Instruction, *, is_taken: bool) -> None:
        """Begin an instruction as early as possible."""
        timing = self.timings.kinds.get(instruction.kind)
        if timing is None:
            raise UnknownTimingError(f"{self.timings.core} has no timing of {instruction.kind}")
        earliest = max(
            [self._available(name, use) for name, use in instruction.reads.items()], default=0
        )
        earliest = max(earliest, self.units.get(timing.unit, 0))
        paired = earliest <= self.began and self._pairs(instruction, is_taken=is_taken)
        start = self.began if paired else max(self.now, earliest)
        cost = timing.cost(instruction.words, self.bound)
        if self._is_pipelined(instruction):
            cost -= 1
        end = start + cost
        if timing.unit:
            self.units[timing.unit] = start + timing.busy
        for name in instruction.writes:
            self.ready[name] = (
                (start + 1, "base") if name == instruction.base else (end, instruction.kind)
            )
        self.now = max(self.now, end)
        self.is_single = not paired
        self.previous, self.began = instruction, start

    def _available(self, name: str, use: str) -> int:
        """Return the cycle from which on a register can be used."""
        end, kind = self.ready.get(name, (0, ""))
        return max(0, end + self.timings.late.get((kind, use), 0)) if kind else 0

    def _is_pipelined(self, instruction: Instruction) -> bool:
        """Whether the address phase overlaps the data phase of the load before."""
        before, timings = self.previous, self.timings
        if before is None or before.kind not in timings.pipelined_after:
            return False
        if instruction.kind not in timings.pipelined or _uses_result(instruction, before):
            return False
        if before.base or instruction.base:
            return timings.base_update == "other base" and before.base != instruction.base
        return True

    def _pairs(self, instruction: Instruction, *, is_taken: bool) -> bool:
        """Whether an instruction may begin together with the previous instruction."""
        if self.timings.issue_width < 2 or self.previous is None or not self.is_single:
            return False
        pairing = self.timings.pairing
        if is_taken and not pairing.taken_after_flags and FLAGS in self.previous.writes:
            return False
        if instruction.writes & self.previous.writes:
            return False
        return _may_pair(self.previous, instruction, pairing)


def _uses_result(instruction: Instruction, before: Instruction) -> bool:
    """Whether an address depends on what the instruction before loads."""
    loaded = before.writes - {before.base}
    return any(use == "address" and name in loaded for name, use in instruction.reads.items())


def _may_pair(first: Instruction, second: Instruction, pairing: Pairing) -> bool:
    """Whether the kinds of two instructions allow that they begin together."""
    kinds = {first.kind, second.kind}
    refused = (
        kinds & pairing.alone
        or second.kind in pairing.older
        or (pairing.younger and second.kind not in pairing.younger)
        or (pairing.is_narrow and not (first.is_narrow and second.is_narrow))
        or (first.kind, second.kind) in pairing.refused
        or any(first.kind in group and second.kind in group for group in pairing.one_of)
    )
    return not refused and (not kinds <= pairing.banked or _reads_other_bank(first, second))


def _reads_other_bank(first: Instruction, second: Instruction) -> bool:
    """Whether two loads of words are known to read an odd and an even instruction."""
    if first.memory is None or second.memory is None or first.base or second.base:
        return False
    (base, low), (other, high) = first.memory, second.memory
    return base == other and (low // _WORD_BYTES - high // _WORD_BYTES) % 2 == 1
