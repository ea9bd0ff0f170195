"""Tactics: ways to compute a node with kernels of a kind.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Node
    from rlx_c.candidate import Candidate
    from rlx_cortexm.core import CortexCore


@dataclass(frozen=True, slots=True)
class Tactic:
    """A way to compute nodes, in one variant or many.

    Attributes:
        candidates: Returns its variants for a node, none where it does not apply. It raises
            UnsupportedOpError where the node cannot be computed exactly by any kernel.
        summary: Names of candidates in reports, and their function: a line of Markdown.
        portable: Instructions of its path in plain C, on a core without DSP extension, for each on
            a Cortex-M4: counted on a Cortex-M3.
        baseline: Instructions on a core with the baseline instructions only, for each on a
            Cortex-M3: counted on a Cortex-M0, about; it depends on the shape.
        vectors: Whether it needs the vector extension MVE.
        scaling: Returns the instructions to scale all sums of a node on a core beyond those that
            its candidates include; None: there are none.
    """

    candidates: Callable[[Node], tuple[Candidate, ...]]
    summary: str
    portable: float = 1
    baseline: float = 1
    vectors: bool = False
    scaling: Callable[[Node, CortexCore], int] | None = None

    def on(self, node: Node, core: CortexCore) -> tuple[Candidate, ...]:
        """Return its variants for a node with their instructions on a core."""
        portable = 1 if core.pairs else self.portable
        factor = portable if core.mainline else portable * self.baseline
        ways = self.candidates(node)
        more = self.scaling(node, core) if ways and self.scaling is not None else 0
        return tuple(
            replace(way, instructions=int(way.instructions * factor) + more) for way in ways
        )


@dataclass(frozen=True, slots=True)
class CoreTactic:
    """A tactic whose instructions are counted for each core, not scaled by factors.

    Attributes:
        on: Returns its variants for a node with their instructions on a core.
        summary: As of :class:`Tactic`.
        vectors: As of :class:`Tactic`.
    """

    on: Callable[[Node, CortexCore], tuple[Candidate, ...]]
    summary: str
    vectors: bool = False


AnyTactic: TypeAlias = "Tactic | CoreTactic"
