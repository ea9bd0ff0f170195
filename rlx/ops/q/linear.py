"""Dense layers and matrix products on integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Along, DType, Op, TensorType, Traits
from rlx.ops.numerics.fixed_point import INT32_MAX, Rescale
from rlx.ops.numerics.products import exact_matmul, exact_product
from rlx.ops.q.common import (
    PairOp,
    check_activation,
    check_bias,
    check_clamp,
    check_layer_rescale,
    check_weights,
    check_zero_point,
    to_int8,
    to_width,
)
from rlx.ops.q.prepared.linear import prepare_dense
from rlx.ops.shapes import broadcast_shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array
    from rlx.ir.op import Evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class QDense(Op):
    """Dense layer: ``y = clamp(rescale((x - x_zero_point) @ w.T + bias) + zero_point)``.

    Operands: ``x`` int8[..., K], ``w`` int8|int4|int2[N, K], ``bias`` int32[N].
    Result: int8[..., N].

    ``x`` may be int16 with the zero point 0, and the result is int16 then. With a wide ``rescale``
    (:meth:`Rescale.wide`) sums and ``bias`` are int64; with one that rounds twice they are int32,
    and wrap around.

    Attributes:
        x_zero_point: Zero point of ``x``.
        rescale: From accumulator scale to result scale, one factor or one for each of N.
        zero_point: Zero point of the result.
        low: Minimum of the result (a fused activation raises it).
        high: Maximum of the result.

    Source: tflite-micro ``fully_connected`` reference kernels, int8 and int16.
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
        """Return [..., N] of the input's element type."""
        x, w, bias = operands
        check_activation(self, "input", x)
        check_weights(self, w, rank=2)
        outputs, inner = w.static_shape
        if x.rank < 1 or x.shape[-1] != inner:
            raise self.refuse(f"weights {w} need an input with {inner} channels last, got {x}")
        check_bias(self, bias, outputs, wide=x.dtype is DType.I16 and self.rescale.is_wide)
        check_layer_rescale(self, self.rescale, outputs, x.dtype)
        check_zero_point(self, self.x_zero_point, self.zero_point, dtype=x.dtype)
        check_clamp(self, self.low, self.high, x.dtype)
        return (TensorType((*x.shape[:-1], outputs), x.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized result."""
        x, w, bias = operands
        accumulator = exact_matmul(x, w.T, x_zero_point=self.x_zero_point, bias=bias)
        scaled = self.rescale.apply(accumulator)
        return (to_width(scaled, self.zero_point, self.low, self.high, x),)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return the fast form if weights and bias are constant."""
        _, w, bias = constants
        return self.evaluate if w is None or bias is None else prepare_dense(self, w, bias)


@dataclass(frozen=True, slots=True, kw_only=True)
class QMatmul(PairOp):
    """Matrix product of the last two axes of two quantized tensors; the axes before them broadcast.

    ``z[..., m, n] = clamp(rescale(sum over k of (x[..., m, k] - x_zero_point)
    * (y[..., k, n] - y_zero_point)) + zero_point)``

    Operands: ``x`` int8[..., M, K], ``y`` int8[..., K, N]. Result: int8[..., M, N].

    Attributes:
        x_zero_point: Zero point of ``x``.
        y_zero_point: Zero point of ``y``.
        rescale: One factor: product of the operands' scales over the result's scale.
        zero_point: Zero point of the result.
        low: Minimum of the result.
        high: Maximum of the result.

    Source: tflite-micro ``reference_ops::BatchMatMul`` for int8.
    """

    name: ClassVar[str] = "q.matmul"
    traits: ClassVar[Traits] = Traits(clamps=True)

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return int8[..., M, N]."""
        x, y = operands
        self.check_pair(x, y)
        if x.rank < 2 or y.rank < 2:
            raise self.refuse(f"expected operands of at least 2 dimensions, got {x} and {y}")
        inner = x.shape[-1]
        if inner != y.shape[-2]:
            raise self.refuse(f"inner dimensions differ: {inner} of {x} and {y.shape[-2]} of {y}")
        if isinstance(inner, int) and inner * self.product_bound > INT32_MAX:
            raise self.refuse(f"a sum of {inner} products does not fit int32")
        stacks = (t.with_shape(t.shape[:-2]) for t in operands)
        shape = (*broadcast_shapes(self, *stacks), x.shape[-2], y.shape[-1])
        return (TensorType(shape, DType.I8),)

    @property
    def product_bound(self) -> int:
        """Largest magnitude of a product of two centred elements."""
        return (128 + abs(self.x_zero_point)) * (128 + abs(self.y_zero_point))

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized product."""
        x, y = operands
        x_centred = x.astype(np.int16) - np.int16(self.x_zero_point)
        y_centred = y.astype(np.int16) - np.int16(self.y_zero_point)
        sums = exact_product(x_centred, y_centred, self.product_bound)
        return (to_int8(self.rescale.apply(sums), self.zero_point, self.low, self.high),)
