"""Scales and quantized values of weights, chosen for the layer's results.

Eight bits are rounded to nearest. With fewer, rounding errors of the weights of one output are
made to cancel: the squared error of the layer's results on calibration data is minimized over the
quantized weights, one coordinate after the other, and over the scale.

Tests: tests/unit/passes/quantize/test_weights.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.passes.quantize.weighted import Weighted

    Floats = npt.NDArray[np.floating[Any]]
    Doubles = npt.NDArray[np.float64]

LIMITS: Final = {8: 127, 4: 7, 2: 1}
"""Largest quantized weight for each width in bits; ranges are symmetric, 2 bits are ternary."""

_MAX_BIAS: Final = 2.0**29
"""Biases in steps of the accumulator keep below this, so that the products have space."""

_DAMPING: Final = 0.01
"""Share of the mean square of the inputs that is added to each: trust in calibration data ends."""
_MAX_SWEEPS: Final = 8
"""Sweeps of the descent over all weights; it ends when one changes nothing."""
_CLIPS: Final = tuple(np.linspace(1.0, 0.3, 71).tolist())
"""Shares of the largest weight of an output that are tried as the end of its range."""


@dataclass(frozen=True, slots=True)
class RoundedWeights:
    """Quantized weights of a layer.

    Attributes:
        bits: Width.
        steps: int8 [outputs, terms], at most ``LIMITS[bits]`` in magnitude.
        scales: float64 [outputs], each a float32 value.
    """

    bits: int
    steps: npt.NDArray[np.int8]
    scales: Doubles

    def reals(self) -> Doubles:
        """Return the real values that the quantized weights represent, [outputs, terms]."""
        return self.steps * self.scales[:, np.newaxis]


def round_weights(
    rows: Floats, bits: int, moments: Doubles | None = None, smallest: Doubles | None = None
) -> RoundedWeights:
    """Return weights in ``bits`` bits.

    Args:
        rows: [outputs, terms].
        bits: One of :data:`LIMITS`.
        moments: Second moments of the inputs, [groups, terms, terms]; None if they are not known.
        smallest: Scales that must be reached, [outputs], so that biases fit; None for any.

    Returns:
        Quantized weights with a scale for each output.
    """
    weights = np.asarray(rows, np.float64)
    limit = LIMITS[bits]
    if bits == 8:
        scales = _raise_scales(_usable(np.abs(weights).max(axis=1) / limit), smallest)
        return RoundedWeights(bits, _nearest(weights, scales, limit), scales)
    importance = np.ones((1, weights.shape[1]))
    if moments is not None:
        moments = _damp(moments)
        importance = np.diagonal(moments, axis1=1, axis2=2)
    importance = np.repeat(importance, len(weights) // len(importance), axis=0)
    scales = _raise_scales(_search_scales(weights, importance, limit), smallest)
    steps = _nearest(weights, scales, limit).astype(np.float64)
    if moments is not None:
        steps, scales = _descend(weights, steps, scales, moments, limit)
        # The descent may have made a scale too small for the bias again.
        raised = _raise_scales(scales, smallest)
        if not np.array_equal(raised, scales):
            steps, scales = _nearest(weights, raised, limit).astype(np.float64), raised
    return RoundedWeights(bits, steps.astype(np.int8), scales)


def smallest_scales(layer: Weighted, x_scale: float) -> Doubles:
    """Return the scale of each output's weights with which its bias still fits, [outputs].

    Args:
        layer: The layer.
        x_scale: Scale of its input.
    """
    scales: Doubles = np.abs(layer.bias.astype(np.float64)) / (x_scale * _MAX_BIAS)
    return scales


def _raise_scales(scales: Doubles, smallest: Doubles | None) -> Doubles:
    return scales if smallest is None else _usable(np.maximum(scales, smallest))


def _usable(scales: Doubles) -> Doubles:
    """Return scales as float32 holds them; those of outputs without weights like the others."""
    positive = scales[scales > 0]
    filled = np.where(scales > 0, scales, np.median(positive) if positive.size else 1.0)
    limits = np.finfo(np.float32)
    return np.clip(filled, limits.tiny, limits.max).astype(np.float32).astype(np.float64)


def _nearest(weights: Doubles, scales: Doubles, limit: int) -> npt.NDArray[np.int8]:
    steps = np.rint(weights / scales[:, np.newaxis])
    return np.clip(steps, -limit, limit).astype(np.int8)


def _search_scales(weights: Doubles, importance: Doubles, limit: int) -> Doubles:
    """Return the scale with the smallest weighted squared error for each output."""
    largest = np.abs(weights).max(axis=1)
    best, errors = largest / limit, np.full(len(weights), np.inf)
    for clip in _CLIPS:
        scales = _usable(largest * clip / limit)
        reals = _nearest(weights, scales, limit) * scales[:, np.newaxis]
        error = (importance * (weights - reals) ** 2).sum(axis=1)
        better = error < errors
        best, errors = np.where(better, scales, best), np.where(better, error, errors)
    return _usable(best)


def _damp(moments: Doubles) -> Doubles:
    """Return second moments whose diagonal is positive."""
    diagonal = np.arange(moments.shape[1])
    damped = moments.copy()
    mean = np.trace(moments, axis1=1, axis2=2) / moments.shape[1]
    damped[:, diagonal, diagonal] += np.where(mean > 0, _DAMPING * mean, 1.0)[:, np.newaxis]
    return damped


def _descend(
    weights: Doubles, steps: Doubles, scales: Doubles, moments: Doubles, limit: int
) -> tuple[Doubles, Doubles]:
    """Return steps and scales with a smaller squared error of the results.

    The error of an output is ``e M e`` for ``e = w - s * q`` and second moments ``M``; each step of
    the descent sets one element of ``q``, or ``s``, to its best value for fixed others.
    """
    groups, terms, _ = moments.shape
    w, q = (a.reshape(groups, -1, terms).copy() for a in (weights, steps))
    s = scales.reshape(groups, -1).copy()
    for _ in range(_MAX_SWEEPS):
        before = q.copy()
        gradient = (w - s[..., np.newaxis] * q) @ moments
        for k in range(terms):
            optimum = q[..., k] + gradient[..., k] / (s * moments[:, np.newaxis, k, k])
            # The error is quadratic in one element: the nearest integer to the optimum is best.
            change = np.clip(np.rint(optimum), -limit, limit) - q[..., k]
            q[..., k] += change
            gradient -= (s * change)[..., np.newaxis] * moments[:, np.newaxis, k, :]
        s = _best_scales(w, q, s, moments)
        if np.array_equal(before, q):
            break
    return q.reshape(steps.shape), _usable(s.reshape(-1))


def _best_scales(w: Doubles, q: Doubles, s: Doubles, moments: Doubles) -> Doubles:
    """Return the scale of each output that fits its quantized weights best."""
    product = q @ moments
    square = (product * q).sum(axis=-1)
    cross = (product * w).sum(axis=-1)
    good = (square > 0) & (cross > 0)
    return np.where(good, cross / np.where(good, square, 1.0), s)
