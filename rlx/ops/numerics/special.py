"""Functions of floats that NumPy lacks."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Floats: TypeAlias = npt.NDArray[np.floating[Any]]

_BLOCK_NUMBERS = 1 << 14
"""Numbers that are computed at a time, so that temporaries stay in the cache."""

ERF_SCRATCH: Final = 4
"""Scratch memory of ``erf_into``, in elements for each element of a block."""

# From here on erf rounds to 1 in float64, and the complement underflows its precision.
_ERF_END = 6.0
# Degrees of the two polynomials of float64: more terms only add rounding errors.
_DEGREES = 11, 16

# In float32, atanh(erf(x)) / x as a polynomial in x^2, the highest coefficient first: a fit
# over [0, 3.92], weighted by the effect of an error on erf. A test measures the result.
_SINGLE = tuple(
    np.float32(c)
    for c in (
        5.426025406762847e-09, 2.745816196636497e-08, -4.793437256012112e-06,
        8.45911490614526e-05, -0.0006148258689790964, -0.0001953012979356572,
        0.1027698665857315, 1.128379225730896,
    )
)  # fmt: skip
_SINGLE_END = np.float32(3.92**2)
"""Square from which the polynomial is not needed: erf rounds to 1."""


def erf(x: Floats) -> Floats:
    """Return the error function of float32 or float64 values, to a few units in the last place.

    In float32 it is ``tanh(x * p(x^2))`` with a polynomial ``p``: where erf is flat, so is tanh,
    and errors of the polynomial vanish. In float64, below 1 a polynomial for ``erf(x) / x`` in
    ``x^2``; above, ``1 - exp(-x^2) * p(x)`` with a polynomial ``p`` for the scaled complement. Both
    are interpolated from ``math.erf`` at first use.
    """
    result = np.empty_like(x, order="C")
    numbers, results = x.reshape(-1), result.reshape(-1)
    scratch = np.empty((ERF_SCRATCH, min(x.size, _BLOCK_NUMBERS)), x.dtype)
    mask = np.empty(scratch.shape[1], np.bool_)
    for block in erf_blocks(x.size):
        size = block.stop - block.start
        erf_into(numbers[block], results[block], scratch[:, :size], mask[:size])
    return result


def erf_blocks(size: int) -> Iterator[slice]:
    """Yield the parts in which ``size`` values are computed."""
    for start in range(0, size, _BLOCK_NUMBERS):
        yield slice(start, min(start + _BLOCK_NUMBERS, size))


def erf_into(x: Floats, out: Floats, scratch: Floats, mask: npt.NDArray[np.bool_]) -> None:
    """Compute the error function of a block, without allocating.

    Args:
        x: Numbers [n], float32 or float64.
        out: The results; may be ``x``.
        scratch: [ERF_SCRATCH, n] of the same type.
        mask: [n].
    """
    if x.dtype == np.float32:
        _single_into(x, out, *scratch[:2])
    else:
        _double_into(x, out, scratch, mask)


def _single_into(x: Floats, out: Floats, square: Floats, total: Floats) -> None:
    """Compute the error function of float32 values."""
    first, second, *rest = _SINGLE
    np.multiply(x, x, square)
    np.minimum(square, _SINGLE_END, out=square)
    np.multiply(square, first, total)
    np.add(total, second, total)
    for coefficient in rest:
        np.multiply(total, square, total)
        np.add(total, coefficient, total)
    np.multiply(total, x, total)
    np.tanh(total, out)


def _double_into(x: Floats, out: Floats, scratch: Floats, mask: npt.NDArray[np.bool_]) -> None:
    """Compute the error function of float64 values."""
    near_series, far_series = _series()
    magnitude, square, t, near = scratch
    np.abs(x, magnitude)
    np.multiply(magnitude, magnitude, square)
    np.minimum(square, 1, out=t)
    np.multiply(t, 2, t)
    np.subtract(t, 1, t)
    _horner(near_series, t, near)
    np.multiply(near, magnitude, near)
    np.minimum(magnitude, _ERF_END, out=t)
    np.maximum(t, 1, out=t)
    _position(t)
    np.less(magnitude, 1, mask)
    far = magnitude
    _horner(far_series, t, far)
    np.negative(square, square)
    np.exp(square, square)
    np.multiply(far, square, far)
    np.subtract(1, far, far)
    np.copyto(far, near, where=mask)
    np.copysign(far, x, out)


def _horner(coefficients: Floats, t: Floats, total: Floats) -> None:
    """Compute the polynomial with ``coefficients``, the highest one first, at ``t``."""
    total.fill(coefficients[0])
    for coefficient in coefficients[1:]:
        np.multiply(total, t, total)
        np.add(total, coefficient, total)


# 1 / (x + 2) is nearly linear in the scaled complement; these are its ends over [1, _ERF_END].
_FIRST, _LAST = 1.0 / 3.0, 1.0 / (_ERF_END + 2.0)


def _position(x: Floats) -> None:
    """Map [1, _ERF_END] to [1, -1], in place."""
    np.add(x, 2.0, x)
    np.divide(2.0, x, x)
    np.subtract(x, _FIRST + _LAST, x)
    np.divide(x, _FIRST - _LAST, x)


@functools.cache
def _series() -> tuple[Floats, Floats]:
    """Return the polynomials below and above 1, the highest coefficients first."""

    def ratio(t: float) -> float:
        x = math.sqrt((t + 1.0) / 2.0)
        return math.erf(x) / x

    def scaled_complement(t: float) -> float:
        x = 2.0 / (t * (_FIRST - _LAST) + _FIRST + _LAST) - 2.0
        return math.exp(x * x) * math.erfc(x)

    near, far = _DEGREES
    return _interpolate(ratio, near), _interpolate(scaled_complement, far)


def _interpolate(function: Callable[[float], float], degree: int) -> Floats:
    """Return the polynomial that equals ``function`` at the Chebyshev points of [-1, 1]."""
    count = degree + 1
    # Multiples of a quarter turn over count; whole turns are subtracted while they are integers.
    turns = np.outer(np.arange(count), 2 * np.arange(count) + 1) % (4 * count)
    cosines = np.cos(np.pi / 2 * turns / count)
    values = np.array([function(float(c)) for c in cosines[1]])
    series = cosines @ values * 2.0 / count
    series[0] /= 2.0
    polynomial: Floats = chebyshev.cheb2poly(series)[::-1]
    return polynomial
