"""From a planned graph to a program: a kernel is chosen for each step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rlx.ir import Stage
from rlx.memory import moves_nothing
from rlx_c.arena import alive_by_step, find_scratch
from rlx_c.candidate import Candidate
from rlx_c.choice import DEFAULT_OBJECTIVE, OBJECTIVES, MemoryLimits, Need, choose, flash_bytes
from rlx_c.layer import LoweredLayer
from rlx_c.losers import KernelChoice
from rlx_c.program import assemble_program
from rlx_cortexm.code_size import code_sizes, entry_with_margin, sizes_with_margin
from rlx_cortexm.core import DEFAULT_CORE, CortexCore
from rlx_cortexm.kernels.rules import candidates
from rlx_cortexm.weights_file import CODE_BYTES as CHECK_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import GraphModule, MemoryPlan, Node, Placement
    from rlx_c.candidate import CodeSizes
    from rlx_c.program import LoweredProgram


@dataclass(frozen=True, slots=True)
class KernelSettings:
    """Settings of the choice of kernels.

    Attributes:
        optimize: Name of the objective.
        ram: Maximum bytes of the arena, or None.
        flash: Maximum bytes of constants and code, or None.
        core: Core that they run on.
        constants_in_file: They take no flash of ``flash``.
    """

    optimize: str = DEFAULT_OBJECTIVE
    ram: int | None = None
    flash: int | None = None
    core: CortexCore = DEFAULT_CORE
    constants_in_file: bool = False

    def kernel_flash(self, plan: MemoryPlan) -> int | None:
        """Return the flash that there is for kernels, with a margin, and for their tables."""
        if self.flash is None:
            return None
        entry = entry_with_margin(len(plan.schedule), self.core)
        if self.constants_in_file:
            left = self.flash - entry - CHECK_BYTES
            return max(left, 0) + self._min_table_bytes(plan)
        read = (v for n in plan.schedule for v in candidates(n, self.core)[-1].lower().operands)
        constants = {value for value in read if value.constant is not None}
        return max(self.flash - entry - sum(v.type.nbytes for v in constants), 0)

    @property
    def code_sizes(self) -> CodeSizes:
        """Bytes of machine code of a kernel; with a margin if there is a limit."""
        return code_sizes if self.flash is None else partial(sizes_with_margin, core=self.core)

    def _min_table_bytes(self, plan: MemoryPlan) -> int:
        """Return bytes that kernels' tables take in any case, and that are not in flash."""
        return sum(min(c.table_bytes for c in candidates(n, self.core)) for n in plan.schedule)


def program(module: GraphModule, settings: KernelSettings | None = None) -> LoweredProgram:
    """Lower a module at stage LIR.

    Args:
        module: A module with a plan.
        settings: Objective, limits and core; None for the defaults.

    Raises:
        UnsupportedOpError: A node cannot be lowered.
        ValueError: The module lacks a plan.
    """
    if module.stage is not Stage.LIR or module.plan is None:
        raise ValueError(f"expected a module at stage lir, got {module.stage.value}")
    chosen = kernels_for(module.plan, settings or KernelSettings())
    return assemble_program(module.graph, module.plan, chosen)


def kernels_for(plan: MemoryPlan, settings: KernelSettings) -> tuple[Candidate, ...]:
    """Return the kernel of each step; arguments as ``choice_of``."""
    return choice_of(plan, settings).candidates


def choice_of(plan: MemoryPlan, settings: KernelSettings) -> KernelChoice:
    """Return the kernel of each step, by the objective and within the limits.

    If no choice keeps to both limits, the one with the smallest flash within ``ram`` is returned;
    if ``ram`` is too small for all, the one with the smallest arena.
    """
    needs = [
        Need(_candidates(plan, node, settings.core), partial(_end, alive))
        for node, alive in zip(plan.schedule, alive_by_step(plan), strict=True)
    ]
    arena, objective = plan.arena_bytes, OBJECTIVES[settings.optimize]
    limits = MemoryLimits(settings.ram, settings.kernel_flash(plan))
    # A limit that the unlimited choice keeps to changes nothing, though its sizes have a margin.
    best = choose(needs, arena, objective, MemoryLimits(settings.ram), code_sizes)
    if best is not None and (
        limits.flash is None or flash_bytes(best, settings.code_sizes) <= limits.flash
    ):
        return KernelChoice(needs, arena, objective, limits, best)
    tries = (
        (objective, limits),
        (OBJECTIVES["size"], MemoryLimits(settings.ram)),
        (OBJECTIVES["ram"], MemoryLimits()),
    )
    return next(
        KernelChoice(needs, arena, what, limits, chosen)
        for what, limits in tries
        if (chosen := choose(needs, arena, what, limits, settings.code_sizes)) is not None
    )


def _candidates(plan: MemoryPlan, node: Node, core: CortexCore) -> tuple[Candidate, ...]:
    if moves_nothing(plan, node):
        return (Candidate.of(LoweredLayer(None, operands=node.operands), "nothing"),)
    return candidates(node, core)


def min_scratch(node: Node, core: CortexCore = DEFAULT_CORE) -> int:
    """Return the minimum scratch memory of any kernel of a node, or raise UnsupportedOpError."""
    return min(candidate.scratch_bytes for candidate in candidates(node, core))


def _end(alive: Sequence[Placement], nbytes: int) -> int:
    """Return the bytes of the arena with ``scratch`` bytes of scratch memory at a step."""
    return find_scratch(alive, nbytes) + nbytes if nbytes else 0
