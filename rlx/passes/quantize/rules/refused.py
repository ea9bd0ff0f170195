"""Ops that have no integer form, and why. Elementwise ones are fine as unary functions.

Tests: tests/unit/passes/quantize/test_every_op.py
"""

from __future__ import annotations

from rlx.ops.control import If, Scan, While
from rlx.ops.real import (
    RealBitcast,
    RealCompare,
    RealCumprod,
    RealCumsum,
    RealPow,
    RealRandomBits,
    RealRandomNormal,
    RealRandomUniform,
    RealReduceProd,
    RealRemainder,
    RealScatter,
    RealTakeAlong,
    RealTopK,
    RealWhere,
)
from rlx.passes.quantize.rules.call import RULES

RULES.refuse(
    "it combines computed values in a way that no integer op does",
    RealCompare, RealPow, RealRemainder, RealWhere,
)  # fmt: skip
RULES.refuse("no integer op computes running sums or products", RealCumprod, RealCumsum)
RULES.refuse("no integer op multiplies along an axis", RealReduceProd)
RULES.refuse("no integer op reads or writes at computed places", RealScatter, RealTakeAlong)
RULES.refuse("no integer op sorts", RealTopK)
RULES.refuse("no integer op makes random numbers", RealRandomBits, RealRandomNormal,
             RealRandomUniform)  # fmt: skip
RULES.refuse("the bits of quantized values are not the bits of the floats", RealBitcast)
RULES.refuse("integer networks have no branches, and its condition is computed", If)
RULES.refuse("integer networks have no loops, and its length is computed or too large to unroll it",
             Scan, While)  # fmt: skip
