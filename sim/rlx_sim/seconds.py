"""Wall-clock time of the parts of a verification: compile, simulate, compare."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class Seconds:
    """Time of one simulation.

    Attributes:
        simulation: Name of the simulation.
        parts: Wall-clock seconds of each part, by name.
    """

    simulation: str
    parts: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Add the time that the block takes to a part."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.add(name, time.monotonic() - started)

    def add(self, name: str, seconds: float) -> None:
        """Add to the time of a part."""
        self.parts[name] = round(self.parts.get(name, 0.0) + seconds, 3)

    def as_json(self) -> dict[str, Any]:
        """Return the name and the parts as one JSON object."""
        return {"simulation": self.simulation, **self.parts}
