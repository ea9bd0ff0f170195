"""Tables in hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rlx.ops.q import QTable
from rlx_fpga.cells.table import Table
from rlx_fpga.lower.elementwise import Elementwise
from rlx_fpga.lower.rules import RULES

if TYPE_CHECKING:
    from rlx_fpga.cells.streams import Cell


@RULES.rule(QTable)
class TablePlan(Elementwise):
    """A memory of 256 codes for each lane."""

    def cells(self, lanes: int) -> dict[str, Cell]:
        """Return the memory."""
        return {"table": Table(lanes, cast("QTable", self.node.op).table)}
