"""Dense layers."""

from __future__ import annotations

from rlx.ops.q import QDense
from rlx_cortexm.kernels.dense.tactic import DENSE
from rlx_cortexm.kernels.dense_mve.tactic import DENSE_MVE
from rlx_cortexm.kernels.dense_quads.tactic import QUADS
from rlx_cortexm.kernels.dense_ternary.tactic import TERNARY
from rlx_cortexm.lower.rules import RULES

RULES.rule(QDense)((DENSE_MVE, TERNARY, QUADS, DENSE))
