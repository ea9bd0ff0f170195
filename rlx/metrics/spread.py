"""Spread of a tensor's values against the range of its integer type, as a box plot shows it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import QuantParams
    from rlx.metrics.histogram import Histogram

    Doubles = npt.NDArray[np.float64]

PERCENTILES: Final = (0.1, 25.0, 50.0, 75.0, 99.9)
"""Percentiles of a spread: the ends of the whiskers, the box and the median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Spread of values against the range of their integer type.

    Attributes:
        minimum: Minimum.
        maximum: Maximum.
        percentiles: The 0.1, 25, 50, 75 and 99.9 % percentiles.
        low: Smallest real value that the type represents; of weights, in the channel with the
            largest scale.
        high: Largest real value that it represents.
        outside: Share of the values that are outside, and become the nearest end.
        steps: Minimum, percentiles and maximum in steps of the type, before they are rounded and
            limited; each weight is divided by the scale of its own channel.
        lowest: Smallest integer of the type.
        highest: Largest integer of the type.
    """

    minimum: float
    maximum: float
    percentiles: tuple[float, ...]
    low: float
    high: float
    outside: float
    steps: tuple[float, ...]
    lowest: int
    highest: int

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        values = asdict(self)
        return {**values, "percentiles": list(self.percentiles), "steps": list(self.steps)}


def spread_of_results(histogram: Histogram, params: QuantParams) -> Spread:
    """Return the spread of a layer's results, of which a histogram was kept, in int8."""
    (scale,), (zero,) = params.scale, params.zero_point
    percentiles = histogram.percentiles(PERCENTILES)
    numbers, counts = histogram.numbers()
    steps = np.rint(numbers / scale) + zero
    outside = counts[(steps < -128) | (steps > 127)].sum() / max(counts.sum(), 1)
    seven = (histogram.minimum, *percentiles, histogram.maximum)
    return Spread(
        minimum=histogram.minimum,
        maximum=histogram.maximum,
        percentiles=percentiles,
        low=scale * (-128 - zero),
        high=scale * (127 - zero),
        outside=float(outside),
        steps=tuple(number / scale + zero for number in seven),
        lowest=-128,
        highest=127,
    )


def spread_of_weights(rows: npt.NDArray[Any], scales: Doubles, limit: int) -> Spread:
    """Return the spread of a layer's weights.

    Args:
        rows: Weights of each output channel, [outputs, terms].
        scales: Scale of each output channel.
        limit: Largest quantized weight; the smallest is its negative.
    """
    weights = np.asarray(rows, np.float64)
    steps = weights / scales[:, np.newaxis]
    widest = float(scales.max()) * limit
    return Spread(
        minimum=float(weights.min()),
        maximum=float(weights.max()),
        percentiles=_percentiles(weights),
        low=-widest,
        high=widest,
        outside=float((np.abs(np.rint(steps)) > limit).mean()),
        steps=(float(steps.min()), *_percentiles(steps), float(steps.max())),
        lowest=-limit,
        highest=limit,
    )


def _percentiles(numbers: Doubles) -> tuple[float, ...]:
    return tuple(np.percentile(numbers, PERCENTILES).tolist())
