"""Pools."""

from __future__ import annotations

from rlx.ops.q import QAveragePool2d, QMaxPool2d
from rlx_cortexm.kernels.pool2d.tactic import AVERAGE_POOL, LANES_POOL, MAX_POOL
from rlx_cortexm.kernels.pool2d_mve.tactic import POOL_MVE
from rlx_cortexm.lower.rules import RULES

RULES.rule(QAveragePool2d)((POOL_MVE, LANES_POOL, AVERAGE_POOL))
RULES.rule(QMaxPool2d)((POOL_MVE, MAX_POOL))
