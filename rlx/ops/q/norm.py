"""Normalization on integers.

Tests: tests/unit/frontends/tflite/ops/test_norm.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import Along, Op, QuantParams, TensorType, Traits
from rlx.ops.numerics.fixed_point import INT32_MAX
from rlx.ops.numerics.roots import l2_normalized
from rlx.ops.q.common import check_int8, check_zero_point

if TYPE_CHECKING:
    from rlx.ir import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class QL2Norm(Op):
    """Vectors along the last axis, divided by their lengths, in fixed point.

    ``y = clamp(128 * (x - x_zero_point) / sqrt(sum of (x - x_zero_point)^2), -128, 127)``

    Operand: ``x`` int8[..., C] whose sum of squares fits int32. Result: int8[..., C] with scale
    1/128 and zero point 0; a vector of zeros stays one.

    Attributes:
        x_zero_point: Zero point of ``x``.

    Source: tflite-micro ``reference_integer_ops::L2Normalization``.
    """

    name: ClassVar[str] = "q.l2_norm"
    traits: ClassVar[Traits] = Traits(along=Along.LAST)
    x_zero_point: int

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's shape in int8 with scale 1/128 and zero point 0."""
        (x,) = operands
        check_int8(self, "input", x)
        check_zero_point(self, self.x_zero_point)
        if x.rank < 1:
            raise self.refuse(f"input needs a last axis, got {x}")
        count = x.shape[-1]
        if isinstance(count, int) and count * (128 + abs(self.x_zero_point)) ** 2 > INT32_MAX:
            raise self.refuse(f"a sum of {count} squares does not fit int32")
        return (TensorType(x.shape, x.dtype, QuantParams.per_tensor(1 / 128, 0)),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the normalized vectors."""
        (x,) = operands
        return (l2_normalized(x, self.x_zero_point),)
