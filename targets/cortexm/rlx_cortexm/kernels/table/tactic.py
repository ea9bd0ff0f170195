"""Any function of one value: a look-up.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rlx_c.candidate import Candidate
from rlx_c.layer import ConstantTable, Kernel, LoweredLayer
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node

ELEMENT: Final = 5
"""Instructions for each element."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a function of one value, tabulated for all 256."""
    (values,) = node.op.evaluate(np.arange(-128, 128).astype(np.int8))
    length = node.types[0].size
    kernel = Kernel.of("table", "table/kernel", {"length": length})
    table = ConstantTable("entries", "int8_t", values, f"{node.op.name} of -128 .. 127")
    instructions = length * ELEMENT
    layer = LoweredLayer(kernel, operands=node.operands, tables=(table,), instructions=instructions)
    return (Candidate.of(layer, "table"),)


TABLE: Final = Tactic(candidates, "`table`: a look-up for each element.", baseline=1.2)
