"""Choice of the range of floats that the 256 values of an int8 tensor cover.

An observer sees the numbers of one tensor batch by batch and keeps a histogram of them, never the
numbers. Afterwards a method chooses the range; zero is always in it and exactly representable.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.metrics.histogram import Histogram
from rlx.passes.quantize.scheme import LEVELS, params_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    from rlx.ir import QuantParams

    Floats = npt.NDArray[np.float64]
    Range = tuple[float, float]

PERCENTILE = 99.99
"""Share of the values, in percent, that ``PERCENTILE`` covers."""

_MOMENTUM = 0.95
"""Share of the running range that one more sample keeps."""

_CANDIDATES: Final = tuple(np.linspace(0.05, 1.0, 96).tolist())
_REFINED = np.linspace(0.9, 1.1, 21)
"""Factors of one end of a range, 1 % apart, that are tried after a limit for both was chosen."""
_DIVERGENCE_STEPS = 128
"""Limits, evenly spaced below the largest magnitude, of which the divergence is computed."""


class Method(enum.Enum):
    """Method that finds the range of a tensor from the observed values.

    ``MIN_MAX`` covers all of them. ``MOVING_AVERAGE`` averages the extremes of single samples,
    later ones counting more. ``PERCENTILE`` leaves out outliers. ``MSE`` minimizes the mean squared
    error. ``KL`` minimizes the divergence between the two distributions (Migacz, "8-bit inference
    with TensorRT").
    """

    MIN_MAX = "min-max"
    MOVING_AVERAGE = "moving-average"
    PERCENTILE = "percentile"
    MSE = "mse"
    KL = "kl"


@dataclass(slots=True)
class Observer:
    """Numbers that were seen of one tensor.

    Attributes:
        histogram: Counts of all values.
        extremes: Minima and maxima of the samples of each batch, ``[samples, 2]``.
    """

    histogram: Histogram = field(default_factory=Histogram)
    extremes: list[Floats] = field(default_factory=list)

    def add(self, samples: npt.NDArray[Any]) -> None:
        """Observe a batch [samples, ...].

        Raises:
            ValueError: A value is NaN or infinite.
        """
        self.histogram.add(samples)
        rows = samples.reshape(len(samples), -1)
        if not rows.shape[1]:
            return
        ends = (rows.min(axis=1), rows.max(axis=1))
        self.extremes.append(np.stack(ends, axis=1).astype(np.float64))

    def merge(self, other: Observer) -> None:
        """Add what another observer saw of later samples."""
        self.histogram.merge(other.histogram)
        self.extremes += other.extremes

    @property
    def average(self) -> Range | None:
        """Moving average of the minimum and maximum of a sample; None before the first."""
        average: Range | None = None
        for low, high in (ends for batch in self.extremes for ends in batch.tolist()):
            if average is None:
                average = low, high
            else:
                average = (
                    _MOMENTUM * average[0] + (1 - _MOMENTUM) * low,
                    _MOMENTUM * average[1] + (1 - _MOMENTUM) * high,
                )
        return average

    def range(self, method: Method) -> Range:
        """Return the range that ``method`` chooses; it includes zero."""
        low, high = _METHODS[method](self)
        return min(low, 0.0), max(high, 0.0)

    def params(self, method: Method, *, symmetric: bool = False) -> QuantParams:
        """Return the parameters of int8 values over the range that ``method`` chooses."""
        return params_of(*self.range(method), symmetric=symmetric)

    def by(self, method: Method) -> Observed:
        """Return the range that ``method`` chooses, as used by the quantization of activations."""
        return Observed(self, method)


@dataclass(frozen=True, slots=True)
class Observed:
    """Range that a method chooses from the observed values.

    Attributes:
        observer: Numbers that were seen.
        method: The method.
    """

    observer: Observer
    method: Method

    @property
    def ends(self) -> Range:
        """Minimum and maximum."""
        return self.observer.histogram.minimum, self.observer.histogram.maximum

    def params(self, *, whole: bool, symmetric: bool) -> QuantParams:
        """Return the parameters of int8 values, over all values if ``whole``."""
        method = Method.MIN_MAX if whole else self.method
        return self.observer.params(method, symmetric=symmetric)


def _min_max(observer: Observer) -> Range:
    return observer.histogram.minimum, observer.histogram.maximum


def _moving_average(observer: Observer) -> Range:
    return observer.average or (0.0, 0.0)


def _percentile(observer: Observer) -> Range:
    """Cut the same share off both ends."""
    histogram = observer.histogram
    # Half of the excluded share on either side.
    cut = (1 - PERCENTILE / 100) * histogram.total / 2
    edges = (np.arange(len(histogram.counts) + 1) + histogram.first) * histogram.width
    counts = histogram.counts.astype(np.float64)
    # Zeros belong to the bin that begins with zero.
    counts[-histogram.first] += histogram.zeros
    below = np.concatenate([[0.0], np.cumsum(counts)])
    low = float(edges[np.searchsorted(below, cut, side="right") - 1])
    high = float(edges[np.searchsorted(below, below[-1] - cut, side="left")])
    return max(low, histogram.minimum), min(high, histogram.maximum)


def _mse(observer: Observer) -> Range:
    """Search one limit for both ends, then each end alone."""
    histogram = observer.histogram
    used = histogram.counts > 0
    numbers, counts = histogram.centres()[used], histogram.counts[used]

    def error(low: float, high: float) -> float:
        return _squared_error(numbers, counts, low, high)

    low, high = min(histogram.minimum, 0.0), max(histogram.maximum, 0.0)
    if low == high:
        return low, high
    low, high = min(_clipped_ranges(low, high, _CANDIDATES[::-1]), key=lambda r: error(*r))
    for _ in range(2):
        lows = np.clip(low * _REFINED, histogram.minimum, None) if low < 0 else [low]
        low = min(lows, key=lambda end: (error(float(end), high), -end))
        highs = np.clip(high * _REFINED, None, histogram.maximum) if high > 0 else [high]
        high = min(highs, key=lambda end: (error(float(low), float(end)), end))
    return float(low), float(high)


def _clipped_ranges(low: float, high: float, factors: Iterable[float]) -> list[Range]:
    """Return the range cut at each of ``factors`` of its largest magnitude."""
    limits = [factor * max(-low, high) for factor in factors]
    return [(max(low, -limit), min(high, limit)) for limit in limits]


def _squared_error(
    numbers: Floats, counts: npt.NDArray[np.int64], low: float, high: float
) -> float:
    params = params_of(low, high)
    (scale,), (zero,) = params.scale, params.zero_point
    steps = np.clip(np.rint(numbers / scale), -128 - zero, 127 - zero)
    return float(((numbers - steps * scale) ** 2) @ counts)


def _kl(observer: Observer) -> Range:
    """Search one limit for both ends: the divergence is not a smooth function of either."""
    histogram = observer.histogram
    low, high = min(histogram.minimum, 0.0), max(histogram.maximum, 0.0)
    if low == high:
        return low, high
    factors = np.linspace(1.0, 1 / _DIVERGENCE_STEPS, _DIVERGENCE_STEPS).tolist()
    return min(_clipped_ranges(low, high, factors), key=lambda r: divergence(histogram, *r))


def divergence(histogram: Histogram, low: float, high: float) -> float:
    """Return the divergence of int8 values over ``low`` to ``high`` from the values.

    Numbers outside belong to the ends of the clipped distribution; within a step of the scale the
    quantized distribution is flat over the bins that are not empty.
    """
    params = params_of(low, high)
    (scale,), (zero,) = params.scale, params.zero_point
    numbers = histogram.centres()
    in_range = (numbers >= low) & (numbers <= high)
    if not in_range.any():
        return float("inf")
    counts = np.where(in_range, histogram.counts, 0).astype(np.float64)
    clipped = counts.copy()
    bins_in_range = np.flatnonzero(in_range)
    clipped[bins_in_range[0]] += histogram.counts[numbers < low].sum()
    clipped[bins_in_range[-1]] += histogram.counts[numbers > high].sum()
    steps = np.clip(np.rint(numbers / scale), -128 - zero, 127 - zero).astype(np.int64) + 128 + zero
    used = counts > 0
    sums = np.bincount(steps[used], counts[used], LEVELS)
    filled = np.bincount(steps[used], minlength=LEVELS)
    spread = np.zeros_like(counts)
    spread[used] = (sums / np.maximum(filled, 1))[steps[used]]
    total, spread_total = clipped.sum(), spread.sum()
    if not total or not spread_total:
        return 0.0 if not total else float("inf")
    p, q = clipped / total, spread / spread_total
    where = p > 0
    # Mass missing from the quantized distribution (outliers beyond an empty bin) costs much.
    return float((p[where] * np.log(p[where] / np.maximum(q[where], 1e-9))).sum())


_METHODS: dict[Method, Callable[[Observer], Range]] = {
    Method.MIN_MAX: _min_max,
    Method.MOVING_AVERAGE: _moving_average,
    Method.PERCENTILE: _percentile,
    Method.MSE: _mse,
    Method.KL: _kl,
}
