"""Rules: one module for each module of ``rlx.ops.q``, of the same name."""

from rlx_fpga.architectures.dataflow.lower import arith, conv, linear, pool, reduce, shape, softmax
from rlx_fpga.architectures.dataflow.lower.rules import RULES, Alias, LayerHardware, Plan, plan_of

__all__ = [
    "RULES",
    "Alias",
    "LayerHardware",
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
