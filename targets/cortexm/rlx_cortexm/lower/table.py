"""Functions of one value."""

from __future__ import annotations

from rlx.ops.q import QRequantize, QTable
from rlx_cortexm.kernels.table.tactic import TABLE
from rlx_cortexm.lower.rules import RULES

RULES.rule(QTable, QRequantize)((TABLE,))
