"""Functions of one code in C: a look-up, whatever the function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ops.q import QRequantize, QTable
from rlx_c.layer import Kernel, Layer, Table
from rlx_cortexm import costs
from rlx_cortexm.lower.rules import RULES

if TYPE_CHECKING:
    from rlx.ir import Node


@RULES.rule(QTable, QRequantize)
def lower_table(node: Node) -> Layer:
    """Tabulate the op over all 256 codes: ``table_s8.c.j2``."""
    (values,) = node.op.evaluate(np.arange(-128, 128).astype(np.int8))
    length = node.types[0].size
    kernel = Kernel.of("table", "table/kernel", {"length": length})
    table = Table("codes", "int8_t", values, f"{node.op.name} of the codes -128 .. 127")
    instructions = length * costs.LOOKUP
    return Layer(kernel, operands=node.operands, tables=(table,), instructions=instructions)
