"""Clamp each value.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, Kernel, LoweredLayer
from rlx_c.ports import C_TYPES
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QClamp

ELEMENT: Final = 7
"""Instructions for each element."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a clamp."""
    op = cast("QClamp", node.op)
    length = node.types[0].size
    element = C_TYPES[node.types[0].dtype]
    constants = {"length": length, "element": element, "low": op.low, "high": op.high}
    kernel = Kernel.of("clamp", "clamp/kernel", constants, size=CodeSize(0.5))
    layer = LoweredLayer(kernel, operands=node.operands, instructions=length * ELEMENT)
    return (Candidate.of(layer, "clamp"),)


CLAMP: Final = Tactic(candidates, "`clamp`: two comparisons for each element.", baseline=1.4)
