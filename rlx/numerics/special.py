"""Functions of real numbers that NumPy lacks."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev

if TYPE_CHECKING:
    from collections.abc import Callable

Float64: TypeAlias = npt.NDArray[np.float64]

# From here on erf rounds to 1 in float64.
_ERF_END = 6.0
# Degrees from which on more terms only add rounding errors; a test measures the result.
_ERF_DEGREE = 10
_ERFCX_DEGREE = 18


def erf(x: npt.NDArray[np.floating[Any]]) -> Float64:
    """Return the error function of ``x``, to 4e-15 absolutely.

    Below 1 a Chebyshev series of ``erf(x) / x`` in ``x^2``; above, ``1 - exp(-x^2) * s(x)`` with
    a series ``s`` for the scaled complement. Both are interpolated from ``math.erf`` at first
    use, so there are no coefficients to mistype.
    """
    wide = x.astype(np.float64)
    magnitude = np.minimum(np.abs(wide), _ERF_END)
    square = magnitude * magnitude
    near = magnitude * chebyshev.chebval(2.0 * np.minimum(square, 1.0) - 1.0, _erf_series())
    place = _erfcx_place(np.maximum(magnitude, 1.0))
    far = 1.0 - np.exp(-square) * chebyshev.chebval(place, _erfcx_series())
    result: Float64 = np.copysign(np.where(magnitude < 1.0, near, far), wide)
    # The minimum above hides NaN on one side only; say it plainly.
    return np.where(np.isnan(wide), wide, result)


def _erfcx_place(x: Float64) -> Float64:
    """Map [1, 6] to [-1, 1] so that the scaled complement is nearly linear in the result."""
    low, high = 1.0 / (1.0 + 2.0), 1.0 / (_ERF_END + 2.0)
    return (2.0 / (x + 2.0) - low - high) / (low - high)


def _erfcx_argument(place: float) -> float:
    """Invert ``_erfcx_place``."""
    low, high = 1.0 / (1.0 + 2.0), 1.0 / (_ERF_END + 2.0)
    return 2.0 / (place * (low - high) + low + high) - 2.0


@functools.cache
def _erf_series() -> Float64:
    """Return the series of ``erf(x) / x`` over ``t = 2 x^2 - 1``."""

    def ratio(t: float) -> float:
        x = math.sqrt((t + 1.0) / 2.0)
        return math.erf(x) / x if x > 0.0 else 2.0 / math.sqrt(math.pi)

    return _interpolate(ratio, _ERF_DEGREE)


@functools.cache
def _erfcx_series() -> Float64:
    """Return the series of ``exp(x^2) erfc(x)`` over ``_erfcx_place(x)``."""

    def scaled(place: float) -> float:
        x = _erfcx_argument(place)
        return math.exp(x * x) * math.erfc(x)

    return _interpolate(scaled, _ERFCX_DEGREE)


def _interpolate(function: Callable[[float], float], degree: int) -> Float64:
    """Return the Chebyshev series of ``function`` on [-1, 1]."""
    # The Chebyshev points of the first kind, at which the series meets the function.
    angles = np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1)
    values = np.array([function(math.cos(a)) for a in angles])
    series: Float64 = np.cos(np.outer(np.arange(degree + 1), angles)) @ values
    series *= 2.0 / (degree + 1)
    series[0] /= 2.0
    return series
