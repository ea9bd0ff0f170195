"""Geometry of sliding windows in any number of dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir import Array, Op, TensorType


@dataclass(frozen=True, slots=True)
class SpatialWindow:
    """A window that slides over the middle axes of a tensor [N, spatial..., C].

    Attributes:
        kernel: Taps along each spatial axis.
        stride: Steps between windows along each axis; empty for 1 everywhere.
        dilation: Steps between taps along each axis; empty for 1 everywhere.
        padding: ``(before, after)`` elements added along each axis; empty for none.
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    padding: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        ones = (1,) * len(self.kernel)
        object.__setattr__(self, "stride", self.stride or ones)
        object.__setattr__(self, "dilation", self.dilation or ones)
        object.__setattr__(self, "padding", self.padding or tuple((0, 0) for _ in ones))

    @staticmethod
    def same(
        size: tuple[int, ...],
        kernel: tuple[int, ...],
        stride: tuple[int, ...] = (),
        dilation: tuple[int, ...] = (),
    ) -> SpatialWindow:
        """Return the window with TensorFlow's SAME padding for an image of ``size``."""
        bare = SpatialWindow(kernel, stride, dilation)
        totals = [
            max((-(-n // s) - 1) * s + extent - n, 0)
            for n, s, extent in zip(size, bare.stride, bare.extent, strict=True)
        ]
        padding = tuple((t // 2, t - t // 2) for t in totals)
        return SpatialWindow(kernel, bare.stride, bare.dilation, padding)

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return len(self.kernel)

    @property
    def extent(self) -> tuple[int, ...]:
        """Elements that the window covers along each axis, dilation included."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True))

    @property
    def is_padded(self) -> bool:
        """Whether any element is added."""
        return any(p for side in self.padding for p in side)

    def output_size(self, size: tuple[int, ...]) -> tuple[int, ...]:
        """Return the number of windows that fit an image of ``size`` along each axis."""
        return tuple(
            (n + before + after - extent) // stride + 1
            for n, (before, after), extent, stride in zip(
                size, self.padding, self.extent, self.stride, strict=True
            )
        )

    def check(self, op: Op, image: TensorType) -> tuple[int, tuple[int, ...]]:
        """Return the channels and output size for an ``image``, or raise ShapeError."""
        if image.rank != self.rank + 2:
            raise op.refuse(
                f"input must have {self.rank} axes between batch and channels, got {image}"
            )
        numbers = tuple(n for n in image.shape[1:] if isinstance(n, int))
        if len(numbers) != self.rank + 1:
            raise op.refuse(f"spatial axes and channels must be numbers, got {image}")
        self._check_attributes(op)
        *size, channels = numbers
        out = self.output_size(tuple(size))
        if min(out, default=1) < 1:
            raise op.refuse(f"window {self.kernel} does not fit the padded input {image}")
        return channels, out

    def _check_attributes(self, op: Op) -> None:
        """Raise ShapeError unless the attributes are of one length and in range."""
        for what, values in (
            ("kernel", self.kernel), ("stride", self.stride), ("dilation", self.dilation),
        ):  # fmt: skip
            if min(values, default=1) < 1:
                raise op.refuse(f"{what} must be at least 1, got {values}")
            if len(values) != self.rank:
                raise op.refuse(f"{what} needs {self.rank} entries, got {values}")
        if len(self.padding) != self.rank or any(p < 0 for side in self.padding for p in side):
            raise op.refuse(
                f"padding needs {self.rank} pairs of numbers that are not negative,"
                f" got {self.padding}"
            )

    def pad(self, x: Array, value: float) -> Array:
        """Return ``x`` with the padding around its spatial axes."""
        if not self.is_padded:
            return x
        widths = ((0, 0), *self.padding, (0, 0))
        return np.pad(x, widths, constant_values=value)

    def taps(self, padded: Array) -> Iterator[tuple[tuple[int, ...], Array]]:
        """Yield each tap's index and a view [N, output size..., C] of all windows' elements there.

        ``padded`` is [N, spatial..., C] with the padding already around it.
        """
        out = tuple(
            (n - extent) // stride + 1
            for n, extent, stride in zip(padded.shape[1:-1], self.extent, self.stride, strict=True)
        )
        for tap in product(*map(range, self.kernel)):
            starts = (i * d for i, d in zip(tap, self.dilation, strict=True))
            steps = zip(starts, out, self.stride, strict=True)
            slices = tuple(slice(a, a + (n - 1) * s + 1, s) for a, n, s in steps)
            yield tap, padded[(slice(None), *slices)]
