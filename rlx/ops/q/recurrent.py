"""Layers with a state that outlives a run: SVDF."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Along, DType, Op, TensorType, Traits
from rlx.ops.numerics.fixed_point import Rescale, wrap_int32
from rlx.ops.numerics.products import exact_matmul
from rlx.ops.q.common import (
    check_bias,
    check_clamp,
    check_int8,
    check_int16,
    check_rescale,
    check_weights,
    check_zero_point,
    to_int8,
    to_int16,
)

if TYPE_CHECKING:
    from rlx.ir import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class QSvdfState(Op):
    """State of an SVDF layer after one more input: the last ``M`` results of ``N`` filters.

    ``z[b, n, m] = state[b, n, m + 1]`` except for the newest result,
    ``z[b, n, M - 1] = clamp16(rescale((x[b] - x_zero_point) @ w[n]))``.

    Operands: ``x`` int8[B, K], ``state`` int16[B, N * M], ``w`` int8[N, K].
    Result: int16[B, N * M].

    Attributes:
        x_zero_point: Zero point of ``x``.
        rescale: One factor: from accumulator scale to the scale of the state.

    Source: tflite-micro ``EvalIntegerSvdfReference``.
    """

    name: ClassVar[str] = "q.svdf_state"
    traits: ClassVar[Traits] = Traits()
    operand_count: ClassVar[int | tuple[int, int | None]] = 3
    x_zero_point: int
    rescale: Rescale

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the type of the state."""
        x, state, w = operands
        check_int8(self, "input", x, rank=2)
        check_int16(self, "state", state, rank=2)
        check_weights(self, w, rank=2)
        filters, inner = w.static_shape
        if x.shape[1] != inner:
            raise self.refuse(f"weights {w} need an input with {inner} channels last, got {x}")
        if state.shape[0] != x.shape[0] or state.static_shape[1] % filters:
            raise self.refuse(f"{filters} filters of input {x} do not have the state {state}")
        check_rescale(self, self.rescale, 1)
        check_zero_point(self, self.x_zero_point)
        return (state.with_quant(None),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the next state."""
        x, state, w = operands
        filtered = exact_matmul(x, w.T, x_zero_point=self.x_zero_point)
        following = np.roll(state.reshape(len(state), len(w), -1), -1, axis=2)
        following[:, :, -1] = to_int16(self.rescale.apply(filtered))
        return (following.reshape(state.shape),)


@dataclass(frozen=True, slots=True, kw_only=True)
class QSvdf(Op):
    """Output of an SVDF layer: each unit weights the last ``M`` results of ``R`` filters.

    ``y[b, u] = clamp(rescale(bias[u] + sum over r, m of state[b, u * R + r, m] * w[u * R + r, m])
    + zero_point)``. The sum wraps around at the ends of int32.

    Operands: ``state`` int16[B, U * R * M], ``w`` int16[U * R, M], ``bias`` int32[U].
    Result: int8[B, U].

    Attributes:
        rescale: One factor: from accumulator scale to result scale.
        zero_point: Zero point of the result.
        low: Minimum of the result.
        high: Maximum of the result.

    Source: tflite-micro ``EvalIntegerSvdfReference``.
    """

    name: ClassVar[str] = "q.svdf"
    traits: ClassVar[Traits] = Traits(clamps=True, along=Along.LAST)
    operand_count: ClassVar[int | tuple[int, int | None]] = 3
    rescale: Rescale
    zero_point: int
    low: int = -128
    high: int = 127

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return int8[B, U]."""
        state, w, bias = operands
        check_int16(self, "state", state, rank=2)
        check_int16(self, "weights", w, rank=2)
        filters, memory = w.static_shape
        if state.shape[1] != filters * memory:
            raise self.refuse(f"weights {w} need a state of {filters * memory} values, got {state}")
        units = bias.static_shape[0] if bias.rank == 1 else filters
        check_bias(self, bias, units)
        if filters % units:
            raise self.refuse(f"{filters} filters cannot be shared by {units} units")
        check_rescale(self, self.rescale, 1)
        check_zero_point(self, self.zero_point)
        check_clamp(self, self.low, self.high)
        return (TensorType((state.shape[0], units), DType.I8),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized result."""
        state, w, bias = operands
        weighted = state.reshape(len(state), *w.shape).astype(np.int64) * w.astype(np.int64)
        sums = weighted.reshape(len(state), len(bias), -1).sum(axis=2) + bias.astype(np.int64)
        scaled = self.rescale.apply(wrap_int32(sums))
        return (to_int8(scaled, self.zero_point, self.low, self.high),)
