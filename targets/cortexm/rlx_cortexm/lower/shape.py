"""Ops that move values: all but the reshape are strided copies."""

from __future__ import annotations

from rlx.ops.q import QConcat, QPad, QReshape, QSlice, QTranspose
from rlx_cortexm.kernels.copy.tactic import CONCAT, NOTHING, PAD, SLICE, TRANSPOSE
from rlx_cortexm.lower.rules import RULES

RULES.rule(QConcat)((CONCAT,))
RULES.rule(QPad)((PAD,))
RULES.rule(QReshape)((NOTHING,))
RULES.rule(QSlice)((SLICE,))
RULES.rule(QTranspose)((TRANSPOSE,))
