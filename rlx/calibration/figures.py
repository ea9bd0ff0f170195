"""Figures that say how close one network comes to another, gathered batch by batch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[Any]


@dataclass(slots=True)
class Closeness:
    """How close numbers come to a reference.

    Attributes:
        count: Numbers compared.
        maximum: Largest absolute difference.
    """

    count: int = 0
    maximum: float = 0.0
    _difference: float = 0.0
    _square_of_difference: float = 0.0
    _reference_square: float = 0.0
    _found_square: float = 0.0
    _product: float = 0.0

    def add(self, reference: Numbers, found: Numbers) -> None:
        """Compare two arrays with as many elements."""
        a = reference.reshape(-1).astype(np.float64)
        b = found.reshape(-1).astype(np.float64)
        difference = np.abs(a - b)
        self.count += a.size
        self.maximum = max(self.maximum, float(difference.max(initial=0.0)))
        self._difference += float(difference.sum())
        self._square_of_difference += float((difference**2).sum())
        self._reference_square += float((a * a).sum())
        self._found_square += float((b * b).sum())
        self._product += float((a * b).sum())

    @property
    def mean(self) -> float:
        """Mean absolute difference."""
        return self._difference / max(self.count, 1)

    @property
    def cosine(self) -> float:
        """Cosine of the angle between both, as vectors; 1 for two zeros."""
        length = math.sqrt(self._reference_square) * math.sqrt(self._found_square)
        if length == 0:
            return 1.0 if self._reference_square == self._found_square else 0.0
        return min(self._product / length, 1.0)

    @property
    def sqnr_db(self) -> float:
        """Ratio of signal to quantization noise in decibels; infinite where both are equal."""
        if self._square_of_difference == 0:
            return math.inf
        if self._reference_square == 0:
            return -math.inf
        return 10 * math.log10(self._reference_square / self._square_of_difference)

    def as_json(self) -> dict[str, Any]:
        """Return the figures; an infinite SQNR is None."""
        sqnr = self.sqnr_db
        return {
            "max": self.maximum,
            "mean": self.mean,
            "cosine": self.cosine,
            "sqnr_db": sqnr if math.isfinite(sqnr) else None,
        }


@dataclass(slots=True)
class Scores:
    """Classes and scores that two networks give, beside labels where there are some.

    Attributes:
        agree: Samples for which both give the same class.
        samples: Samples compared.
        right: Correct classes of the first and the second network.
        reconstruction: Sums over samples of the mean squared difference from the input.
    """

    agree: int = 0
    samples: int = 0
    right: list[int] = field(default_factory=lambda: [0, 0])
    _scores: list[list[Numbers]] = field(default_factory=lambda: [[], []])
    _labels: list[Numbers] = field(default_factory=list)
    reconstruction: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def add(
        self,
        outputs: tuple[Numbers, Numbers],
        labels: Numbers | None,
        inputs: Numbers | None,
    ) -> None:
        """Add a batch: outputs ``[n, outputs]`` of both, and inputs if they are reconstructed."""
        first, second = outputs
        self.samples += len(first)
        chosen = [_classes(o) for o in outputs]
        self.agree += int((chosen[0] == chosen[1]).sum())
        for k, output in enumerate((first, second)):
            error = None
            if inputs is not None:
                error = ((output.astype(np.float64) - inputs) ** 2).mean(axis=1)
                self.reconstruction[k] += float(error.sum())
            if labels is not None:
                self.right[k] += int((chosen[k] == labels).sum())
                self._scores[k].append(_score(output) if error is None else error)
        if labels is not None:
            self._labels.append(labels)

    @property
    def labelled(self) -> bool:
        """Whether there were labels."""
        return bool(self._labels)

    @property
    def two_classes(self) -> bool:
        """Whether the labels are 0 and 1."""
        return self.labelled and max(int(part.max()) for part in self._labels) <= 1

    def auc(self, which: int) -> float | None:
        """Return the area under the receiver operating characteristic, for two classes."""
        return area_under_curve(np.concatenate(self._scores[which]), np.concatenate(self._labels))


def _classes(outputs: Numbers) -> Numbers:
    """Return the class of each sample: its largest output."""
    classes: Numbers = outputs.argmax(axis=1)
    return classes


def _score(outputs: Numbers) -> Numbers:
    """Return how much speaks for class 1."""
    if outputs.shape[1] == 2:
        return outputs[:, 1].astype(np.float64) - outputs[:, 0]
    return outputs[:, 0].astype(np.float64)


def area_under_curve(scores: Numbers, labels: Numbers) -> float | None:
    """Return the share of pairs of a sample of class 1 and one of class 0 in the right order.

    Pairs with equal scores count one half. None where a class has no samples.
    """
    positive = labels == 1
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if not ones or not zeros:
        return None
    values, places = np.unique(scores, return_inverse=True)
    at_most = np.cumsum(np.bincount(places, ~positive, len(values)))
    equal = np.bincount(places, ~positive, len(values))
    wins = at_most - equal / 2
    return float(wins[places[positive]].sum() / (ones * zeros))
