"""Change of the element type of quantized values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import DType, Op, TensorType, Traits
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q.common import CODE_RANGE, check_rescale

if TYPE_CHECKING:
    from rlx.ir import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class QConvert(Op):
    """Quantized values in another element type.

    ``y = saturate(rescale(x - x_zero_point) + zero_point)``.

    Where both sides are int8 it is ``q.requantize``.

    Operand: ``x`` int8[*], uint8[*] or int16[*]. Result: [*] of ``dtype``.

    Attributes:
        x_zero_point: Zero point of ``x``.
        rescale: One factor: scale of ``x`` over scale of the result.
        zero_point: Zero point of the result.
        dtype: Element type of the result: int8, uint8 or int16.

    Source: tflite-micro ``reference_ops::Requantize``.
    """

    name: ClassVar[str] = "q.convert"
    traits: ClassVar[Traits] = Traits(elementwise=True, monotone=True)
    x_zero_point: int
    rescale: Rescale
    zero_point: int
    dtype: DType

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the same shape with the new element type."""
        (x,) = operands
        if x.dtype not in CODE_RANGE or self.dtype not in CODE_RANGE:
            raise self.refuse(f"converts among i8, u8 and i16, got {x} to {self.dtype.value}")
        if x.dtype is self.dtype is DType.I8:
            raise self.refuse("input and result are i8", hint="use q.requantize")
        check_rescale(self, self.rescale, 1)
        for zero_point, dtype in ((self.x_zero_point, x.dtype), (self.zero_point, self.dtype)):
            low, high = CODE_RANGE[dtype]
            if not low <= zero_point <= high:
                raise self.refuse(
                    f"expected a zero point of {dtype.value} in [{low}, {high}], got {zero_point}"
                )
        return (TensorType(x.shape, self.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the values in the new type."""
        (x,) = operands
        scaled = self.rescale.apply(x.astype(np.int64) - self.x_zero_point)
        values = np.clip(scaled + self.zero_point, *CODE_RANGE[self.dtype])
        return (np.asarray(values, self.dtype.numpy),)
