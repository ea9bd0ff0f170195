"""Rules: one module for each module of ``rlx.ops.q``, of the same name."""

from rlx_cortexm.lower import arith, conv, linear, pool, reduce, shape, softmax, table
from rlx_cortexm.lower.rules import RULES

__all__ = ["RULES", "arith", "conv", "linear", "pool", "reduce", "shape", "softmax", "table"]
