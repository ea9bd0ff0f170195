"""Reductions over axes."""

from __future__ import annotations

from rlx.ops.q import QArgmax, QMean
from rlx_cortexm.kernels.argmax.tactic import ARGMAX
from rlx_cortexm.kernels.mean.tactic import MEAN
from rlx_cortexm.lower.rules import RULES

RULES.rule(QArgmax)((ARGMAX,))
RULES.rule(QMean)((MEAN,))
