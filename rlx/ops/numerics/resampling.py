"""Source positions of the elements of a resized axis, as TensorFlow Lite Micro computes them.

Tests: tests/unit/ops/q/test_resize.py
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ops.numerics.fixed_point import INT32_MAX

if TYPE_CHECKING:
    import numpy.typing as npt

    Int32 = npt.NDArray[np.int32]

POSITION_BITS: Final = 10
"""Fractional bits of a position between two elements."""

_ONE: Final = 1 << POSITION_BITS


@dataclass(frozen=True, slots=True)
class Resampling:
    """One axis of a resized image.

    Attributes:
        old: Elements of the axis before.
        new: Elements after.
        align_corners: Whether the first and the last element keep their places.
        half_pixel_centers: Whether elements are at half integers.
    """

    old: int
    new: int
    align_corners: bool = False
    half_pixel_centers: bool = False

    @property
    def _ratio(self) -> tuple[int, int]:
        """Old elements for each new one, as numerator and denominator."""
        aligns = self.align_corners and self.new > 1
        return (self.old - 1, self.new - 1) if aligns else (self.old, self.new)

    @property
    def nearest(self) -> Int32:
        """Index of the element that each new element copies, computed in float32.

        Source: tflite ``reference_ops::GetNearestNeighbor``.
        """
        indices: Int32 = np.minimum(self.unclamped_nearest, np.int32(self.old - 1))
        return indices

    @property
    def unclamped_nearest(self) -> Int32:
        """Indices before those after the last element are replaced by it."""
        numerator, denominator = self._ratio
        scale = np.float32(numerator) / np.float32(denominator)
        offset = np.float32(0.5 if self.half_pixel_centers else 0.0)
        positions = (np.arange(self.new, dtype=np.float32) + offset) * scale
        whole = np.floor(positions)
        if self.align_corners:
            # Halves round up; the difference to the floor is exact.
            whole = whole + (positions - whole >= np.float32(0.5))
        indices: Int32 = whole.astype(np.int32)
        return indices

    @property
    def slope(self) -> Fraction:
        """Old elements for each new one."""
        return Fraction(*self._ratio)

    @property
    def step(self) -> int:
        """Distance between the positions of two new elements, in 1/1024 of an old one."""
        numerator, denominator = self._ratio
        return (_ONE * numerator + denominator // 2) // denominator

    @property
    def is_exact(self) -> bool:
        """Whether no position is rounded."""
        even = self.step % 2 == 0 or not self.half_pixel_centers
        return even and self.step == self.slope * _ONE

    @property
    def first(self) -> int:
        """Position of the first new element, in 1/1024 of an old one."""
        return self.step // 2 - _ONE // 2 if self.half_pixel_centers else 0

    @property
    def last(self) -> int:
        """Position of the last new element, in 1/1024 of an old one."""
        return self.first + (self.new - 1) * self.step

    @property
    def overrun(self) -> str | None:
        """Reason why no image can be interpolated at the positions; None if it can."""
        if max(self.last, self.old * _ONE) > INT32_MAX - _ONE:
            return f"positions along an axis of {self.old} do not fit int32"
        if self.last >= self.old * _ONE:
            return (
                f"positions rounded to 1/1024 leave an axis of {self.old} elements before the last "
                f"of {self.new} new ones"
            )
        return None

    @property
    def neighbours(self) -> tuple[Int32, Int32, Int32]:
        """Indices of the elements below and above each position, and 1024 times the upper weight.

        Positions before the first element have it on both sides and a negative upper weight.

        Source: tflite ``reference_ops::ComputeInterpolationValuesInteger``.
        """
        positions = self.first + self.step * np.arange(self.new, dtype=np.int32)
        lower = np.maximum(positions, 0) >> POSITION_BITS
        upper = np.minimum((positions + _ONE - 1) >> POSITION_BITS, self.old - 1)
        weights = positions - (lower << POSITION_BITS)
        return lower, upper.astype(np.int32), weights
