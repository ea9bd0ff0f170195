"""Figures that say how close one network comes to another, gathered batch by batch.

Tests: tests/unit/metrics/test_comparison.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.support.text.tables import float_text
from rlx.support.text.units import counted

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[Any]


MIN_REFERENCE: Final = 1e-12
"""Divisor of a relative difference where the reference is smaller than it."""


@dataclass(frozen=True, slots=True)
class ElementPosition:
    """An element of two arrays.

    Attributes:
        index: Its index, the sample first.
        reference: Its value in the first array.
        found: Its value in the second.
    """

    index: tuple[int, ...]
    reference: float
    found: float

    def as_json(self) -> dict[str, Any]:
        """Return the index and both values; those that are NaN or infinite as text."""
        first, second = (v if math.isfinite(v) else str(v) for v in (self.reference, self.found))
        return {"index": list(self.index), "first": first, "second": second}

    def __str__(self) -> str:
        return (
            f"{float_text(self.reference, 6)} and {float_text(self.found, 6)} at {list(self.index)}"
        )


@dataclass(slots=True, repr=False)
class Closeness:
    """Closeness of values to a reference.

    NaN and infinities are counted, and are in no other figure but the unequal ones.

    Attributes:
        count: Numbers compared.
        maximum: Largest absolute difference.
        relative: Largest difference relative to the reference, which counts as at least
            ``MIN_REFERENCE``.
        largest: Largest absolute value of the reference.
        unequal: Elements that are not equal; NaN never is.
        worst: Place of the largest absolute difference; None where all values are equal.
        nonfinite: Elements of the reference and of the compared values that are NaN or infinite.
        first_nonfinite: Place of the first of these; None without any.
    """

    count: int = 0
    maximum: float = 0.0
    relative: float = 0.0
    unequal: int = 0
    worst: ElementPosition | None = None
    nonfinite: tuple[int, int] = (0, 0)
    first_nonfinite: ElementPosition | None = None
    largest: float = 0.0
    _rows: int = 0
    _left_out: int = 0
    _difference: float = 0.0
    _square_of_difference: float = 0.0
    _reference_square: float = 0.0
    _found_square: float = 0.0
    _product: float = 0.0

    def __repr__(self) -> str:
        return f"<Closeness: {self}>"

    def __str__(self) -> str:
        bad = f", {counted(sum(self.nonfinite), 'value')} NaN or infinite"
        end = bad if any(self.nonfinite) else ""
        if not self.unequal:
            return f"equal{end}"
        return (
            f"SQNR {self.sqnr_db:.1f} dB, largest difference {float_text(self.maximum)},"
            f" {self.unequal:,} of {self.count:,} unequal{end}"
        )

    def add(self, reference: Numbers, actual: Numbers) -> None:
        """Compare two arrays of the same number of elements; their first axis counts samples."""
        shape = reference.shape
        # Integers of 64 bits are not all numbers of float64.
        same_type = reference.dtype == actual.dtype
        differ = reference.reshape(-1) != actual.reshape(-1) if same_type else None
        a = reference.reshape(-1).astype(np.float64)
        b = actual.reshape(-1).astype(np.float64)
        self.unequal += int(np.count_nonzero(a != b if differ is None else differ))
        a, b = self._finite(a, b, shape)
        with np.errstate(over="ignore"):
            difference = np.abs(a - b)
            self._note_worst(a, b, difference, shape)
            self._difference += float(difference.sum())
            self._square_of_difference += float((difference**2).sum())
            self._reference_square += float((a * a).sum())
            self._found_square += float((b * b).sum())
            self._product += float((a * b).sum())
        self.count += a.size
        self._rows += shape[0] if shape else 1

    def _finite(self, a: Numbers, b: Numbers, shape: tuple[int, ...]) -> tuple[Numbers, Numbers]:
        """Return both with 0 where either is NaN or infinite, after counting these."""
        bad = ~np.isfinite(a), ~np.isfinite(b)
        either = bad[0] | bad[1]
        if not either.any():
            return a, b
        counts = [int(np.count_nonzero(one)) for one in bad]
        self.nonfinite = (self.nonfinite[0] + counts[0], self.nonfinite[1] + counts[1])
        self._left_out += int(np.count_nonzero(either))
        if self.first_nonfinite is None:
            self.first_nonfinite = self._place(a, b, int(either.argmax()), shape)
        return np.where(either, 0.0, a), np.where(either, 0.0, b)

    def _note_worst(
        self, a: Numbers, b: Numbers, difference: Numbers, shape: tuple[int, ...]
    ) -> None:
        """Keep the largest differences."""
        if not difference.size:
            return
        where = int(difference.argmax())
        if difference[where] > self.maximum:
            self.maximum = float(difference[where])
            self.worst = self._place(a, b, where, shape)
        ratio = difference / np.maximum(np.abs(a), MIN_REFERENCE)
        self.relative = max(self.relative, float(ratio.max()))
        self.largest = max(self.largest, float(np.abs(a).max()))

    @property
    def relative_to_largest(self) -> float | None:
        """Largest difference over the largest value of the reference; None if that is 0."""
        return self.maximum / self.largest if self.largest else None

    def _place(self, a: Numbers, b: Numbers, where: int, shape: tuple[int, ...]) -> ElementPosition:
        index = [int(i) for i in np.unravel_index(where, shape)]
        if index:
            index[0] += self._rows
        return ElementPosition(tuple(index), float(a[where]), float(b[where]))

    @property
    def exact(self) -> bool:
        """Whether all values are equal, and none is NaN or infinite."""
        return not self.unequal and not any(self.nonfinite)

    @property
    def mean(self) -> float:
        """Mean absolute difference."""
        return self._difference / max(self.count - self._left_out, 1)

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

    @property
    def has_signal(self) -> bool:
        """Return whether a number of the reference is not zero."""
        return self._reference_square > 0

    def noise_to(self, floor: float) -> float:
        """Return the root mean square of the differences as a share of that of the reference.

        Args:
            floor: Minimum of the root mean square of the reference.
        """
        if self._square_of_difference == 0:
            return 0.0
        count = max(self.count - self._left_out, 1)
        signal = max(math.sqrt(self._reference_square / count), floor)
        return math.sqrt(self._square_of_difference / count) / signal if signal else math.inf

    def as_json(self) -> dict[str, Any]:
        """Return the figures; an infinite SQNR is None."""
        sqnr = self.sqnr_db
        return {
            "max": self.maximum,
            "mean": self.mean,
            "cosine": self.cosine,
            "sqnr_db": sqnr if math.isfinite(sqnr) else None,
        }

    def details(self) -> dict[str, Any]:
        """Return the figures of :meth:`as_json` and those of single elements."""
        first, second = self.nonfinite
        return self.as_json() | {
            "relative": self.relative,
            "count": self.count,
            "unequal": self.unequal,
            "exact": self.exact,
            "worst": None if self.worst is None else self.worst.as_json(),
            "nonfinite": {"first": first, "second": second},
            "first_nonfinite": (
                None if self.first_nonfinite is None else self.first_nonfinite.as_json()
            ),
        }


@dataclass(slots=True)
class Scores:
    """Classes and scores of two networks, and labels if there are any.

    Attributes:
        samples: Samples compared.
        right: Correct classes of the first and the second network.
        reconstruction: Sums over samples of the mean squared difference from the input.
    """

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
        for k, output in enumerate((first, second)):
            error = None
            if inputs is not None:
                error = ((output.astype(np.float64) - inputs) ** 2).mean(axis=1)
                self.reconstruction[k] += float(error.sum())
            if labels is not None:
                self.right[k] += int((output.argmax(axis=1) == labels).sum())
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


def _score(outputs: Numbers) -> Numbers:
    """Return the score of class 1."""
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
    values, ranks = np.unique(scores, return_inverse=True)
    at_most = np.cumsum(np.bincount(ranks, ~positive, len(values)))
    equal = np.bincount(ranks, ~positive, len(values))
    wins = at_most - equal / 2
    return float(wins[ranks[positive]].sum() / (ones * zeros))
