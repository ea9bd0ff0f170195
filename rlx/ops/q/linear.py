"""Dense layers on integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import Along, DType, Op, TensorType, Traits
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.numerics.products import exact_matmul
from rlx.ops.q.common import (
    check_bias,
    check_clamp,
    check_int8,
    check_rescale,
    check_weights,
    check_zero_point,
    to_int8,
)
from rlx.ops.q.prepared.linear import prepare_dense

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array
    from rlx.ir.op import Evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class QDense(Op):
    """Dense layer: ``y = clamp(rescale((x - x_zero_point) @ w.T + bias) + zero_point)``.

    Operands: ``x`` int8[..., K], ``w`` int8|int4|int2[N, K], ``bias`` int32[N].
    Result: int8[..., N].

    Attributes:
        x_zero_point: Zero point of ``x``.
        rescale: From accumulator scale to result scale, one factor or one for each of N.
        zero_point: Zero point of the result.
        low: Minimum of the result (a fused activation raises it).
        high: Maximum of the result.

    Source: tflite-micro ``fully_connected`` reference kernel, int8.
    """

    name: ClassVar[str] = "q.dense"
    traits: ClassVar[Traits] = Traits(clamps=True, along=Along.LAST)
    operand_count: ClassVar[int | tuple[int, int | None]] = 3
    x_zero_point: int
    rescale: Rescale
    zero_point: int
    low: int = -128
    high: int = 127

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return int8[..., N]."""
        x, w, bias = operands
        check_int8(self, "input", x)
        check_weights(self, w, rank=2)
        outputs, inner = w.static_shape
        if x.rank < 1 or x.shape[-1] != inner:
            raise self.refuse(f"weights {w} need an input with {inner} channels last, got {x}")
        check_bias(self, bias, outputs)
        check_rescale(self, self.rescale, outputs, in_float32=True)
        check_zero_point(self, self.x_zero_point, self.zero_point)
        check_clamp(self, self.low, self.high)
        return (TensorType((*x.shape[:-1], outputs), DType.I8),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized result."""
        x, w, bias = operands
        accumulator = exact_matmul(x, w.T, x_zero_point=self.x_zero_point, bias=bias)
        scaled = self.rescale.apply(accumulator)
        return (to_int8(scaled, self.zero_point, self.low, self.high),)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return the fast form if weights and bias are constant."""
        _, w, bias = constants
        return self.evaluate if w is None or bias is None else prepare_dense(self, w, bias)
