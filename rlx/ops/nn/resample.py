"""Images continued beyond their border, and images of another size."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ops.nn.base import NnOp
from rlx.ops.nn.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import TensorType
    from rlx.ops.expression import Expression
    from rlx.ops.real.common import Numbers


class Border(enum.Enum):
    """Continuation of a tensor beyond its ends ``a b c d``.

    ``EDGE``: a a a | a b c d. ``REFLECT``: d c b | a b c d. ``SYMMETRIC``: c b a | a b c d.
    ``WRAP``: b c d | a b c d.
    """

    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"
    WRAP = "wrap"


@dataclass(frozen=True, slots=True, kw_only=True)
class NnPad(NnOp):
    """A tensor continued beyond its ends by its own elements (by a constant: ``real.pad``).

    Operand: ``x`` [*]. Result: ``before + n + after`` along each axis.

    Attributes:
        before: Elements before each axis.
        after: Elements after each axis.
        border: Continuation of the tensor.
    """

    name: ClassVar[str] = "nn.pad"
    before: tuple[int, ...]
    after: tuple[int, ...]
    border: Border = Border.REFLECT

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless there are sizes for each axis, and elements to read."""
        (x,) = operands
        if not len(self.before) == len(self.after) == x.rank:
            raise self.refuse(f"before and after need {x.rank} entries each")
        if min((*self.before, *self.after), default=0) < 0:
            raise self.refuse(f"padding must not be negative, got {self.before} and {self.after}")
        for axis, size in enumerate(x.shape):
            grows = bool(self.before[axis] or self.after[axis])
            if grows and not (isinstance(size, int) and size > 0):
                raise self.refuse(f"axis {axis} of {x} cannot be continued")

    def expand(self, *operands: Expression) -> Expression:
        """Return slices gathered along each axis that grows."""
        (x,) = operands
        for axis, (before, after) in enumerate(zip(self.before, self.after, strict=True)):
            size = x.shape[axis]
            if (before or after) and isinstance(size, int):
                places = np.pad(np.arange(size), (before, after), mode=self.border.value)
                x = _gather(x, places, axis)
        return x


class Interpolation(enum.Enum):
    """Source of the elements of a resized image: the nearest one, or between two."""

    NEAREST = "nearest"
    LINEAR = "linear"


class Coordinates(enum.Enum):
    """Place of output element ``i`` in the input, for ``scale = output size / input size``.

    ``HALF_PIXEL``: ``(i + 1/2) / scale - 1/2``. ``ASYMMETRIC``: ``i / scale``.
    ``ALIGN_CORNERS``: ``i * (input size - 1) / (output size - 1)``.
    """

    HALF_PIXEL = "half_pixel"
    ASYMMETRIC = "asymmetric"
    ALIGN_CORNERS = "align_corners"


@dataclass(frozen=True, slots=True, kw_only=True)
class NnResize(NnOp):
    """An image of another size.

    Operand: ``x`` floating-point. Result: the image with spatial axes of ``size``. The nearest
    element of a place halfway between two is the lower one.

    Attributes:
        size: Dimension of each spatial axis of the result.
        interpolation: Nearest element, or linear along each axis.
        coordinates: Place of each output element in the input.
        floor: Whether the nearest element is the one at or below the place.
        layout: Order of the image's axes.
        corners: Whether linear interpolation weights all neighbours together, with places and
            weights in float32, as ONNX Runtime does; else along one axis after the other.

    Source: ONNX ``Resize``; onnxruntime ``core/providers/cpu/tensor/upsample.cc``.
    """

    name: ClassVar[str] = "nn.resize"
    size: tuple[int, ...]
    interpolation: Interpolation = Interpolation.NEAREST
    coordinates: Coordinates = Coordinates.HALF_PIXEL
    floor: bool = False
    layout: Layout = Layout.CHANNELS_LAST
    corners: bool = False

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless there is a size for each spatial axis."""
        self.check_float(*operands)
        (x,) = operands
        if x.rank != len(self.size) + 2 or min(self.size, default=1) < 1:
            raise self.refuse(f"size {self.size} does not fit the image {x}")
        if not all(isinstance(n, int) and n > 0 for n in self._spatial(x)):
            raise self.refuse(f"spatial axes of {x} must be numbers")

    def _spatial(self, x: TensorType) -> tuple[object, ...]:
        return self.layout.type_to_last(x).shape[1:-1]

    def expand(self, *operands: Expression) -> Expression:
        """Return the image resized along one axis after the other, or all together."""
        (x,) = operands
        if self.corners and self.interpolation is Interpolation.LINEAR:
            return self._together(x)
        first = 1 if self.layout is Layout.CHANNELS_LAST else 2
        for axis, size in enumerate(self.size, start=first):
            old = x.shape[axis]
            if isinstance(old, int) and old != size:
                x = self._along(x, axis, old, self._places(old, size))
        return x

    def _together(self, x: Expression) -> Expression:
        """Return the image between all neighbours of each place."""
        last = self.layout is Layout.CHANNELS_LAST
        sizes = dict(enumerate(self.size, start=1 if last else 2))
        if x.ndim == 3:
            # ONNX Runtime treats all three dimensions as those of a volume.
            spatial = {axis: x.shape[axis] for axis in (0, 2 if last else 1)}
            sizes = {a: n for a, n in spatial.items() if isinstance(n, int)} | sizes
        return between(
            x, {axis: self._float32_places(x, axis, size) for axis, size in sizes.items()}
        )

    def _float32_places(self, x: Expression, axis: int, new: int) -> Numbers:
        """Return the place of each output element, float32."""
        old = x.type.with_shape(x.shape[axis : axis + 1]).size
        index, scale = np.arange(new, dtype=np.float32), np.float32(new) / np.float32(old)
        half = np.float32(0.5)
        if old == new:
            return index
        if self.coordinates is Coordinates.HALF_PIXEL:
            return (index + half) / scale - half
        if self.coordinates is Coordinates.ASYMMETRIC:
            return index / scale
        return index * np.float32(old - 1) / np.float32(max(new - 1, 1))

    def _places(self, old: int, new: int) -> Numbers:
        """Return the place of each output element, float64 within the input."""
        index = np.arange(new, dtype=np.float64)
        if self.coordinates is Coordinates.HALF_PIXEL:
            coordinates = (index + 0.5) * old / new - 0.5
        elif self.coordinates is Coordinates.ASYMMETRIC:
            coordinates = index * old / new
        else:
            coordinates = index * (old - 1) / max(new - 1, 1)
        return np.clip(coordinates, 0, old - 1)

    def _along(self, x: Expression, axis: int, size: int, coordinates: Numbers) -> Expression:
        """Return ``x`` resampled at ``coordinates`` of one axis of ``size``."""
        low = np.floor(coordinates)
        if self.interpolation is Interpolation.NEAREST:
            nearest = low if self.floor else np.ceil(coordinates - 0.5)
            return _gather(x, nearest, axis)
        high = np.minimum(low + 1, size - 1)
        share = (coordinates - low).reshape(-1, *(1,) * (x.ndim - axis - 1))
        part = x.wrap(x.graph.constant(share.astype(x.dtype.numpy)))
        below = _gather(x, low, axis)
        return below + (_gather(x, high, axis) - below) * part


def between(x: Expression, coordinates: Mapping[int, Numbers]) -> Expression:
    """Return ``x`` at places between its elements: all neighbours weighted and summed in order.

    Args:
        x: A floating-point value.
        coordinates: Places along each axis, float32; those of the last axis vary first.
    """
    parts: list[tuple[Expression, tuple[Numbers, ...]]] = [(x, ())]
    for axis, positions in coordinates.items():
        low, high, below, above = _neighbours(x, axis, positions)
        tail = (1,) * (x.ndim - axis - 1)
        parts = [
            (_gather(part, index, axis), (share.reshape(-1, *tail), *shares))
            for part, shares in parts
            for index, share in ((low, below), (high, above))
        ]
    products = [
        part * x.wrap(x.graph.constant(np.asarray(reduce(np.multiply, shares), x.dtype.numpy)))
        for part, shares in parts
    ]
    return reduce(lambda a, b: a + b, products)


def _neighbours(
    x: Expression, axis: int, coordinates: Numbers
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Return index of the lower and the upper neighbour of each place, and their weights."""
    last = np.float32(x.type.with_shape(x.shape[axis : axis + 1]).size - 1)
    clipped = np.clip(coordinates, np.float32(0), last)
    low = np.floor(clipped)
    high = np.minimum(low + np.float32(1), last)
    # At the last element both neighbours are that element: the weights only have to add up to 1.
    same = low == high
    half = np.float32(0.5)
    return low, high, np.where(same, half, high - clipped), np.where(same, half, clipped - low)


def _gather(x: Expression, coordinates: Numbers, axis: int) -> Expression:
    """Return slices of ``x`` at known places of one axis."""
    return x.gather(x.wrap(x.graph.constant(coordinates.astype(np.int32))), axis)
