"""Kernels that could compute a node, with what each would cost, and the choice between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx_cortexm.layer import Layer

FLASH_PRICE: Final = 10
"""Instructions that each byte of flash must save in every inference."""

RAM_PRICE: Final = 8
"""Instructions that each byte must save by which the arena grows."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to compute a node.

    Attributes:
        name: Of the kernel and its variant, for reports.
        lower: Makes the layer.
        instructions: Estimate for a Cortex-M4, GCC 12 at -O2.
        flash_bytes: Tables, and an estimate of the kernel's code.
        scratch_bytes: Bytes of the arena while it runs.
    """

    name: str
    lower: Callable[[], Layer]
    instructions: int
    flash_bytes: int
    scratch_bytes: int

    @staticmethod
    def of(layer: Layer, code_bytes: int) -> Candidate:
        """Return the candidate that is a layer already."""
        template = layer.kernel.template if layer.kernel is not None else "nothing"
        flash_bytes = code_bytes + sum(table.nbytes for table in layer.tables)
        return Candidate(
            template, lambda: layer, layer.instructions, flash_bytes, layer.scratch_bytes
        )


@dataclass(frozen=True, slots=True)
class Room:
    """Scratch memory that there is for a node.

    Attributes:
        growth: Bytes by which the arena grows for so many bytes of scratch memory.
        limit: Bytes by which it may grow.
    """

    growth: Callable[[int], int]
    limit: int


def choose(candidates: Sequence[Candidate], room: Room | None = None) -> Candidate:
    """Return the candidate that costs least, the one with less flash if some cost the same.

    Instructions count, and with them those that flash and growth of the arena have to save. If no
    candidate keeps within the room, the one with the least scratch memory is taken.

    Args:
        candidates: At least one.
        room: What scratch memory costs; None: as if each byte made the arena grow.
    """
    where = Room(lambda nbytes: nbytes, 1 << 31) if room is None else room

    def price(candidate: Candidate) -> tuple[int, int]:
        growth = where.growth(candidate.scratch_bytes)
        spent = FLASH_PRICE * candidate.flash_bytes + RAM_PRICE * growth
        return candidate.instructions + spent, candidate.flash_bytes

    fitting = [c for c in candidates if where.growth(c.scratch_bytes) <= where.limit]
    if not fitting:
        return min(candidates, key=lambda c: c.scratch_bytes)
    return min(fitting, key=price)
