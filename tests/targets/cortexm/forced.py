"""Layers computed by a kernel of the test's choice, not the cheapest one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rlx_c.candidate import Candidate
from rlx_cortexm import program
from rlx_cortexm.kernels.rules import candidates

if TYPE_CHECKING:
    from rlx.ir import MemoryPlan
    from rlx_cortexm.program import KernelSettings

Chooser = Callable[[Sequence[Candidate]], Candidate]


@contextmanager
def chosen_by(chooser: Chooser) -> Iterator[list[Candidate]]:
    """Let ``chooser`` choose while code is emitted; give the candidates chosen, in order."""
    chosen: list[Candidate] = []

    def kernels_for(plan: MemoryPlan, settings: KernelSettings) -> tuple[Candidate, ...]:
        chosen[:] = [chooser(candidates(node, settings.core)) for node in plan.schedule]
        return tuple(chosen)

    usual = program.kernels_for
    program.kernels_for = kernels_for
    try:
        yield chosen
    finally:
        program.kernels_for = usual


def named(start: str, turn: int = 0) -> Chooser:
    """Return a chooser of candidates whose name begins with ``start``, another for each node.

    Nodes without such a candidate get their plain kernel, which is the last one.
    """
    turns = iter(range(turn, 1 << 30))

    def chooser(candidates: Sequence[Candidate]) -> Candidate:
        found = [c for c in candidates if c.name.startswith(start)] or [candidates[-1]]
        return found[next(turns) % len(found)]

    return chooser
