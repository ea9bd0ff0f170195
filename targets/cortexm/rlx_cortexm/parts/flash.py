"""Flash memory of a microcontroller as models of cycles see it.

Tests: tests/targets/cortexm/test_parts.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from rlx_cortexm.parts.catalogue import CortexPart

_FLASH_WAIT: Final = re.compile(r"([0-9]{1,3})(?::(32|64|128|256))?")
_BITS: Final = 8


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


def parse_flash_wait(text: str) -> tuple[int, int | None]:
    """Return the wait states and the bytes of a read, if given, of a value of ``--flash-wait``.

    Raises:
        UsageError: It is not a number of wait states, or of states and bits.
    """
    match = _FLASH_WAIT.fullmatch(text)
    if match is None:
        raise UsageError(
            f"expected 0 to 999 wait states, or states and bits of a read, got {text!r}",
            where="--flash-wait",
            hint="write --flash-wait 4, or 4:64 for reads of 64 bits; 32, 128 and 256 are known",
        )
    return int(match[1]), int(match[2]) // _BITS if match[2] else None


def flash_of(chip: CortexPart | None, flash_wait: str | None) -> Flash:
    """Return the memory of a part, with other wait states if requested.

    Raises:
        UsageError: ``flash_wait`` is not a number of wait states, or of states and bits.
    """
    flash = Flash()
    if chip is not None:
        flash = Flash(
            chip.wait_states or 0,
            chip.read_bits // _BITS,
            chip.prefetch,
            chip.code_cache_bytes,
            chip.data_cache_bytes,
        )
    if flash_wait is None:
        return flash
    wait_states, line_bytes = parse_flash_wait(flash_wait)
    return replace(flash, wait_states=wait_states, line_bytes=line_bytes or flash.line_bytes)
