"""Differences between the outputs of two engines for the same inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDifference:
    """Difference between two arrays of one output.

    Attributes:
        name: Name of the output.
        elements: Number of its elements.
        differing: Number of elements that differ; NaN equals NaN.
        largest: Largest difference of two elements; infinite where one is not finite.
    """

    name: str
    elements: int
    differing: int
    largest: float

    def __str__(self) -> str:
        if not self.differing:
            return f"output {self.name!r} is equal"
        return (
            f"output {self.name!r} differs in {self.differing:,} of {self.elements:,} elements,"
            f" by {self.largest:.2g} at most"
        )


def difference_of(name: str, ours: Array, theirs: Array) -> OutputDifference:
    """Return the difference between two arrays of an output of the same number of elements.

    Raises:
        ValueError: They have different numbers of elements.
    """
    a = ours.astype(np.float64).ravel()
    b = np.asarray(theirs).astype(np.float64).ravel()
    if a.size != b.size:
        raise ValueError(f"output {name!r}: {ours.shape} and {np.shape(theirs)} differ in size")
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(a - b))
    largest = float(np.nan_to_num(apart, nan=np.inf, posinf=np.inf).max(initial=0.0))
    return OutputDifference(
        name=name,
        elements=a.size,
        differing=int(np.count_nonzero(~same)),
        largest=largest,
    )


def summary(differences: Sequence[OutputDifference]) -> str:
    """Return a line about the outputs of two engines."""
    if not any(one.differing for one in differences):
        return "outputs are equal"
    return "; ".join(str(one) for one in differences if one.differing)
