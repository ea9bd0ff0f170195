"""Layers that compute a beat from a beat of each operand, in every cycle.

Tests: tests/targets/fpga/architectures/dataflow/lower/test_rules.py
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

from rlx_fpga.architectures.dataflow.lower.rules import LayerHardware, Plan, divisors, pipeline_hold
from rlx_fpga.cells.chain import Chain
from rlx_fpga.explore.fold import Fold

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_fpga.cells.streams import Cell


class Elementwise(Plan):
    """A function of corresponding elements."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.shape = node.types[0].static_shape
        self.size = math.prod(self.shape)

    @abstractmethod
    def cells(self, lanes: int) -> dict[str, Cell]:
        """Return the cells in order."""

    def folds(self) -> list[Fold]:
        """Return all divisors of the last axis."""
        return [Fold(n, 1, self.size // n) for n in divisors(math.prod(self.shape[-1:]))]

    def build(self, fold: Fold) -> LayerHardware:
        """Return the chain."""
        cells = self.cells(fold.pe)
        beats = self.size // fold.pe
        hold = pipeline_hold([*cells.values()], beats)
        return LayerHardware(Chain(cells), fold, beats, hold)
