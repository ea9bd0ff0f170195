"""How reals become integers: parameters of activations, and schemes of weights.

Activations have ``rlx.ir.QuantParams`` with one scale, a float32 number, and an int8 zero point
(``rlx.quant.observers.params_of`` makes them of a range).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from rlx.errors import QuantizationError
from rlx.ir import DType

if TYPE_CHECKING:
    from rlx.ir import QuantParams

Bits: TypeAlias = Literal[8, 4, 2]

_DTYPES: dict[int, DType] = {8: DType.I8, 4: DType.I4, 2: DType.I2}


@dataclass(frozen=True, slots=True)
class WeightScheme:
    """How the weights of a layer become integers. Zero is 0 always.

    Attributes:
        bits: Bits of a weight: 8 (-127 to 127), 4 (-7 to 7) or 2 (ternary, -1 to 1).
        per_channel: Whether each output channel has a scale of its own.
    """

    bits: Bits = 8
    per_channel: bool = True

    def __post_init__(self) -> None:
        if self.bits not in _DTYPES:
            raise QuantizationError(
                f"weights of {self.bits!r} bits are not known", hint="use 8, 4 or 2 bits"
            )

    @property
    def dtype(self) -> DType:
        """Element type of the quantized values."""
        return _DTYPES[self.bits]


def activation_problem(params: QuantParams) -> str | None:
    """Return why parameters cannot be those of an int8 activation, or None."""
    if params.axis is not None:
        return "has a scale for each index of an axis, want one scale"
    if not -128 <= params.zero_point[0] <= 127:
        return f"has the zero point {params.zero_point[0]}, want one from -128 to 127"
    if not 0 < np.float32(params.scale[0]) < np.inf:
        return f"has the scale {params.scale[0]!r}, which is no float32 number above 0"
    return None


def with_float32_scale(params: QuantParams) -> QuantParams:
    """Return parameters with their scales rounded to float32."""
    return replace(params, scale=tuple(float(np.float32(s)) for s in params.scale))


def range_of(params: QuantParams) -> tuple[float, float]:
    """Return the smallest and the largest number that int8 values of one scale stand for."""
    (scale,), (zero_point,) = params.scale, params.zero_point
    return scale * (-128 - zero_point), scale * (127 - zero_point)
