"""Softmax, sigmoid and hyperbolic tangent on int16, by tables with linear interpolation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Along, Op, QuantParams, TensorType, Traits
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.numerics.gates import scaled_gate, sigmoid_of, tanh_of
from rlx.ops.numerics.lookup16 import softmax_int16
from rlx.ops.q.common import check_int16, check_rescale

if TYPE_CHECKING:
    from rlx.ir import Array
    from rlx.ops.numerics.fixed_point import Int64

_MAX_COUNT = 2**16 - 1
"""Exponentials below 2^15 whose sum fits int32."""
_MAX_SHIFT = 15
"""Shift of a factor from which a scaled difference may leave int32."""
_MAX_MULTIPLIER = 2**15 - 1
_MAX_RIGHT = 31
_RESULT = QuantParams.per_tensor(1 / 32768, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class QSoftmax16(Op):
    """Softmax over the last axis, by tables of exponentials and reciprocals.

    Operand: ``x`` int16[..., C] with C at most 65535. Result: int16[..., C] with scale 1/32768.

    Attributes:
        rescale: One factor, rounded twice: ``beta * scale(x)`` over the tables' scale of 10/65535.

    Source: tflite-micro ``SoftmaxInt16``.
    """

    name: ClassVar[str] = "q.softmax16"
    traits: ClassVar[Traits] = Traits(along=Along.LAST)
    rescale: Rescale

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's shape in int16 with scale 1/32768."""
        (x,) = operands
        check_int16(self, "input", x)
        check_rescale(self, self.rescale, 1)
        if self.rescale.rounding is not Rounding.DOUBLE or self.rescale.shift[0] > _MAX_SHIFT:
            raise self.refuse(
                f"expected a factor below 2^15 that is rounded twice, got {self.rescale}"
            )
        if x.rank < 1:
            raise self.refuse(f"input needs a last axis, got {x}")
        count = x.shape[-1]
        if isinstance(count, int) and count > _MAX_COUNT:
            raise self.refuse(f"the sum of more than {_MAX_COUNT} exponentials overflows: {x}")
        return (TensorType(x.shape, x.dtype, _RESULT),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized probabilities."""
        (x,) = operands
        return (np.asarray(softmax_int16(x.astype(np.int64), self.rescale), np.int16),)


@dataclass(frozen=True, slots=True, kw_only=True)
class _QGate(Op):
    """Base of both functions: ``f((x * multiplier + 2^(shift - 1)) >> shift)``, int16 -> int16."""

    traits: ClassVar[Traits] = Traits(elementwise=True, monotone=True)
    multiplier: int
    shift: int

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return int16 of the same shape with scale 1/32768."""
        (x,) = operands
        check_int16(self, "input", x)
        if not (0 <= self.multiplier <= _MAX_MULTIPLIER and 0 <= self.shift <= _MAX_RIGHT):
            raise self.refuse(f"multiplier {self.multiplier} or shift {self.shift} is out of range")
        return (TensorType(x.shape, x.dtype, _RESULT),)

    def scaled(self, x: Array) -> Int64:
        """Return values in units of 2^-12 / 3."""
        return scaled_gate(x.astype(np.int64), self.multiplier, self.shift)


@dataclass(frozen=True, slots=True, kw_only=True)
class QSigmoid16(_QGate):
    """Sigmoid by a table of 256 numbers.

    Operand: ``x`` int16[*]. Result: int16[*] with scale 1/32768.

    Attributes:
        multiplier: Multiplier to units of 2^-12 / 3, at most 15 bits.
        shift: Its right shift.

    Source: tflite-micro ``reference_integer_ops::Logistic`` for int16.
    """

    name: ClassVar[str] = "q.sigmoid16"

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized sigmoids."""
        return (np.asarray(sigmoid_of(self.scaled(operands[0])), np.int16),)


@dataclass(frozen=True, slots=True, kw_only=True)
class QTanh16(_QGate):
    """Hyperbolic tangent by a table of 256 numbers.

    Operand: ``x`` int16[*]. Result: int16[*] with scale 1/32768.

    Attributes:
        multiplier: Multiplier to units of 2^-12 / 3, at most 15 bits.
        shift: Its right shift.

    Source: tflite-micro ``reference_integer_ops::Tanh`` for int16.
    """

    name: ClassVar[str] = "q.tanh16"

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized tangents."""
        return (np.asarray(tanh_of(self.scaled(operands[0])), np.int16),)
