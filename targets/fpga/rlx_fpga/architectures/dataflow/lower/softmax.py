"""Softmax in hardware.

Tests: tests/targets/fpga/architectures/dataflow/test_layers.py
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, cast

from rlx.ops.numerics.exponential import softmax_table
from rlx.ops.q import QSoftmax
from rlx_fpga.architectures.dataflow.latency import at_once
from rlx_fpga.architectures.dataflow.lower.rules import RULES, LayerHardware, Plan, pipeline_hold
from rlx_fpga.cells.chain import Chain
from rlx_fpga.cells.softmax import Softmax
from rlx_fpga.explore.fold import Fold

if TYPE_CHECKING:
    from rlx.ir import Node


@RULES.rule(QSoftmax)
class SoftmaxPlan(Plan):
    """A sequential unit: seventeen cycles for each value."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        op = cast("QSoftmax", node.op)
        x = node.operands[0].type
        self.count = x.static_shape[-1]
        self.rows = x.size // self.count
        table = softmax_table(op.multiplier, op.left_shift, op.diff_min)
        self.cell = Softmax(self.count, table.tolist())

    def folds(self) -> list[Fold]:
        """Return the only choice."""
        return [Fold(1, 1, self.rows * self.cell.interval, self.cell.multipliers)]

    def build(self, fold: Fold) -> LayerHardware:
        """Return the cell."""
        hold = Fraction(1, self.rows) + pipeline_hold([self.cell], self.rows * self.cell.interval)
        # A row is accepted without a pause, and the next one a long time later.
        jitter = (Fraction(1, self.rows), Fraction(0))
        cell = self.cell
        # The codes follow one another after the latency, which adds no work here.
        codes = cell.interval - self.count - cell.latency + 1
        started, ended = (n / cell.interval for n in (self.count, self.count + codes))
        demand = at_once(started=started, ended=ended).repeated(self.rows)
        chain = Chain({"softmax": cell})
        return LayerHardware(chain, fold, fold.cycles, hold, jitter=jitter, demand=demand)
