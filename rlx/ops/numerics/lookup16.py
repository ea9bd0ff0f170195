"""Functions on int16 by tables of 513 numbers with linear interpolation, and softmax by them.

Tables are made in float32 as the reference makes them, from functions in double: every entry is
that of the reference.

Source: tflite-micro ``LUTPopulate``, ``LUTLookup`` and ``SoftmaxInt16``.

Tests: tests/unit/ops/q/test_functions16.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ops.numerics.fixed_point import Int64, Rescale

_STEPS: Final = 512
"""Intervals of a table."""
_INT16: Final = (-32768, 32767)
EXP_SCALE: Final = 10 / 65535
"""Scale of the arguments of the exponential, which are -10 to 0."""


def _rounded(x: np.float32) -> np.float32:
    """Return the nearest integer, halves away from zero."""
    magnitude = math.floor(abs(float(x)) + 0.5)
    return np.float32(math.copysign(magnitude, float(x)))


def _table(low: np.float32, high: np.float32, function: Callable[[float], float]) -> Int64:
    """Return the entries for ``function`` over [low, high], in units of 2^-15.

    Each is corrected by half of the error that interpolation has in the middle of its interval.
    """
    single = np.float32
    step = (high - low) / single(_STEPS)
    scale = single(1 << 16) / (single(2 / 65535) * single(_INT16[1]) - _lowest())

    def value(x: np.float32) -> np.float32:
        return single(function(float(x))) * scale

    entries = np.empty(_STEPS + 1, np.int64)
    for index in range(_STEPS):
        x = low + single(index) * step
        here, following = _rounded(value(x)), value(low + single(index + 1) * step)
        middle = _rounded((following + here) / single(2))
        error = _rounded((middle - _rounded(value(x + step / single(2)))) / single(2))
        entries[index] = int(here - error)
    entries[_STEPS] = int(_rounded(value(high)))
    return np.clip(entries, *_INT16)


def _lowest() -> np.float32:
    """Return the smallest result that a table's scale allows."""
    return np.float32(2 / 65535) * np.float32(_INT16[0])


def _lookup(x: Int64, table: Int64) -> Int64:
    """Return the interpolated entries at int16 places."""
    index, fraction = 256 + (x >> 7), x & 127
    entry: Int64 = table[index] + (((table[index + 1] - table[index]) * fraction + 64) >> 7)
    return entry


def _argument(code: int, scale: np.floating[Any], zero_point: int) -> np.float32:
    """Return the argument of a code."""
    return np.float32(scale * np.float32(code - zero_point))


EXPONENTIALS: Final = _table(
    _argument(_INT16[0], np.float32(10) / np.float32(65535), 32767), np.float32(0), math.exp
)
"""Exponentials of -10 to 0."""
RECIPROCALS: Final = _table(
    np.float32(0),
    _argument(_INT16[1], np.float32(1) / np.float32(65535), -32768),
    lambda x: 1 / (1 + x),
)
"""``1 / (1 + x)`` of 0 to 1."""


def softmax_int16(x: Int64, rescale: Rescale) -> Int64:
    """Return the softmax over the last axis in units of 2^-15.

    Args:
        x: int16 values.
        rescale: Scaling of differences to ``EXP_SCALE``.
    """
    scaled = rescale.apply(x - x.max(axis=-1, keepdims=True))
    exponentials = _lookup(np.clip(scaled + 32767, *_INT16), EXPONENTIALS)
    total = exponentials.sum(axis=-1, keepdims=True)
    headroom = 32 - np.frexp(total.astype(np.float64))[1].astype(np.int64)
    shifted = ((total << (headroom - 1)) + (1 << 13)) >> 14
    reciprocal = _lookup(np.clip(shifted - (1 << 15) - (1 << 16), *_INT16), RECIPROCALS)
    shift = 31 - headroom
    product = (exponentials * reciprocal + (np.int64(1) << (shift - 1))) >> shift
    shares: Int64 = np.clip(product, 0, _INT16[1])
    return shares
