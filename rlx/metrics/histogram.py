"""Histograms: the record of a tensor in calibration, for any number of samples.

Tests: tests/unit/calibration/test_observers.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

BINS = 4096
"""Bins of a histogram."""

_MIN_EXPONENT = -1000
"""Exponent of the smallest width of bins."""


@dataclass(slots=True)
class Histogram:
    """Counts of values in the bins ``[k * width, (k + 1) * width)``; zeros are counted apart.

    The width is the smallest power of two at which all values so far and zero fit into :data:`BINS`
    bins. When the range grows, neighbouring bins are merged exactly, so that the result depends
    neither on the order of the values nor on their batches.

    Attributes:
        zeros: Number of zeros.
        minimum: Minimum so far; 0 before the first.
        maximum: Maximum so far.
        exponent: The width is ``2 ** exponent``.
        first: ``k`` of the first bin.
        counts: int64 [bins].
    """

    zeros: int = 0
    minimum: float = 0.0
    maximum: float = 0.0
    exponent: int = _MIN_EXPONENT
    first: int = 0
    counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    _empty: bool = True

    def add(self, numbers: npt.NDArray[Any]) -> None:
        """Count finite numbers of any shape.

        Raises:
            ValueError: One of them is NaN or infinite.
        """
        if not numbers.size:
            return
        low, high = float(numbers.min()), float(numbers.max())
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueError("a histogram takes finite numbers only")
        self._cover(low, high)
        flat = numbers.reshape(-1)
        if flat.dtype not in (np.float32, np.float64):
            flat = flat.astype(np.float64)
        count = self._zeros_of(flat)
        self.zeros += count
        if count:
            flat = flat[flat != 0]
        # A power of two as the factor keeps every quotient exact.
        bins = np.floor(np.ldexp(flat.astype(np.float64), -self.exponent)).astype(np.int64)
        self.counts += np.bincount(bins - self.first, minlength=len(self.counts))

    def merge(self, other: Histogram) -> None:
        """Add the counts of another histogram: the result is that of all values in one."""
        if other._empty:
            return
        self._cover(other.minimum, other.maximum)
        self.zeros += other.zeros
        bins = np.arange(len(other.counts)) + other.first
        np.add.at(
            self.counts, (bins >> (self.exponent - other.exponent)) - self.first, other.counts
        )

    @staticmethod
    def _zeros_of(flat: npt.NDArray[Any]) -> int:
        return int(flat.size - np.count_nonzero(flat))

    def _cover(self, low: float, high: float) -> None:
        """Make the bins reach from ``low`` to ``high``."""
        self.minimum = low if self._empty else min(self.minimum, low)
        self.maximum = high if self._empty else max(self.maximum, high)
        self._empty = False
        bottom, top = min(self.minimum, 0.0), max(self.maximum, 0.0)
        exponent = self.exponent
        # log2 of the range is a first guess; the loop decides.
        if top > bottom:
            exponent = max(exponent, math.frexp(max(top, -bottom))[1] - 1 - BINS.bit_length())
        while _places(bottom, top, exponent)[1] > BINS:
            exponent += 1
        first, count = _places(bottom, top, exponent)
        old = np.arange(len(self.counts)) + self.first
        counts = np.zeros(count, np.int64)
        if self.counts.any():
            # Bins of powers of two nest: a shift of the index merges them exactly.
            np.add.at(counts, (old >> (exponent - self.exponent)) - first, self.counts)
        self.exponent, self.first, self.counts = exponent, first, counts

    @property
    def width(self) -> float:
        """Width of a bin."""
        return math.ldexp(1.0, self.exponent)

    @property
    def total(self) -> int:
        """Count of all values, zeros included."""
        return self.zeros + int(self.counts.sum())

    def centres(self) -> npt.NDArray[np.float64]:
        """Return the value that represents each bin: its middle, within the observed range."""
        middles = (np.arange(len(self.counts)) + self.first + 0.5) * self.width
        return np.clip(middles, self.minimum, self.maximum)

    def numbers(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Return the values that represent the bins, in ascending order, and their counts."""
        numbers = np.append(self.centres(), 0.0)
        order = np.argsort(numbers, kind="stable")
        return numbers[order], np.append(self.counts, self.zeros)[order]

    def percentiles(self, percents: Sequence[float]) -> tuple[float, ...]:
        """Return the percentiles, each with an error of up to half the width of a bin."""
        numbers, counts = self.numbers()
        below = np.cumsum(counts)
        ranks = np.asarray(percents) / 100 * max(int(below[-1]) - 1, 0)
        places = np.minimum(np.searchsorted(below, ranks, side="right"), len(numbers) - 1)
        return tuple(numbers[places].tolist())


def _places(low: float, high: float, exponent: int) -> tuple[int, int]:
    """Return the first bin and the number of bins from ``low`` to ``high``."""
    first = math.floor(math.ldexp(low, -exponent))
    return first, math.floor(math.ldexp(high, -exponent)) - first + 1
