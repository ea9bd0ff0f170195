"""Matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Op, TensorType, Traits
from rlx.ops.real.common import check_number, narrow, widen
from rlx.ops.shapes import broadcast_shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array
    from rlx.ir.op import Evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class RealMatmul(Op):
    """Matrix product of the last two axes; the axes before them broadcast.

    ``z[..., m, n] = sum over k of x[..., m, k] * y[..., k, n]``

    Operands: ``x`` [..., M, K], ``y`` [..., K, N] of one element type. Result: [..., M, N].
    """

    name: ClassVar[str] = "real.matmul"
    traits: ClassVar[Traits] = Traits()
    operand_count: ClassVar[int | tuple[int, int | None]] = 2

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the type of the product."""
        x, y = operands
        check_number(self, x, y)
        if x.rank < 2 or y.rank < 2:
            raise self.refuse(f"expected operands of at least 2 dimensions, got {x} and {y}")
        if x.shape[-1] != y.shape[-2]:
            raise self.refuse(
                f"inner dimensions differ: {x.shape[-1]} of {x} and {y.shape[-2]} of {y}"
            )
        stacks = (t.with_shape(t.shape[:-2]) for t in operands)
        shape = (*broadcast_shapes(self, *stacks), x.shape[-2], y.shape[-1])
        return (TensorType(shape, x.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the product."""
        with np.errstate(all="ignore"):
            return self._compute(*operands)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return ``evaluate`` without its guard against warnings."""
        del constants
        return self._compute

    def _compute(self, *operands: Array) -> tuple[Array, ...]:
        x, y = operands
        return (narrow(np.matmul(widen(x), widen(y)), x.dtype),)
