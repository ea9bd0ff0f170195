"""Elementwise ops that compare."""

from __future__ import annotations

from rlx.ops.q import QMaximum, QMinimum, QPrelu
from rlx_cortexm.kernels.extreme.tactic import EXTREME
from rlx_cortexm.kernels.prelu.tactic import PRELU
from rlx_cortexm.lower.rules import RULES

RULES.rule(QMaximum, QMinimum)((EXTREME,))
RULES.rule(QPrelu)((PRELU,))
