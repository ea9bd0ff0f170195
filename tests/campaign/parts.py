"""The parts of the campaign, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from campaign import bench, compile, equality, hardware, intervals, kills, mutants, onnx_equality
from campaign.bombs import BOMB_FILES
from campaign.damage import DAMAGED_MODELS
from campaign.damaged_readers import DAMAGED_READERS
from campaign.hostile import HOSTILE_NAMES
from campaign.malformed import MALFORMED_LIST

if TYPE_CHECKING:
    from campaign.part import Part

PARTS: dict[str, Part] = {
    part.name: part
    for part in (
        *DAMAGED_MODELS,
        *DAMAGED_READERS,
        MALFORMED_LIST,
        HOSTILE_NAMES,
        *equality.PARTS,
        onnx_equality.ONNX,
        compile.COMPILED,
        *hardware.PARTS,
        *intervals.PARTS,
        *mutants.PARTS,
        kills.KILLS,
        bench.DISTURBED,
        BOMB_FILES,
    )
}
