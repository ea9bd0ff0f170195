"""Cycles of a traced program: those of its blocks, wrong predictions and waits for the flash."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rlx_cortexm.parts import Flash
from rlx_sim.cycles.pipeline import block_cycles
from rlx_sim.cycles.timings import Bound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx_sim.cycles.instruction import Instruction
    from rlx_sim.cycles.timings import CoreTimings
    from rlx_sim.cycles.trace import Interval, Trace

Block = tuple[int, int]


class UnknownCodeError(Exception):
    """A block that is not in the listing of the program."""


@dataclass(frozen=True, slots=True)
class LineEntry:
    """Lines of code that a pair of blocks enters.

    Attributes:
        block: Number of the second block.
        line: Its first line.
        count: Entries of that line; 0 if the first block ended in it.
        next_lines: Entries of each further line of the block.
        is_sequential: Whether the second block is the one at the first one's end.
    """

    block: int
    line: int
    count: int
    next_lines: Counter[int]
    is_sequential: bool


@dataclass(slots=True)
class CycleModel:
    """Model of a core that runs a program.

    Attributes:
        code: Instructions of the program by address.
        timings: Those of the core.
        flash: Memory with code and constants.
        bound: Choice among cycles that are a range.
    """

    code: Mapping[int, Instruction]
    timings: CoreTimings
    flash: Flash = field(default_factory=Flash)
    bound: Bound = Bound.EXPECTED
    _costs: dict[tuple[Block, bool], int] = field(default_factory=dict)

    def cycles(self, trace: Trace, interval: Interval) -> int:
        """Return the cycles of an interval.

        A pair of blocks counts the cycles of its first block, which depend on whether it ends with
        a taken branch.

        Raises:
            UnknownCodeError: A block is not in the code.
            UnknownTimingError: The core has no timing of an instruction.
        """
        total = 0
        for before, after, count in interval.pairs:
            if before >= 0:
                first, second = trace.blocks[before], trace.blocks[after]
                total += count * self._block(first, is_taken=sum(first) != second[0])
        total += self._mispredictions(trace, interval)
        if self.flash.wait_states:
            total += self._fetches(trace, interval) + self._constants(interval)
        return total

    def instructions(self, block: Block) -> list[Instruction]:
        """Return the instructions of a block.

        Raises:
            UnknownCodeError: It is not in the code.
        """
        at, listed = block[0], []
        while at < sum(block):
            if at not in self.code:
                raise UnknownCodeError(f"no instruction is listed at {at:#x}")
            listed.append(self.code[at])
            at = self.code[at].end
        return listed

    def _block(self, block: Block, *, is_taken: bool) -> int:
        key = block, is_taken
        if key not in self._costs:
            listed = self.instructions(block)
            self._costs[key] = block_cycles(
                listed, self.timings, is_taken=is_taken, bound=self.bound
            )
        return self._costs[key]

    def _mispredictions(self, trace: Trace, interval: Interval) -> int:
        """Return the cycles of wrong predictions.

        Every branch is predicted to go where it goes most often.
        """
        if self.timings.mispredicted is None:
            return 0
        targets: dict[int, Counter[int]] = defaultdict(Counter)
        for before, after, count in interval.pairs:
            if before >= 0:
                targets[before][trace.blocks[after][0]] += count
        wrong = sum(
            counts.total() - max(counts.values())
            for number, counts in targets.items()
            if len(counts) > 1 and self.instructions(trace.blocks[number])[-1].leaves
        )
        return wrong * self.timings.mispredicted[self.bound]

    def _fetches(self, trace: Trace, interval: Interval) -> int:
        """Return the cycles for which code is waited for.

        A cache is taken to keep the lines that are waited for longest without it.
        """
        waits: Counter[int] = Counter()
        for entry in self.entries(trace, interval):
            block = trace.blocks[entry.block]
            sequential = self.flash.sequential(self._block(block, is_taken=False), block[1])
            waits.update({k: count * sequential for k, count in entry.next_lines.items()})
            first = sequential if entry.is_sequential else self.flash.wait_states
            waits[entry.line] += entry.count * first
        cached = self.flash.code_cache_bytes // self.flash.line_bytes
        ranked = [cycles for _, cycles in waits.most_common()]
        return self.flash.wait_states * len(ranked[:cached]) + sum(ranked[cached:])

    def entries(self, trace: Trace, interval: Interval) -> list[LineEntry]:
        """Return the lines of code that an interval enters, by pair of blocks."""
        entries = []
        for before, after, count in interval.pairs:
            start, size = trace.blocks[after]
            first, *next_lines = self.flash.lines(start, start + size)
            end = sum(trace.blocks[before]) if before >= 0 else start
            is_new = (end - 1) // self.flash.line_bytes != first
            entries.append(
                LineEntry(
                    after, first, count if is_new else 0, Counter(dict.fromkeys(next_lines, count)),
                    is_sequential=end == start,
                )
            )  # fmt: skip
        return entries

    def _constants(self, interval: Interval) -> int:
        nbytes = self.flash.line_bytes
        return self.flash.constants(interval.line_changes[nbytes], interval.lines[nbytes])
