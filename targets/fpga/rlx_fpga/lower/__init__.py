"""Rules: one module for each module of ``rlx.ops.q``, of the same name."""

from rlx_fpga.lower import arith, conv, linear, pool, reduce, shape, softmax
from rlx_fpga.lower.rules import RULES, Alias, Fold, Layer, Plan, plan_of

__all__ = [
    "RULES",
    "Alias",
    "Fold",
    "Layer",
    "Plan",
    "arith",
    "conv",
    "linear",
    "plan_of",
    "pool",
    "reduce",
    "shape",
    "softmax",
]
