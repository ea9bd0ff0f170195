"""Effect of each op on the error of its operands: the classes of a precision policy.

Tests: tests/unit/passes/test_precision.py
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from rlx.ir import RuleTable
from rlx.ops import real

if TYPE_CHECKING:
    from rlx.ir import Op


class OpClass(StrEnum):
    """A class of ops.

    ``COMPUTE`` multiplies and sums: nearly all of a network's arithmetic. ``REDUCTION`` brings many
    elements into one. ``ELEMENTWISE`` functions are bounded or as large as their operands;
    ``SENSITIVE`` ones make errors of their operands larger, or leave the range of a narrow type.
    ``DATA_MOVEMENT`` moves or picks elements and rounds none. ``BOUNDARY`` ops are where floats
    become integers, booleans or indices, and the other way, and all ops of other levels than
    ``real``.
    """

    COMPUTE = "compute"
    REDUCTION = "reduction"
    ELEMENTWISE = "elementwise"
    SENSITIVE = "sensitive"
    DATA_MOVEMENT = "data-movement"
    BOUNDARY = "boundary"


CLASSES: RuleTable[OpClass] = RuleTable("precision")
"""The class of each ``real.*`` op."""

CLASSES.rule(real.RealMatmul, real.RealConv)(OpClass.COMPUTE)
CLASSES.rule(
    real.RealAveragePool, real.RealCumprod, real.RealCumsum, real.RealReduceMax,
    real.RealReduceMean, real.RealReduceMin, real.RealReduceProd, real.RealReduceSum,
)(OpClass.REDUCTION)  # fmt: skip
CLASSES.rule(
    real.RealAbs, real.RealAdd, real.RealAtan, real.RealBitAnd, real.RealBitOr, real.RealBitXor,
    real.RealCeil, real.RealDiv, real.RealErf, real.RealFloor, real.RealMaximum,
    real.RealMinimum, real.RealMul, real.RealNeg, real.RealRound, real.RealShiftLeft,
    real.RealShiftRight, real.RealSigmoid, real.RealSign, real.RealSqrt, real.RealSub,
    real.RealTanh, real.RealWhere,
)(OpClass.ELEMENTWISE)  # fmt: skip
CLASSES.rule(
    real.RealAcos, real.RealAsin, real.RealCos, real.RealExp, real.RealExpm1, real.RealLog,
    real.RealLog1p, real.RealPow, real.RealRemainder, real.RealRsqrt, real.RealSin,
    real.RealTan,
)(OpClass.SENSITIVE)  # fmt: skip
CLASSES.rule(
    real.RealBroadcastTo, real.RealConcat, real.RealGather, real.RealMaxPool, real.RealPad,
    real.RealReshape, real.RealReverse, real.RealScatter, real.RealSlice, real.RealTakeAlong,
    real.RealTranspose,
)(OpClass.DATA_MOVEMENT)  # fmt: skip
CLASSES.rule(
    real.RealArgmax, real.RealArgmin, real.RealBitcast, real.RealCast, real.RealCompare,
    real.RealDequantize, real.RealQuantize, real.RealRandomBits, real.RealRandomNormal,
    real.RealRandomUniform, real.RealTopK,
)(OpClass.BOUNDARY)  # fmt: skip


def class_of(op: type[Op]) -> OpClass:
    """Return the class of an op; BOUNDARY for those of other levels than ``real``."""
    if op in CLASSES:
        return CLASSES[op]
    return OpClass.BOUNDARY
