"""Keys of the JSON objects that are made of dataclasses.

Tests: tests/cli/test_schemas.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rlx.ir.diff import GraphDiff
from rlx.ir.manifest import BindingManifest
from rlx.passes.fusion import FusionReport
from rlx.reports.folder_diff import FolderDiff
from rlx.runtime.observation.memory import MemoryEstimate


@dataclass(frozen=True, slots=True)
class Keys:
    """Difference between the fields of a dataclass and the keys of its JSON object.

    Attributes:
        properties: Properties, and methods without arguments, whose values are keys too.
        without: Fields that the command does not print.
    """

    properties: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


KEYS: Final[dict[type, Keys]] = {
    BindingManifest: Keys(properties=("blocks",)),
    FolderDiff: Keys(properties=("equal",)),
    FusionReport: Keys(properties=("exact", "counts")),
    GraphDiff: Keys(without=("lines",)),
    MemoryEstimate: Keys(properties=("total",)),
}
"""Dataclasses whose JSON objects have other keys than their fields."""
