"""Traces of basic blocks from QEMU's log, for cores that unicorn does not emulate.

The log has the instructions of each translated block (``in_asm``) and a line for each execution
(``exec``). It has no reads of memory.

Tests: tests/sim/cycles/test_model.py
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from rlx_sim.cycles.trace import Interval, Trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_INSTRUCTION: Final = re.compile(r"0x([0-9a-f]{8}):  ([0-9a-f]{4})( [0-9a-f]{4})?\b")
_EXECUTED: Final = re.compile(r"Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/")

Block = tuple[int, int]


def read_log(lines: Iterable[str], reading: int) -> Trace:
    """Return the trace in a log.

    Args:
        lines: Lines of QEMU's log.
        reading: Address of the function that reads the timer: an interval ends where it is called.
    """
    numbers: dict[Block, int] = {}
    intervals = []
    pairs: Counter[tuple[int, int]] = Counter()
    previous = -1
    for block in _executions(lines):
        number = numbers.setdefault(block, len(numbers))
        pairs[previous, number] += 1
        previous = number
        if block[0] == reading:
            intervals.append(_interval(pairs))
            pairs = Counter()
    return Trace(tuple(numbers), tuple(intervals))


def _interval(pairs: Counter[tuple[int, int]]) -> Interval:
    rows = tuple((before, after, count) for (before, after), count in pairs.items())
    return Interval(rows, line_changes={}, lines={})


def _executions(lines: Iterable[str]) -> Iterator[Block]:
    """Yield address and size of each block that runs; the log has its instructions before."""
    sizes: dict[int, int] = {}
    start: int | None = None
    for line in lines:
        if line.startswith("Trace"):
            executed = _EXECUTED.match(line)
            assert executed is not None
            address = int(executed[1], 16)
            yield address, sizes[address]
        elif line.startswith("IN:"):
            start = None
        elif (code := _INSTRUCTION.match(line)) is not None:
            address = int(code[1], 16)
            start = address if start is None else start
            sizes[start] = address + (2 if code[3] is None else 4) - start
