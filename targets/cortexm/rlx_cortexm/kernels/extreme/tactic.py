"""Maximum or minimum, element by element.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.ops.q import QMaximum
from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, LoweredLayer
from rlx_cortexm.elementwise import loop_constants
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node

ELEMENT: Final = 7
"""Instructions for each element."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a maximum or minimum."""
    name = "maximum" if isinstance(node.op, QMaximum) else "minimum"
    kernel = Kernel.of(name, "extreme/kernel", {"kind": name, **loop_constants(node)})
    instructions = node.types[0].size * ELEMENT
    layer = LoweredLayer(kernel, operands=node.operands, instructions=instructions)
    return (Candidate.of(layer, name),)


EXTREME: Final = Tactic(
    candidates, "`maximum`, `minimum`: a comparison for each element.", baseline=2.1
)
