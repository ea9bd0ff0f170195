"""Traces of basic blocks, as :mod:`rlx_sim.firmware.unicorn_core` writes them.

Tests: tests/sim/cycles/test_model.py
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Interval:
    """Execution between two readings of the timer.

    Attributes:
        pairs: Number of a block, number of the block executed after it, and how often; the first
            number is negative for the first block of the program.
        line_changes: Reads of constants from another line than the read before, by bytes of a line.
        lines: Lines that constants were read from, by bytes of a line.
    """

    pairs: tuple[tuple[int, int, int], ...]
    line_changes: Mapping[int, int]
    lines: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Trace:
    """Execution of a program.

    Attributes:
        blocks: Address and size of each block.
        intervals: One for each reading of the timer.
    """

    blocks: tuple[tuple[int, int], ...]
    intervals: tuple[Interval, ...]

    @classmethod
    def read(cls, file: Path) -> Trace:
        """Read a file."""
        content = json.loads(file.read_text(encoding="utf-8"))
        return cls(
            tuple((address, size) for address, size in content["blocks"]),
            tuple(
                Interval(
                    tuple((before, after, count) for before, after, count in one["pairs"]),
                    {int(nbytes): count for nbytes, count in one["line_changes"].items()},
                    {int(nbytes): count for nbytes, count in one["lines"].items()},
                )
                for one in content["intervals"]
            ),
        )
