"""Elementwise arithmetic."""

from __future__ import annotations

from rlx.ops.q import QAdd, QClamp, QMul, QSub
from rlx_cortexm.kernels.add.tactic import ADD
from rlx_cortexm.kernels.add_mve.tactic import ADD_MVE
from rlx_cortexm.kernels.add_table.tactic import ADD_TABLE
from rlx_cortexm.kernels.clamp.tactic import CLAMP
from rlx_cortexm.kernels.mul.tactic import MUL
from rlx_cortexm.lower.rules import RULES

RULES.rule(QAdd, QSub)((ADD_MVE, ADD_TABLE, ADD))
RULES.rule(QClamp)((CLAMP,))
RULES.rule(QMul)((MUL,))
