"""Layers with a state that outlives a run: SVDF and LSTM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from rlx.ir import Along, DType, Op, TensorType, Traits
from rlx.ops.numerics.fixed_point import Rescale, Rounding, wrap_int32
from rlx.ops.numerics.gates import sigmoid16, tanh16
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
    from rlx.ops.numerics.fixed_point import Int64

LSTM_POWERS: Final = (-30, 2)
"""Minimum and maximum of the power of two of a cell state's scale."""


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
        size = state.shape[1]
        is_divisible = isinstance(size, int) and filters > 0 and size % filters == 0
        if state.shape[0] != x.shape[0] or not is_divisible:
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
        if not units or filters % units:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _QLstm(Op):
    """Base of the ops of an LSTM step: gates of an input and of the hidden state.

    The argument of gate ``g`` is ``clamp16(clamp16(input_rescale[g]((x - x_zero_point) @ w[g].T +
    bias[g])) + clamp16(recurrent_rescale[g]((h - h_zero_point) @ r[g].T)))``, in units of 2^-12.
    """

    operand_count: ClassVar[int | tuple[int, int | None]] = 6
    gates: ClassVar[int]
    x_zero_point: int
    h_zero_point: int
    input_rescale: Rescale
    recurrent_rescale: Rescale

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return int16[B, S]."""
        x, h, c, w, r, bias = operands
        check_int8(self, "input", x, rank=2)
        check_int8(self, "hidden state", h, rank=2)
        check_int16(self, "cell state", c, rank=2)
        check_weights(self, w, rank=2)
        check_weights(self, r, rank=2)
        batch, units = c.shape
        if not isinstance(units, int):
            raise self.refuse(f"expected a number of units, got the cell state {c}")
        rows = self.gates * units
        expected = ((batch, units), (rows, x.shape[1]), (rows, units))
        if (h.shape, w.shape, r.shape) != expected or x.shape[0] != batch:
            raise self.refuse(f"input {x}, states {h} and {c}, weights {w} and {r} do not fit")
        check_bias(self, bias, rows)
        check_zero_point(self, self.x_zero_point, self.h_zero_point)
        for rescale in self._rescales():
            if rescale.rounding is not Rounding.DOUBLE:
                raise self.refuse(f"rounds twice, not {rescale.rounding.value}")
        for rescale in (self.input_rescale, self.recurrent_rescale):
            if rescale.channels != self.gates:
                raise self.refuse(f"expected {self.gates} factors, got {rescale.channels}")
        return (TensorType(c.shape, DType.I16),)

    def _rescales(self) -> tuple[Rescale, ...]:
        """Return every scaling of the op."""
        return tuple(v for v in self.attributes().values() if isinstance(v, Rescale))

    def _arguments(self, x: Array, h: Array, w: Array, r: Array, bias: Array) -> Int64:
        """Return the arguments of the gates, [gates, B, S]."""
        units = h.shape[1]
        rows = [gate for gate in range(self.gates) for _ in range(units)]
        of_input = exact_matmul(x, w.T, x_zero_point=self.x_zero_point, bias=bias)
        of_state = exact_matmul(h, r.T, x_zero_point=self.h_zero_point)
        total = to_int16(self.input_rescale.take(rows).apply(of_input)).astype(np.int64)
        total += to_int16(self.recurrent_rescale.take(rows).apply(of_state))
        clamped = to_int16(total).astype(np.int64)
        return clamped.reshape(len(x), self.gates, units).transpose(1, 0, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class QLstmCell(_QLstm):
    """Cell state of an LSTM layer after one more input.

    ``z = clamp16(clamp16(forget_rescale(sigmoid(f) * c)) + clamp16(update_rescale(sigmoid(i) *
    tanh(g))))``, clamped to ``[-clip, clip]``, for the gates ``i``, ``f`` and ``g``.

    Operands: ``x`` int8[B, K], hidden state ``h`` int8[B, S], cell state ``c`` int16[B, S], ``w``
    int8[3 * S, K], ``r`` int8[3 * S, S], ``bias`` int32[3 * S]. Result: int16[B, S].

    Attributes:
        x_zero_point: Zero point of ``x``.
        h_zero_point: Zero point of ``h``.
        input_rescale: Three factors, from the sums over ``x`` to units of 2^-12.
        recurrent_rescale: Three factors, from the sums over ``h`` to units of 2^-12.
        forget_rescale: One factor, 2^-15.
        update_rescale: One factor: 2^-30 over the scale of the cell state.
        clip: Bound on the magnitude of the cell state.

    Source: tflite-micro ``LstmStep``.
    """

    name: ClassVar[str] = "q.lstm_cell"
    traits: ClassVar[Traits] = Traits()
    gates: ClassVar[int] = 3
    forget_rescale: Rescale
    update_rescale: Rescale
    clip: int = 32768

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the type of the cell state."""
        check_rescale(self, self.forget_rescale, 1)
        check_rescale(self, self.update_rescale, 1)
        if not 0 <= self.clip <= 32768:
            raise self.refuse(f"expected a bound in [0, 32768], got {self.clip}")
        return _QLstm.infer(self, *operands)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the next cell state."""
        x, h, c, w, r, bias = operands
        i, f, g = self._arguments(x, h, w, r, bias)
        remembered = to_int16(self.forget_rescale.apply(sigmoid16(f) * c.astype(np.int64)))
        added = to_int16(self.update_rescale.apply(sigmoid16(i) * tanh16(g, -12)))
        total = to_int16(remembered.astype(np.int64) + added)
        return (to_int16(np.clip(total.astype(np.int64), -self.clip, self.clip)),)


@dataclass(frozen=True, slots=True, kw_only=True)
class QLstmOutput(_QLstm):
    """Hidden state of an LSTM layer, which is its output, after one more input.

    ``y = clamp(rescale(tanh(c) * sigmoid(o)) + h_zero_point)`` for the gate ``o``.

    Operands: ``x`` int8[B, K], hidden state before ``h`` int8[B, S], new cell state ``c``
    int16[B, S], ``w`` int8[S, K], ``r`` int8[S, S], ``bias`` int32[S]. Result: int8[B, S].

    Attributes:
        x_zero_point: Zero point of ``x``.
        h_zero_point: Zero point of ``h`` and of the result.
        input_rescale: One factor, from the sums over ``x`` to units of 2^-12.
        recurrent_rescale: One factor, from the sums over ``h`` to units of 2^-12.
        power: Power of two that the scale of the cell state is, or nearest to.
        rescale: One factor: 2^-30 over the scale of the result.

    Source: tflite-micro ``LstmStep``.
    """

    name: ClassVar[str] = "q.lstm_output"
    traits: ClassVar[Traits] = Traits()
    gates: ClassVar[int] = 1
    power: int
    rescale: Rescale

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return int8[B, S]."""
        check_rescale(self, self.rescale, 1)
        low, high = LSTM_POWERS
        if not low <= self.power <= high:
            raise self.refuse(f"expected a power in [{low}, {high}], got {self.power}")
        (type_,) = _QLstm.infer(self, *operands)
        return (TensorType(type_.shape, DType.I8),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the next hidden state."""
        x, h, c, w, r, bias = operands
        (o,) = self._arguments(x, h, w, r, bias)
        scaled = self.rescale.apply(tanh16(c.astype(np.int64), self.power) * sigmoid16(o))
        return (to_int8(scaled, self.h_zero_point, -128, 127),)
