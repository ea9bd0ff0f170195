"""The parts of the campaign, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from campaign import equality, hardware, mutants
from campaign.damage import DAMAGED_MODELS
from campaign.damaged_readers import DAMAGED_READERS
from campaign.hostile import HOSTILE_NAMES

if TYPE_CHECKING:
    from campaign.part import Part

PARTS: dict[str, Part] = {
    part.name: part
    for part in (
        *DAMAGED_MODELS,
        *DAMAGED_READERS,
        HOSTILE_NAMES,
        *equality.PARTS,
        *hardware.PARTS,
        *mutants.PARTS,
    )
}
