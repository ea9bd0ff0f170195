"""Functions of one value that differ by channel: a look-up in the table of the channel.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ops.tabulate import tabulated
from rlx.targets.operands import unsupported
from rlx_c.candidate import Candidate
from rlx_c.layer import ConstantTable, Kernel, LoweredLayer
from rlx_cortexm.pixels import loop_instructions, pixel_loops
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.tabulate import Tabulated

ELEMENT: Final = 3
"""Instructions for each element."""

CHANNEL_TABLE_NAME: Final = "channel table"
"""Name of the candidate in reports."""

ENTRIES: Final = 256
"""Bytes of the table of a channel."""


def functions_of(node: Node) -> Tabulated:
    """Return the results of each channel.

    Raises:
        UnsupportedOpError: They are not functions of one computed operand.
    """
    functions = tabulated(node)
    if functions is None:
        raise unsupported(node, "its constants are computed, or differ along another axis")
    return functions


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate with a table for each channel.

    Raises:
        UnsupportedOpError: The node has no such tables.
    """
    functions, type_ = functions_of(node), node.types[0]
    loops = pixel_loops(type_)
    data = np.broadcast_to(functions.tables, (loops["channels"], ENTRIES)).reshape(-1)
    kernel = Kernel.of("channel_tables", "channel_table/kernel", loops)
    note = f"{node.op.name} of -128 .. 127, for each channel"
    layer = LoweredLayer(
        kernel,
        operands=(functions.operand,),
        tables=(ConstantTable("entries", "int8_t", data, note),),
        instructions=type_.size * ELEMENT + loop_instructions(loops),
    )
    return (Candidate.of(layer, CHANNEL_TABLE_NAME),)


CHANNEL_TABLE: Final = Tactic(
    candidates, "`channel table`: a look-up in the table of the channel.", baseline=1.5
)
