"""Geometry of sliding windows, for convolutions and pools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir import Array, Op, TensorType

Pair = tuple[int, int]
NumberT = TypeVar("NumberT", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Window:
    """A sliding window over the two middle axes of an NHWC tensor.

    Attributes:
        kernel: Height and width in taps.
        stride: Steps between windows, vertical and horizontal.
        dilation: Steps between taps, vertical and horizontal.
        padding: ``((top, bottom), (left, right))``, rows and columns added around the image.
    """

    kernel: Pair
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    padding: tuple[Pair, Pair] = ((0, 0), (0, 0))

    @staticmethod
    def same(size: Pair, kernel: Pair, stride: Pair = (1, 1), dilation: Pair = (1, 1)) -> Window:
        """Return the window with TensorFlow's SAME padding for an image of ``size``."""
        pads = []
        for n, k, s, d in zip(size, kernel, stride, dilation, strict=True):
            extent = (k - 1) * d + 1
            total = max((-(-n // s) - 1) * s + extent - n, 0)
            pads.append((total // 2, total - total // 2))
        return Window(kernel, stride, dilation, (pads[0], pads[1]))

    @property
    def extent(self) -> Pair:
        """Height and width that the window covers, dilation included."""
        (kh, kw), (dh, dw) = self.kernel, self.dilation
        return (kh - 1) * dh + 1, (kw - 1) * dw + 1

    @property
    def taps(self) -> int:
        """Number of positions in the window."""
        return self.kernel[0] * self.kernel[1]

    @property
    def is_padded(self) -> bool:
        """Whether any row or column is added."""
        return any(p for side in self.padding for p in side)

    def output_size(self, size: Pair) -> Pair:
        """Return the numbers of windows that fit an image of ``size``, vertical and horizontal."""
        counts = [
            (n + before + after - extent) // stride + 1
            for n, (before, after), extent, stride in zip(
                size, self.padding, self.extent, self.stride, strict=True
            )
        ]
        return counts[0], counts[1]

    def taps_inside(self, size: Pair) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the number of taps of each window that are inside an image of ``size``, by axis.

        The first tuple has an entry for each row of windows, the second for each column; a
        window's taps inside are the product of its two entries.
        """
        rows, columns = (_taps_inside(*axis) for axis in self._axes(size))
        return rows, columns

    def sees_nothing(self, size: Pair) -> bool:
        """Return whether some window has no tap inside an image of ``size``.

        The same as ``0 in taps_inside(size)`` for either axis, without counting every window.
        """
        return any(_sees_nothing(*axis) for axis in self._axes(size))

    def _axes(self, size: Pair) -> Iterator[tuple[int, int, int, int, Pair]]:
        """Return size, kernel, stride, dilation and padding of either axis."""
        return zip(size, self.kernel, self.stride, self.dilation, self.padding, strict=True)

    def check(self, op: Op, image: TensorType) -> tuple[int, Pair]:
        """Return the channels and output size for an NHWC ``image``, or raise ShapeError."""
        height, width, channels = image_size(op, image)
        for what, values in (
            ("kernel", self.kernel), ("stride", self.stride), ("dilation", self.dilation),
        ):  # fmt: skip
            if min(values) < 1:
                raise op.refuse(f"{what} must be at least 1, got {values}")
        if any(p < 0 for side in self.padding for p in side):
            raise op.refuse(f"padding must not be negative, got {self.padding}")
        out = self.output_size((height, width))
        if min(out) < 1:
            raise op.refuse(f"window {self.kernel} does not fit the padded input {image}")
        return channels, out

    def padded(
        self, x: Array, pad_value: int, dtype: type[NumberT] | np.dtype[NumberT]
    ) -> npt.NDArray[NumberT]:
        """Return a copy of NHWC ``x`` as ``dtype`` with ``pad_value`` around it."""
        batch, height, width, channels = x.shape
        (top, bottom), (left, right) = self.padding
        shape = (batch, top + height + bottom, left + width + right, channels)
        result = np.empty(shape, dtype)
        if self.is_padded:
            result[...] = pad_value
        result[:, top : top + height, left : left + width] = x
        return result

    def views(self, padded: npt.NDArray[NumberT]) -> npt.NDArray[NumberT]:
        """Return the windows of a padded NHWC image as a view [N, OH, OW, KH, KW, C]."""
        batch, height, width, channels = padded.shape
        rows, columns = Window(self.kernel, self.stride, self.dilation).output_size((height, width))
        (stride_h, stride_w), (dilation_h, dilation_w) = self.stride, self.dilation
        n, h, w, c = padded.strides
        return as_strided(
            padded,
            (batch, rows, columns, *self.kernel, channels),
            (n, h * stride_h, w * stride_w, h * dilation_h, w * dilation_w, c),
            writeable=False,
        )

    def patches(self, x: Array, pad_value: int) -> Array:
        """Return the windows of NHWC ``x`` as a view [N, OH, OW, KH, KW, C] of the padded image."""
        return self.views(self.padded(x, pad_value, x.dtype))


def _last_start(n: int, kernel: int, dilation: int, padding: Pair) -> int:
    """Return the last position at which a window of one axis may begin."""
    return n + padding[1] - ((kernel - 1) * dilation + 1)


def _taps_inside(n: int, kernel: int, stride: int, dilation: int, padding: Pair) -> tuple[int, ...]:
    """Return the number of taps of each window that are inside an axis of ``n``.

    Tap ``t`` of a window that begins at ``s`` is at ``s + t * dilation``. It is inside for
    ``ceil(-s / dilation) <= t < ceil((n - s) / dilation)`` and ``0 <= t < kernel``.
    """
    starts = range(-padding[0], _last_start(n, kernel, dilation, padding) + 1, stride)
    return tuple(
        max(min(-((s - n) // dilation), kernel) - max(-(s // dilation), 0), 0) for s in starts
    )


def _sees_nothing(n: int, kernel: int, stride: int, dilation: int, padding: Pair) -> bool:
    """Return whether some window of one axis has no tap inside."""
    starts = range(-padding[0], _last_start(n, kernel, dilation, padding) + 1, stride)
    if not starts:
        return False
    if starts[0] + (kernel - 1) * dilation < 0 or starts[-1] >= n:
        return True
    if dilation <= n:
        return False
    # Taps further apart than the axis is long may step over it: the first one that is not before
    # the axis is at the start modulo the dilation.
    before = np.arange(starts[0], min(0, starts[-1] + 1), stride)
    return bool((before % dilation >= n).any())


def image_size(op: Op, image: TensorType) -> tuple[int, int, int]:
    """Return height, width and channels of NHWC ``image``, or raise ShapeError."""
    if image.rank != 4:
        raise op.refuse(f"input must be [N, H, W, C], got {image}")
    _, height, width, channels = image.shape
    if not (isinstance(height, int) and isinstance(width, int) and isinstance(channels, int)):
        raise op.refuse(f"height, width and channels must be numbers, got {image}")
    return height, width, channels
