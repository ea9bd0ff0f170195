"""A graph with the stage it has reached."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlx.ir.graph import Graph, Node, Value


class Stage(enum.Enum):
    """How far a graph has come on its way to a target.

    ``HIR`` holds ops of any level, ``MIR`` no ``nn.*`` ops any more, ``LIR`` is one target's
    view: legal ops only, with a schedule and a place in memory for every value.
    """

    HIR = "hir"
    MIR = "mir"
    LIR = "lir"


class Region(enum.Enum):
    """Where a value lives while the program runs."""

    INPUT = "input"
    OUTPUT = "output"
    ARENA = "arena"


@dataclass(frozen=True, slots=True)
class Placement:
    """The place of one value.

    Attributes:
        value: The value; constants have no placement, they lie in read-only memory.
        region: The caller's input or output buffer, or the arena.
        offset: Bytes from the start of the region's buffer (for INPUT and OUTPUT always 0).
        nbytes: Size in bytes.
        first: Step of the schedule that writes it (-1 for inputs).
        last: Last step that reads it (number of steps for outputs).
        alias_of: The value whose bytes it shares (a view or an in-place result), or None.
    """

    value: Value
    region: Region
    offset: int
    nbytes: int
    first: int
    last: int
    alias_of: Value | None = None


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Order of execution and place of every value.

    Attributes:
        schedule: Every node that computes, in order of execution.
        placements: One entry for each value that is no constant.
        arena_bytes: Bytes of the arena.
        alignment: Every arena offset is a multiple of this.
    """

    schedule: tuple[Node, ...]
    placements: tuple[Placement, ...]
    arena_bytes: int
    alignment: int

    def of(self, value: Value) -> Placement:
        """Return the placement of ``value``."""
        for placement in self.placements:
            if placement.value == value:
                return placement
        raise KeyError(f"{value.node.label} has no placement")


@dataclass(frozen=True, slots=True)
class GraphModule:
    """A graph, its stage and, at the last stage, its memory plan."""

    graph: Graph
    stage: Stage
    plan: MemoryPlan | None = None
