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

Floats: TypeAlias = npt.NDArray[np.floating[Any]]

# Numbers that are computed at a time, so that temporaries stay in the cache.
_BLOCK = 1 << 13

# From here on erf rounds to 1, and the complement underflows the precision of the type.
_ERF_END = 6.0
# Degrees of the two polynomials: more terms only add rounding errors. A test measures the result.
_DEGREES = {np.dtype(np.float32): (6, 8), np.dtype(np.float64): (11, 16)}


def erf(x: Floats) -> Floats:
    """Return the error function of float32 or float64 numbers, to a few units in the last place.

    Below 1 a polynomial for ``erf(x) / x`` in ``x^2``; above, ``1 - exp(-x^2) * p(x)`` with a
    polynomial ``p`` for the scaled complement. Both are interpolated from ``math.erf`` at first
    use, so there are no coefficients to mistype.
    """
    result = np.empty_like(x, order="C")
    numbers, results = x.reshape(-1), result.reshape(-1)
    for start in range(0, x.size, _BLOCK):
        results[start : start + _BLOCK] = _erf_block(numbers[start : start + _BLOCK])
    return result


def _erf_block(x: Floats) -> Floats:
    """Return the error function of some numbers."""
    near_series, far_series = _series(x.dtype)
    magnitude = np.abs(x)
    square = magnitude * magnitude
    near = _horner(near_series, np.minimum(square, 1) * 2 - 1)
    near *= magnitude
    far = _horner(far_series, _position(np.clip(magnitude, 1, _ERF_END)))
    far *= np.exp(-square)
    return np.copysign(np.where(magnitude < 1, near, 1 - far), x)


def _horner(coefficients: Floats, t: Floats) -> Floats:
    """Return the polynomial with ``coefficients``, the highest one first, at ``t``."""
    total = np.full_like(t, coefficients[0])
    for coefficient in coefficients[1:]:
        total *= t
        total += coefficient
    return total


# 1 / (x + 2) is nearly linear in the scaled complement; these are its ends over [1, _ERF_END].
_FIRST, _LAST = 1.0 / 3.0, 1.0 / (_ERF_END + 2.0)


def _position(x: Floats) -> Floats:
    """Map [1, _ERF_END] to [1, -1]."""
    return (2.0 / (x + 2.0) - (_FIRST + _LAST)) / (_FIRST - _LAST)


@functools.cache
def _series(dtype: np.dtype[Any]) -> tuple[Floats, Floats]:
    """Return the polynomials below and above 1, the highest coefficients first."""

    def ratio(t: float) -> float:
        x = math.sqrt((t + 1.0) / 2.0)
        return math.erf(x) / x

    def scaled_complement(t: float) -> float:
        x = 2.0 / (t * (_FIRST - _LAST) + _FIRST + _LAST) - 2.0
        return math.exp(x * x) * math.erfc(x)

    near, far = _DEGREES[dtype]
    below, above = _interpolate(ratio, near), _interpolate(scaled_complement, far)
    return below.astype(dtype), above.astype(dtype)


def _interpolate(function: Callable[[float], float], degree: int) -> Floats:
    """Return the polynomial that equals ``function`` at the Chebyshev points of [-1, 1]."""
    count = degree + 1
    # Multiples of a quarter turn over count; whole turns are taken off while they are integers.
    turns = np.outer(np.arange(count), 2 * np.arange(count) + 1) % (4 * count)
    cosines = np.cos(np.pi / 2 * turns / count)
    values = np.array([function(float(c)) for c in cosines[1]])
    series = cosines @ values * 2.0 / count
    series[0] /= 2.0
    polynomial: Floats = chebyshev.cheb2poly(series)[::-1]
    return polynomial
