"""Softmax on integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import Along, Op, QuantParams, TensorType, Traits
from rlx.ops.numerics.exponential import softmax_by_table, softmax_int8, softmax_table
from rlx.ops.q.common import check_int8

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array
    from rlx.ir.op import Evaluator

# The sum of exponentials is an int32 with 19 fractional bits.
_MAX_COUNT = 2**12 - 1
"""Exponentials of a sum: it has 12 integer bits, and each of them is at most 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QSoftmax(Op):
    """Softmax over the last axis, in fixed point.

    Operand: ``x`` int8[..., C] with C at most 4095. Result: int8[..., C] with scale 1/256 and
    zero point -128. Where the sum of exponentials reaches 512, which TensorFlow Lite Micro stops
    at, every probability is below half a step and becomes -128.

    Attributes:
        multiplier: Q0.31 part of ``beta * scale(x) * 2^26``.
        left_shift: Its power of two, in [0, 30]; differences are scaled to Q5.26.
        diff_min: Differences ``x - max(x)`` below this one have probability 0 (-128 quantized).

    Source: tflite-micro ``reference_ops::Softmax``; gemmlowp ``fixedpoint.h``.
    """

    name: ClassVar[str] = "q.softmax"
    traits: ClassVar[Traits] = Traits(along=Along.LAST)
    multiplier: int
    left_shift: int
    diff_min: int

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's shape in int8 with scale 1/256 and zero point -128."""
        (x,) = operands
        check_int8(self, "input", x)
        if x.rank < 1:
            raise self.refuse(f"input needs a last axis, got {x}")
        count = x.shape[-1]
        if isinstance(count, int) and count > _MAX_COUNT:
            raise self.refuse(f"the sum of more than {_MAX_COUNT} exponentials overflows: {x}")
        if not (0 <= self.multiplier < 2**31 and 0 <= self.left_shift <= 30):
            raise self.refuse(
                f"multiplier {self.multiplier} or left shift {self.left_shift} is out of range"
            )
        if not -(2**31) <= self.diff_min <= 0:
            raise self.refuse(f"diff_min must be an int32 number <= 0, got {self.diff_min}")
        return (TensorType(x.shape, x.dtype, QuantParams.per_tensor(1 / 256, -128)),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized probabilities."""
        (x,) = operands
        return (softmax_int8(x, self.multiplier, self.left_shift, self.diff_min),)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return the form with the exponentials of all differences at hand."""
        del constants
        table = softmax_table(self.multiplier, self.left_shift, self.diff_min)
        return lambda x: (softmax_by_table(x, table),)
