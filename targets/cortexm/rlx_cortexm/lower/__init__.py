"""Which tactics compute an op: one module for each module of ``rlx.ops.q``, of the same name."""

from rlx_cortexm.lower import (
    arith,
    compare,
    conv,
    convert,
    linear,
    pool,
    reduce,
    shape,
    softmax,
    table,
)
from rlx_cortexm.lower.rules import RULES, Ways, candidates, lowering

__all__ = [
    "RULES", "Ways", "arith", "candidates", "compare", "conv", "convert", "linear", "lowering",
    "pool", "reduce", "shape", "softmax", "table",
]  # fmt: skip
