"""Elementwise ops of one computed operand as tables, in every architecture.

Tests: tests/targets/fpga/architectures/engine/test_lower.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ops.q import QChain, QPrelu, QRequantize, QTable
from rlx.ops.tabulate import tabulated
from rlx.targets.operands import unsupported
from rlx_fpga.architectures.dataflow.lower import RULES
from rlx_fpga.architectures.dataflow.lower.elementwise import Elementwise
from rlx_fpga.architectures.engine import lower as engine
from rlx_fpga.architectures.engine.loops import each_element
from rlx_fpga.architectures.engine.program import Mode
from rlx_fpga.architectures.parallel.rules import RULES as PARALLEL
from rlx_fpga.cells.channel_table import ChannelTable
from rlx_fpga.cells.table import Table

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.tabulate import Tabulated
    from rlx_fpga.architectures.parallel.netlist import Netlist
    from rlx_fpga.architectures.parallel.rules import Wires
    from rlx_fpga.cells.streams import Cell

MAX_CHAIN_CHANNELS: Final = 64
"""Channels of a chain in memory, 256 bytes each; the ops of one with more are computed."""

OPS = (QChain, QPrelu, QRequantize, QTable)


def tables_of(node: Node) -> Tabulated:
    """Return the tables of a node.

    Raises:
        UnsupportedOpError: It cannot be computed by tables.
    """
    functions = tabulated(node)
    if functions is None:
        raise unsupported(
            node, "it needs one computed operand, and constants that differ by channel only"
        )
    if isinstance(node.op, QChain) and len(functions.tables) > MAX_CHAIN_CHANNELS:
        raise unsupported(
            node,
            f"it has tables of {len(functions.tables)} channels, expected {MAX_CHAIN_CHANNELS}",
        )
    return functions


@RULES.rule(*OPS)
class TablePlan(Elementwise):
    """A memory for each lane: 256 values, or 256 for each of its channels."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        functions = tables_of(node)
        self.operands, self.tables = (functions.operand,), functions.tables

    def cells(self, lanes: int) -> dict[str, Cell]:
        """Return the memories."""
        if len(self.tables) > 1:
            return {"table": ChannelTable(lanes, self.tables)}
        return {"table": Table(lanes, self.tables[0].tolist())}


@PARALLEL.rule(*OPS)
def unroll_table(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Look each value up."""
    operand_tables = tables_of(node)
    tables = [tuple(table) for table in operand_tables.tables.tolist()]
    wires = operands[node.operands.index(operand_tables.operand)]
    steps = [
        netlist.table(wire, tables[place % len(tables)])
        for place, wire in enumerate(wires.reshape(-1).tolist())
    ]
    return np.array(steps, np.int64).reshape(wires.shape)


@engine.RULES.rule(*OPS)
def assemble_table(build: engine.Assembler, node: Node) -> None:
    """Look each value up."""
    functions = tables_of(node)
    if len(functions.tables) > 1:
        raise engine.refused(node, "the engine has one table for all channels")
    place = node.operands.index(functions.operand)
    loops = each_element(node, 1, 0)
    reads = engine.Reads(Mode.TABLE, loops, 1, 1, operand=place)
    build.append(node, reads, [engine.IDENTITY], tables=functions.tables.tolist())
