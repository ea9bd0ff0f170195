"""Tolerances of scales: distance of two that a format means to be the same."""

from __future__ import annotations

from typing import Final

FLOAT32: Final = 2.0**-20
"""Relative, for products and quotients of float32 scales: up to four roundings of 24 bits, in an
order that differs between converters."""

TFLM_POOL: Final = 1e-6
"""Absolute, for input and result of a pool: that of TensorFlow Lite Micro (``PoolingPrepare``)."""

MIN_FACTOR: Final = 2.0**-31
"""Absolute, for factors of integer ops: fixed point has no smaller one but 0."""

LATTICE: Final = 1e-3
"""Steps, for results of float32 ops that are multiples of one value: rounding errors of a few
ops, and far from the half step at which they would be another multiple."""


def same_scale(scale: float, other: float, absolute: float = 0.0) -> bool:
    """Return whether two scales or factors are the same up to the rounding of float32.

    Args:
        scale: One of them.
        other: The other, by which the tolerance is measured.
        absolute: A difference that is always allowed.
    """
    return abs(scale - other) <= max(FLOAT32 * other, absolute)
