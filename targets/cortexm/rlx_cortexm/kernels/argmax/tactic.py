"""Index of the first maximum along an axis.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, cast

from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, Kernel, LoweredLayer
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QArgmax

ELEMENT: Final = 8
ELEMENT_APART: Final = 10
"""Instructions for each element, if those of a line are adjacent, and if they are not."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for an argmax."""
    op = cast("QArgmax", node.op)
    shape = node.operands[0].type.static_shape
    axis = op.axis % len(shape)
    constants = {
        "outer": math.prod(shape[:axis]),
        "extent": shape[axis],
        "inner": math.prod(shape[axis + 1 :]),
    }
    kernel = Kernel.of("argmax", "argmax/kernel", constants, size=CodeSize(0.6))
    instructions = (ELEMENT_APART if shape[axis + 1 :] else ELEMENT) * math.prod(shape)
    layer = LoweredLayer(kernel, operands=node.operands, instructions=instructions)
    return (Candidate.of(layer, "argmax"),)


ARGMAX: Final = Tactic(candidates, "`argmax`: one comparison for each element.")
