"""Number and share of classes that are right.

Tests: tests/unit/metrics/inference/test_run.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Predicted classes and expected ones.

    Attributes:
        confusion: int64 [expected class, found class]: samples of each pair.
    """

    confusion: npt.NDArray[np.int64]

    @staticmethod
    def of(
        expected: npt.NDArray[np.int64], predicted: npt.NDArray[np.int64], classes: int
    ) -> Accuracy:
        """Count the pairs of two classes; both are [samples], 0 to ``classes - 1``."""
        pairs = np.bincount(expected * classes + predicted, minlength=classes * classes)
        return Accuracy(pairs.reshape(classes, classes))

    @property
    def samples(self) -> int:
        """Number of samples."""
        return int(self.confusion.sum())

    @property
    def correct(self) -> int:
        """Number of samples whose class is right."""
        return int(np.trace(self.confusion))

    @property
    def top1(self) -> float:
        """Share of samples whose class is right."""
        return self.correct / max(self.samples, 1)

    def as_json(self) -> dict[str, Any]:
        """Return the figures."""
        return {
            "samples": self.samples,
            "correct": self.correct,
            "top1": self.top1,
            "confusion": self.confusion.tolist(),
        }

    def __repr__(self) -> str:
        return f"<Accuracy: {self.correct} of {self.samples} correct, {100 * self.top1:.2f} %>"
