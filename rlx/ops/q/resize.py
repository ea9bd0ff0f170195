"""Images of another size. Input and result share scale and zero point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Along, Op, Traits
from rlx.ops.numerics.resampling import POSITION_BITS, Resampling
from rlx.ops.q.common import check_int8
from rlx.ops.q.window import image_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from rlx.ir import Array, TensorType

_WEIGHT_BITS = 2 * POSITION_BITS
"""Fractional bits of the product of two weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _QResize(Op):
    """Base of both: operand ``x`` int8[N, H, W, C], result int8[N, *size, C]."""

    traits: ClassVar[Traits] = Traits(channelwise=True, along=Along.IMAGE)
    size: tuple[int, int]
    align_corners: bool = False
    half_pixel_centers: bool = False

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return int8[N, *size, C] with the input's quantization."""
        (x,) = operands
        check_int8(self, "input", x)
        if min(self.size) < 1:
            raise self.refuse(f"expected a size of at least 1x1, got {self.size}")
        height, width, _ = image_size(self, x)
        for axis in self.axes((height, width)):
            self._check(axis)
        return (x.with_shape((x.shape[0], *self.size, x.shape[3])),)

    def axes(self, image: Sequence[int]) -> tuple[Resampling, Resampling]:
        """Return both axes of an image of a height and width."""
        flags = self.align_corners, self.half_pixel_centers
        rows, columns = zip(image, self.size, strict=True)
        return Resampling(*rows, *flags), Resampling(*columns, *flags)

    def _check(self, axis: Resampling) -> None:
        """Raise ShapeError if the reference cannot resize an axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QResizeNearest(_QResize):
    """Copies of the nearest elements.

    Along each axis of old and new size ``n`` and ``o``, element ``i`` of the result copies element
    ``floor((i + h) * n / o)``; with ``align_corners`` and ``o > 1`` element
    ``round((i + h) * (n - 1) / (o - 1))``, halves up; at most ``n - 1``. ``h`` is 1/2 with
    ``half_pixel_centers``, else 0. Both are computed in float32: first the quotient, then the
    product.

    Operand: ``x`` int8[N, H, W, C]. Result: int8[N, size[0], size[1], C].

    Attributes:
        size: Height and width of the result.
        align_corners: Whether the corners of both images are at the same places.
        half_pixel_centers: Whether pixels are at half integers.

    Source: tflite-micro ``reference_ops::ResizeNearestNeighbor``.
    """

    name: ClassVar[str] = "q.resize_nearest"
    traits: ClassVar[Traits] = Traits(channelwise=True, moves_only=True, along=Along.IMAGE)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the copies."""
        (x,) = operands
        rows, columns = (axis.nearest for axis in self.axes(x.shape[1:3]))
        return (x[:, rows[:, np.newaxis], columns],)


@dataclass(frozen=True, slots=True, kw_only=True)
class QResizeBilinear(_QResize):
    """Means of the four nearest elements, weighted by the distance to them.

    Along each axis of old and new size ``n`` and ``o``, element ``i`` of the result is at position
    ``p = i * step`` in 1/1024 of an old element, plus ``step // 2 - 512`` with
    ``half_pixel_centers``. ``step`` is ``1024 * n / o``, or ``1024 * (n - 1) / (o - 1)`` with
    ``align_corners`` and ``o > 1``, rounded to an integer. Its neighbours are elements
    ``max(p >> 10, 0)`` and ``min((p + 1023) >> 10, n - 1)``, weighted by 1/1024 of ``1024 - f`` and
    ``f``, the distance to the lower one. The sum over both axes is exact and rounded half away from
    code 0.

    Operand: ``x`` int8[N, H, W, C]. Result: int8[N, size[0], size[1], C].

    Attributes:
        size: Height and width of the result.
        align_corners: Whether the corners of both images are at the same places.
        half_pixel_centers: Whether pixels are at half integers; not together with
            ``align_corners``.

    Source: tflite-micro ``reference_ops::ResizeBilinearInteger``.
    """

    name: ClassVar[str] = "q.resize_bilinear"

    def _check(self, axis: Resampling) -> None:
        """Raise ShapeError if the reference reads outside of an axis."""
        if self.align_corners and self.half_pixel_centers:
            raise self.refuse("expected align_corners or half_pixel_centers, got both")
        if axis.overrun is not None:
            raise self.refuse(axis.overrun)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the rounded means."""
        (x,) = operands
        rows, columns = self.axes(x.shape[1:3])
        sums = _between(_between(x.astype(np.int32), rows, 1), columns, 2)
        half = np.int32(1 << (_WEIGHT_BITS - 1))
        # A negative half rounds down: less by 1, it does not reach the next integer.
        rounded = (sums + half - (sums < 0)) >> _WEIGHT_BITS
        return (rounded.astype(np.int8),)


def _between(x: npt.NDArray[np.int32], resampling: Resampling, axis: int) -> npt.NDArray[np.int32]:
    """Return 1024 times the values between the elements of an axis."""
    lower, upper, weights = resampling.neighbours
    above = weights.reshape(-1, *(1,) * (x.ndim - axis - 1))
    one = np.int32(1 << POSITION_BITS)
    sums: npt.NDArray[np.int32] = x.take(lower, axis) * (one - above) + x.take(upper, axis) * above
    return sums
