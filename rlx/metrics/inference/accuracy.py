"""Number and share of classes that are right.

Tests: tests/unit/metrics/inference/test_run.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.support.text.notebook import table_html
from rlx.support.text.tables import Column, Table

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

    def _repr_html_(self) -> str:
        """Return the table of classes that notebooks show, without those that have no samples."""
        rows = []
        for number, row in enumerate(self.confusion.tolist()):
            wrong = [0 if other == number else count for other, count in enumerate(row)]
            often = max(range(len(wrong)), key=wrong.__getitem__)
            mistaken = f"{often} ({wrong[often]})" if wrong[often] else None
            if sum(row):
                rows.append((number, sum(row), row[number], mistaken))
        heads = ("class", "samples", "correct", "mostly mistaken for")
        return table_html(Table(str(self)[1:-1], tuple(map(Column, heads)), tuple(rows)))

    def __repr__(self) -> str:
        return f"<Accuracy: {self.correct} of {self.samples} correct, {100 * self.top1:.2f} %>"
