"""Kernels that were not chosen: the cost of each in place of the one that was.

Tests: tests/targets/cortexm/test_kernel_table.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx_c.choice import flash_bytes, largest_arena

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx_c.candidate import Candidate, CodeSizes
    from rlx_c.choice import MemoryLimits, Need, Objective


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """A candidate for each layer, with the objective and the limits of the choice.

    Attributes:
        needs: The layers.
        arena: Bytes of the arena without scratch memory.
        objective: Price of bytes in instructions.
        limits: Bounds that must not be exceeded.
        candidates: A candidate for each layer.
    """

    needs: Sequence[Need]
    arena: int
    objective: Objective
    limits: MemoryLimits
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class SelectionCost:
    """Needs of a selection.

    Attributes:
        instructions: Of an inference.
        flash: Bytes of tables and of kernels' code.
        ram: Bytes of the arena.
    """

    instructions: int
    flash: int
    ram: int

    def total(self, objective: Objective) -> int:
        """Return all of it in instructions."""
        return self.instructions + objective.flash * self.flash + objective.ram * self.ram


@dataclass(frozen=True, slots=True)
class RejectedKernel:
    """A candidate that was not chosen.

    Attributes:
        candidate: The candidate.
        reason: Reason why it was not chosen.
        more: Additional cost, in instructions; infinite if it keeps no limit.
    """

    candidate: Candidate
    reason: str
    more: float


def losers(choice: KernelChoice, code_sizes: CodeSizes) -> list[list[RejectedKernel]]:
    """Return for each layer the candidates that were not chosen, the cheapest first.

    Each is costed in place of the chosen one, with all other layers unchanged.

    Args:
        choice: Choice with its candidates and limits.
        code_sizes: Bytes of machine code of a kernel.
    """
    cost = _cost(choice, choice.candidates, code_sizes)
    largest = largest_arena(choice.needs, choice.arena, choice.objective, choice.limits.ram)
    losers_by_layer = []
    for index, (need, candidate) in enumerate(zip(choice.needs, choice.candidates, strict=True)):
        before, after = choice.candidates[:index], choice.candidates[index + 1 :]
        layer = [
            _loser(choice, cost, c, _cost(choice, (*before, c, *after), code_sizes), largest)
            for c in need.candidates if c is not candidate
        ]  # fmt: skip
        losers_by_layer.append(sorted(layer, key=lambda loser: loser.more))
    return losers_by_layer


def _cost(
    choice: KernelChoice, selection: Sequence[Candidate], code_sizes: CodeSizes
) -> SelectionCost:
    ends = (n.end(c.scratch_bytes) for n, c in zip(choice.needs, selection, strict=True))
    return SelectionCost(
        sum(c.instructions for c in selection),
        flash_bytes(selection, code_sizes),
        max(choice.arena, *ends),
    )


def _loser(
    choice: KernelChoice,
    cost: SelectionCost,
    candidate: Candidate,
    other: SelectionCost,
    largest: int,
) -> RejectedKernel:
    """Return a candidate with which the selection would cost ``other`` in place of ``cost``."""
    limit, objective = choice.limits.flash, choice.objective
    if other.ram > largest:
        reason = f"makes the arena {other.ram:,} B, over {largest:,} B"
        return RejectedKernel(candidate, reason, math.inf)
    if limit is not None and other.flash > limit:
        return RejectedKernel(
            candidate, f"makes the flash {other.flash:,} B, over {limit:,} B", math.inf
        )
    more = other.total(objective) - cost.total(objective)
    parts = _difference(cost, other, objective)
    if more > 0:
        return RejectedKernel(candidate, f"costs {more:,} more: {parts}", more)
    if more == 0:
        return RejectedKernel(candidate, "costs the same", more)
    reason = f"costs {-more:,} less ({parts}), but the search did not find it"
    return RejectedKernel(candidate, reason, more)


def _difference(cost: SelectionCost, other: SelectionCost, objective: Objective) -> str:
    """Return the parts of a difference in cost that are not 0."""
    parts = (
        (other.instructions - cost.instructions, "instructions"),
        (other.flash - cost.flash, f"B of flash at {objective.flash:,}"),
        (other.ram - cost.ram, f"B of RAM at {objective.ram:,}"),
    )
    return ", ".join(f"{number:+,} {what}" for number, what in parts if number)
