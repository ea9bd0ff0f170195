"""Time of a network on a processor: instructions at a clock, as a range.

No board says how long it takes; the range is that of the cycles that an instruction may take.

Tests: tests/targets/cortexm/test_timing.py
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Milliseconds:
    """Time of a frame, computed and not measured.

    Attributes:
        low: Shortest time, in milliseconds.
        high: Longest time.
        clock_mhz: Clock of the processor.
        source: Factors of both times, and the document that they are from.
    """

    low: float
    high: float
    clock_mhz: float
    source: str

    @property
    def range_text(self) -> str:
        """Both times without their unit."""
        return f"{_number(self.low)} to {_number(self.high)}"

    @property
    def basis(self) -> str:
        """Clock and source of the range in words."""
        return f"at {self.clock_mhz:g} MHz ({self.source}; not measured)"

    def __str__(self) -> str:
        return f"{self.range_text} ms {self.basis}"

    def as_json(self) -> dict[str, Any]:
        """Return the attributes as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class CycleTiming:
    """Basis of a number of cycles that was not measured, and the time that they take.

    Attributes:
        kind: ``predicted``, without a run of the program.
        core: Core that the cycles are of.
        memory: Memory with code and constants, in words.
        error: Maximum error found for networks, relative to cycles that were modelled from a run.
        clock_mhz: Clock of the processor; None if unknown.
        milliseconds: Time of a frame; None without a clock.
    """

    kind: str
    core: str
    memory: str
    error: float
    clock_mhz: float | None
    milliseconds: float | None

    @property
    def basis(self) -> str:
        """Kind, time and memory of the cycles in words."""
        clock, time = self.clock_mhz, self.milliseconds
        at = "" if clock is None or time is None else f": {_number(time)} ms at {clock:g} MHz"
        percent = f"{100 * self.error:.0f} %"
        return f"{self.kind}{at}; {self.memory}; networks were within {percent} of modelled cycles"

    def as_json(self) -> dict[str, Any]:
        """Return the attributes as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class CycleRange:
    """Cycles of an instruction on a processor at a clock.

    Attributes:
        low: Fewest cycles, on average over a network.
        high: Most cycles.
        clock_mhz: Clock of the processor.
        source: Document, and assumptions about memory.
    """

    low: float
    high: float
    clock_mhz: float
    source: str

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> CycleRange | None:
        """Return the range in the entries of a manifest; None if it was emitted for no clock."""
        values = facts.get("cycles")
        return None if values is None else cls(**values)

    def milliseconds(self, instructions: int) -> Milliseconds:
        """Return the time of a number of instructions."""
        low, high = (
            float(f"{instructions * cycles / self.clock_mhz / 1e3:.4g}")
            for cycles in (self.low, self.high)
        )
        source = f"instructions x {self.low:.1f} to {self.high:.1f} cycles, {self.source}"
        return Milliseconds(low, high, self.clock_mhz, source)

    def as_json(self) -> dict[str, Any]:
        """Return the attributes as a JSON object."""
        return asdict(self)


def _number(value: float) -> str:
    """Return a time as people write it: three digits, or all digits of an integer."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
