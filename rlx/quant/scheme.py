"""How reals become codes: parameters of activations, and schemes of weights.

What the codes of an activation stand for is ``rlx.ir.QuantParams`` with one scale; scales are
float32 numbers, zero points int8 codes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from rlx.errors import QuantizationError
from rlx.ir import DType, QuantParams

Bits: TypeAlias = Literal[8, 4, 2]

_DTYPES: dict[int, DType] = {8: DType.I8, 4: DType.I4, 2: DType.I2}
LEAST_SCALE = 2.0**-100
"""Scales below this are raised to it: products of three of them are still normal numbers."""


@dataclass(frozen=True, slots=True)
class WeightScheme:
    """How the weights of a layer become codes. Zero has the code 0 always.

    Attributes:
        bits: Bits of a weight: 8 (codes -127 to 127), 4 (-7 to 7) or 2 (ternary, -1 to 1).
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
        """Element type of the codes."""
        return _DTYPES[self.bits]

    @property
    def limit(self) -> int:
        """Greatest code; the least one is its negative."""
        return int((1 << (self.bits - 1)) - 1)


def float32_scale(scale: float) -> float:
    """Return a positive scale as the float32 number next to it, at least ``LEAST_SCALE``."""
    return float(np.float32(max(scale, LEAST_SCALE)))


def params_of_range(low: float, high: float, *, symmetric: bool = False) -> QuantParams:
    """Return parameters of int8 codes for reals in [low, high].

    The range is widened to hold 0, which has a code of its own. Of a range of zero width every
    number is 0.

    Args:
        low: Least number.
        high: Greatest number.
        symmetric: Whether the zero point is 0, and the codes run from -127 to 127.

    Raises:
        QuantizationError: An end is no finite number, or they are in wrong order.
    """
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise QuantizationError(
            f"the range from {low!r} to {high!r} cannot be quantized",
            hint="look for samples that hold NaN or infinite numbers",
        )
    low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        return QuantParams.per_tensor(1.0, 0)
    if symmetric:
        return QuantParams.per_tensor(float32_scale(max(-low, high) / 127), 0)
    scale = float32_scale((high - low) / 255)
    zero_point = -128 - math.floor(low / scale + 0.5)
    return QuantParams.per_tensor(scale, min(max(zero_point, -128), 127))


def range_of(params: QuantParams) -> tuple[float, float]:
    """Return the least and the greatest number that int8 codes of one scale stand for."""
    (scale,), (zero_point,) = params.scale, params.zero_point
    return scale * (-128 - zero_point), scale * (127 - zero_point)
