"""Images read at places that are computed.

Tests: tests/unit/frontends/onnx/ops/test_regions.py
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

from rlx.frontends.onnx.ops.index import numbers, strides_of
from rlx.frontends.onnx.ops.registry import importer
from rlx.ir import DType
from rlx.ops import real
from rlx.ops.nn.layout import to_channels_first, to_channels_last

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real

_MODES = {
    "nearest": 1, "linear": 2, "bilinear": 2, "cubic": 4, "bicubic": 4,
}  # fmt: skip
"""Taps of each mode along an axis."""

# Parameter of Keys' kernel: GridSample fixes it, and PyTorch has the same.
_CUBIC_A = -0.75
_MAX_TAPS = 64
"""Elements read for one of the result: cubic interpolation of a volume. Each is a gather."""


@importer("GridSample")
def import_grid_sample(call: Call) -> Real:
    """``GridSample``: an image of which each element says where it is read, from -1 to 1."""
    image, grid = call.value(0), call.value(1)
    taps = _MODES.get(call.text("mode"))
    padding, align = call.text("padding_mode"), call.flag("align_corners")
    if taps is None or padding not in ("zeros", "border", "reflection"):
        raise call.malformed(f"mode {call.text('mode')!r} with padding {padding!r} is unknown")
    batch, channels, *size = numbers(call, image.shape)
    where = numbers(call, grid.shape)
    if len(where) != len(size) + 2 or where[-1] != len(size) or where[0] != batch:
        raise call.malformed(f"the grid {grid.type} does not fit {image.type}")
    if taps ** len(size) > _MAX_TAPS:
        raise call.refuse(f"reads {taps ** len(size)} elements at each place; rlx does {_MAX_TAPS}")
    rows = image.transpose(*to_channels_last(image.ndim)).reshape(batch * math.prod(size), channels)
    axes = []
    for axis, length in enumerate(size):
        # Coordinates come in the order x, y, z: that of the last axis first.
        coordinate = grid[..., len(size) - 1 - axis]
        axes.append(_taps(_pixel(coordinate, length, align), length, taps, padding, align))
    shape = (batch, *(1,) * len(where[1:-1]))
    start = call.constant([i * math.prod(size) for i in range(batch)], DType.I64).reshape(*shape)
    total: Real | None = None
    for combination in product(*axes):
        index, weight = start, None
        for (tap_index, share), stride in zip(combination, strides_of(size), strict=True):
            index = index + tap_index * stride
            weight = share if weight is None else weight * share
        part = rows.gather(index)
        if weight is not None:
            part = part * weight.cast(image.dtype).expand_dims(grid.ndim - 1)
        total = part if total is None else total + part
    assert total is not None  # there is a tap at least
    return total.transpose(*to_channels_first(total.ndim))


def _pixel(coordinate: Real, length: int, align: bool) -> Real:
    """Return coordinates from -1 to 1 as places of an axis."""
    if align:
        return (coordinate + 1.0) * ((length - 1) / 2)
    return ((coordinate + 1.0) * float(length) - 1.0) * 0.5


def _taps(
    coordinate: Real, length: int, count: int, padding: str, align: bool
) -> list[tuple[Real, Real]]:  # fmt: skip
    """Return index and weight of the taps along one axis."""
    if count == 1:
        coordinate = coordinate.apply(real.RealRound())
    # A cubic place stays where it is, and its taps are held: PyTorch and ONNX Runtime do so.
    if padding == "border" and count < 4:
        coordinate = coordinate.maximum(0.0).minimum(float(length - 1))
    elif padding == "reflection":
        coordinate = _reflect(coordinate, length, align)
    base = coordinate.apply(real.RealFloor())
    taps = []
    for offset, weight in _weights(coordinate - base, count):
        index = base + float(offset)
        if padding == "zeros":
            in_image = (index >= 0.0).minimum(index <= float(length - 1))
            weight = weight.where(in_image, 0.0)
        elif padding == "reflection":
            index = _reflect(index, length, align)
        clamped_index = index.maximum(0.0).minimum(float(length - 1))
        taps.append((clamped_index.cast(DType.I64), weight))
    return taps


def linear_taps(coordinate: Real, length: int) -> list[tuple[Real, Real]]:
    """Return both taps around a place of an axis, which weigh nothing outside of it."""
    return _taps(coordinate, length, 2, "zeros", align=False)


def _weights(share: Real, count: int) -> Iterator[tuple[int, Real]]:
    """Yield offset and weight of each tap around a place, a fraction after its left neighbour."""
    if count == 1:
        yield 0, share * 0.0 + 1.0
    elif count == 2:
        yield 0, 1.0 - share
        yield 1, share
    else:
        for offset, distance in enumerate((share + 1.0, share, 1.0 - share, 2.0 - share), -1):
            yield offset, _cubic(distance)


def _reflect(coordinate: Real, length: int, align: bool) -> Real:
    """Return places reflected at the ends until they are between them."""
    # Mirrored at the centres of the outer pixels if corners are aligned, else at their edges.
    low = 0.0 if align else -0.5
    span = float(length - 1 if align else length)
    if span == 0:
        return coordinate * 0.0
    # Reflection repeats after there and back: fold the second half onto the first.
    turned = (coordinate - low) % (2 * span)
    return turned.minimum(2 * span - turned) + low


def _cubic(distance: Real) -> Real:
    """Return Keys' weight of a tap at a distance from 0 to 2, by the half that it must be in."""
    a = _CUBIC_A
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1.0
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return near.where(distance <= 1.0, far)
