"""Maximum and minimum of two tensors, in every architecture.

Tests: tests/targets/fpga/cells/test_channel_table.py
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from amaranth import Module, Mux
from amaranth.lib.wiring import In, Out

from rlx.ops.q import QMaximum, QMinimum
from rlx_fpga.architectures import tables
from rlx_fpga.architectures.dataflow.lower import RULES
from rlx_fpga.architectures.dataflow.lower.arith import BinaryPlan
from rlx_fpga.architectures.engine import lower as engine
from rlx_fpga.architectures.engine.loops import each_element
from rlx_fpga.architectures.engine.program import Mode
from rlx_fpga.architectures.parallel.rules import RULES as PARALLEL
from rlx_fpga.cells.arith import take_pairs
from rlx_fpga.cells.streams import Cell, stream_of
from rlx_fpga.cost.logic import Logic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_fpga.architectures.parallel.netlist import Netlist
    from rlx_fpga.architectures.parallel.rules import Wires
    from rlx_fpga.explore.fold import Fold


class Extreme(Cell):
    """``z = max(x, y)``, or ``min(x, y)``; a beat of each makes a beat.

    Members:
        i0: In, ``lanes`` times int8.
        i1: In, the same.
        o: Out, the same.

    Latency 1, initiation interval 1.
    """

    def __init__(self, lanes: int, *, larger: bool) -> None:
        self.lanes, self.larger = lanes, larger
        operand = stream_of(lanes)
        super().__init__({"i0": In(operand), "i1": In(operand), "o": Out(operand)})

    @cached_property
    def logic(self) -> Logic:
        """A comparison and a choice for each lane."""
        bits = 8 * self.lanes
        return Logic(register=bits + 1, compare=bits, test=8, mux=bits)

    def elaborate(self, platform: object) -> Module:
        """Compare every lane on the way into the register."""
        m = Module()
        move, both = take_pairs(m, self)
        with m.If(move):
            m.d.sync += self.o.valid.eq(both)
            for lane in range(self.lanes):
                x, y = self.i0.payload[lane], self.i1.payload[lane]
                first = x > y if self.larger else x < y
                m.d.sync += self.o.payload[lane].eq(Mux(first, x, y))
        return m


@RULES.rule(QMaximum, QMinimum)
class ExtremePlan(BinaryPlan):
    """A comparison for each lane."""

    def cells(self, fold: Fold) -> dict[str, Cell]:
        """Return the comparisons."""
        return {"extreme": Extreme(fold.pe, larger=isinstance(self.node.op, QMaximum))}


@PARALLEL.rule(QMaximum, QMinimum)
def unroll_extreme(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Compare each pair of wires."""
    x, y = np.broadcast_arrays(*operands)
    larger = isinstance(node.op, QMaximum)
    pairs = zip(x.reshape(-1).tolist(), y.reshape(-1).tolist(), strict=True)
    found = [netlist.maximum(a, b) if larger else netlist.pick(a, b, b, a) for a, b in pairs]
    return np.array(found, np.int64).reshape(x.shape)


@engine.RULES.rule(QMaximum, QMinimum)
def assemble_extreme(build: engine.Assembler, node: Node) -> None:
    """Read corresponding values of two tensors as a window of which the larger is kept."""
    if any(o.constant is not None for o in node.operands):
        tables.assemble_table(build, node)
        return
    if not isinstance(node.op, QMaximum):
        raise engine.refused(node, "the array keeps the larger of two values, not the smaller")
    if any(o.type.shape != node.types[0].shape for o in node.operands):
        raise engine.refused(node, "the engine compares two tensors of the same shape")
    distance = build.places[node.operands[1]] - build.places[node.operands[0]]
    reads = engine.Reads(Mode.MAX, each_element(node, 2, distance), 1, 1)
    build.append(node, reads, [engine.IDENTITY])
