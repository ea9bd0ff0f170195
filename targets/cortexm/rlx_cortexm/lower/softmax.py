"""Softmax."""

from __future__ import annotations

from rlx.ops.q import QSoftmax
from rlx_cortexm.kernels.softmax.tactic import SOFTMAX
from rlx_cortexm.lower.rules import RULES

RULES.rule(QSoftmax)((SOFTMAX,))
