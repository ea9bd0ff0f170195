"""Schemes that turn reals into integers: parameters of activations, and schemes of weights.

Activations have ``rlx.ir.QuantParams`` with one scale, a float32 value, and an int8 zero point
(:func:`params_of` makes them of a range).

Tests: tests/unit/calibration/test_observers.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np

from rlx.ir import DType, QuantParams
from rlx.support.errors import QuantizationError

Bits: TypeAlias = Literal[8, 4, 2]

WIDTHS: Final = (
    "integer networks have weights of 8, 4 or 2 bits, activations of 8 bits and biases of 32 bits;"
    " int16 is not supported"
)
"""Advice about numbers of bits that weights cannot have."""

LEVELS: Final = 256
"""Quantized values of an int8 tensor."""

_MIN_SCALE: Final = float(np.finfo(np.float32).tiny)
"""Smallest scale: the reciprocal of a subnormal float32 may be infinite."""

_DTYPES: dict[int, DType] = {8: DType.I8, 4: DType.I4, 2: DType.I2}


@dataclass(frozen=True, slots=True)
class WeightScheme:
    """Scheme that turns the weights of a layer into integers. Zero is 0 always.

    Attributes:
        bits: Bits of a weight: 8 (-127 to 127), 4 (-7 to 7) or 2 (ternary, -1 to 1).
        per_channel: Whether each output channel has a scale of its own.
    """

    bits: Bits = 8
    per_channel: bool = True

    def __post_init__(self) -> None:
        if self.bits not in _DTYPES:
            raise QuantizationError(f"weights of {self.bits!r} bits are not known", hint=WIDTHS)

    @property
    def dtype(self) -> DType:
        """Element type of the quantized values."""
        return _DTYPES[self.bits]


def params_of(low: float, high: float, *, symmetric: bool = False) -> QuantParams:
    """Return parameters of int8 values that cover ``low`` to ``high`` and zero.

    Zero is exactly representable: it is the zero point. A range without extent (a tensor of zeros)
    gets the scale 1. A symmetric range has the zero point 0.
    """
    low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        return QuantParams.per_tensor(1.0, 0)
    if symmetric:
        return QuantParams.per_tensor(_scale(max(-low, high) / (LEVELS // 2 - 1)), 0)
    scale = _scale((high - low) / (LEVELS - 1))
    zero_point = round(-LEVELS // 2 - low / scale)
    return QuantParams.per_tensor(scale, min(max(zero_point, -LEVELS // 2), LEVELS // 2 - 1))


def _scale(scale: float) -> float:
    """Return a scale as float32 holds it, not so small that divisions by it overflow."""
    limit = float(np.finfo(np.float32).max)
    return float(np.float32(min(max(scale, _MIN_SCALE), limit)))


def activation_problem(params: QuantParams) -> str | None:
    """Return the reason for which parameters do not suit an int8 activation, or None."""
    if params.axis is not None:
        return "has a scale for each index of an axis, expected one scale"
    if not -128 <= params.zero_point[0] <= 127:
        return f"has the zero point {params.zero_point[0]}, expected one from -128 to 127"
    if not 0 < np.float32(params.scale[0]) < np.inf:
        return f"has the scale {params.scale[0]!r}, expected a float32 above 0"
    return None


def with_float32_scale(params: QuantParams) -> QuantParams:
    """Return parameters with their scales rounded to float32."""
    return replace(params, scale=tuple(float(np.float32(s)) for s in params.scale))


def range_of(params: QuantParams) -> tuple[float, float]:
    """Return the smallest and the largest real value that int8 values of one scale represent."""
    (scale,), (zero_point,) = params.scale, params.zero_point
    return scale * (-128 - zero_point), scale * (127 - zero_point)
