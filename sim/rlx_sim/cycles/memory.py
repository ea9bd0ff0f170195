"""Flash memory of a microcontroller as the timing model sees it.

Tests: tests/sim/cycles/test_model.py
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flash:
    """Memory with program and constants.

    Attributes:
        wait_states: Cycles by which a read of a line is delayed.
        line_bytes: Bytes of a line: 4, 8, 16 or 32. The last one read is kept.
        prefetch: Whether the next line is read while the processor executes one.
        code_cache_bytes: Size of a cache of code; 0 without.
        data_cache_bytes: Size of a cache of constants; 0 without.
    """

    wait_states: int = 0
    line_bytes: int = 4
    prefetch: bool = False
    code_cache_bytes: int = 0
    data_cache_bytes: int = 0

    def __str__(self) -> str:
        if not self.wait_states:
            return "memory without wait states"
        states = "wait state" if self.wait_states == 1 else "wait states"
        parts = [f"flash with {self.wait_states} {states} for {8 * self.line_bytes} bits"]
        parts += ["prefetch"] if self.prefetch else []
        parts += ["cache of code"] if self.code_cache_bytes else []
        parts += ["cache of constants"] if self.data_cache_bytes else []
        return ", ".join(parts)

    def lines(self, start: int, end: int) -> range:
        """Return the lines with the bytes from ``start`` to before ``end``."""
        return range(start // self.line_bytes, (end - 1) // self.line_bytes + 1)

    def sequential(self, cycles: int, nbytes: int) -> int:
        """Return the cycles for which the next line is waited for.

        Args:
            cycles: Cycles in which the processor executes some code.
            nbytes: Bytes of that code.
        """
        if not self.prefetch:
            return self.wait_states
        return max(0, self.wait_states - cycles * self.line_bytes // nbytes)

    def constants(self, line_changes: int, lines: int) -> int:
        """Return the cycles that reads of constants wait.

        Args:
            line_changes: Reads of another line than the read before.
            lines: Lines that were read.
        """
        fits = lines * self.line_bytes <= self.data_cache_bytes
        return self.wait_states * (lines if fits else line_changes)
