"""Tactics: ways to compute a node with kernels of a kind.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Node
    from rlx_c.candidate import Candidate


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
    """

    candidates: Callable[[Node], tuple[Candidate, ...]]
    summary: str
    portable: float = 1
    baseline: float = 1
    vectors: bool = False
