"""Images read where other tensors say: regions of interest, deformed windows, affine grids."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.onnx.ops.create import check_size
from rlx.frontends.onnx.ops.grid_sample import linear_taps
from rlx.frontends.onnx.ops.index import numbers, strides_of
from rlx.frontends.onnx.ops.registry import importer
from rlx.frontends.onnx.ops.windows import kernel_of, listed, pads
from rlx.ir import DType
from rlx.ops import real

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real

    Taps = list[tuple[Real, Real]]


@importer("AffineGrid")
def import_affine_grid(call: Call) -> Real:
    """``AffineGrid``: an even grid from -1 to 1, turned and moved by a matrix for each image."""
    theta, (batch, _, *size) = call.value(0), call.ints(1)
    rank = len(size)
    if theta.shape != (batch, rank, rank + 1) or min(size, default=0) < 1:
        raise call.malformed(f"matrices {theta.type} do not fit {size}")
    check_size(call, batch, rank + 1, *size)
    lines = [_line(n, align=call.flag("align_corners")) for n in size]
    grid = np.meshgrid(*lines, indexing="ij")
    # Coordinates come in the order x, y, z: that of the last axis first.
    points = np.stack([*grid[::-1], np.ones(size)], -1).reshape(-1, rank + 1)
    coordinates = call.constant(points.astype(theta.dtype.numpy)) @ theta.mT
    return coordinates.reshape(batch, *size, rank)


def _line(count: int, *, align: bool) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return coordinates from -1 to 1: of the ends of an axis, or of the middles of its pixels."""
    places = np.arange(count, dtype=np.float64)
    if align:
        return places * 2 / max(count - 1, 1) - 1
    return (places * 2 + 1) / count - 1


@importer("RoiAlign")
def import_roi_align(call: Call) -> Real:
    """``RoiAlign`` with a fixed number of samples for each bin."""
    image, regions, batch = call.value(0), call.value(1), call.value(2).cast(DType.I64)
    mode, ratio = call.text("mode"), call.integer("sampling_ratio")
    bins = (call.integer("output_height"), call.integer("output_width"))
    if mode not in ("avg", "max") or min(bins) < 1:
        raise call.malformed(f"mode is {mode!r} with bins {bins}")
    if ratio < 1:
        raise call.refuse(
            "the number of samples depends on the size of a region (sampling_ratio 0)",
            "export it with a fixed sampling_ratio",
        )
    _, channels, *size = numbers(call, image.shape)
    count, *_ = numbers(call, regions.shape)
    if len(size) != 2 or regions.shape[1:] != (4,):
        raise call.malformed(f"regions {regions.type} do not fit {image.type}")
    samples = [n * ratio for n in bins]
    check_size(call, count, channels, *samples)
    half = call.version >= 16 and call.text("coordinate_transformation_mode") == "half_pixel"
    scaled = regions * call.number("spatial_scale") - (0.5 if half else 0.0)
    axes = []
    for axis in range(2):
        start, end = scaled[:, 1 - axis], scaled[:, 3 - axis]
        extent = end - start if half else (end - start).maximum(1.0)
        steps = (np.arange(samples[axis]) + 0.5) / samples[axis]
        shape = (count, *(samples[a] if a == axis else 1 for a in range(2)))
        coordinates = start.expand_dims(1) + extent.expand_dims(1) * call.constant(
            steps, image.dtype
        )
        axes.append(_held_taps(coordinates.reshape(*shape), size[axis]))
    parts = _parts(image, batch.reshape(count, 1, 1), axes, size)
    return _pooled(parts, mode, count, channels, bins, ratio)


def _held_taps(coordinate: Real, length: int) -> Taps:
    """Return both taps around a place that is held at the ends, and weighs nothing far outside."""
    in_image = (coordinate >= -1.0).minimum(coordinate <= float(length))
    clamped_coordinate = coordinate.maximum(0.0).minimum(float(length - 1))
    low = clamped_coordinate.apply(real.RealFloor())
    share = clamped_coordinate - low
    high = (low + 1.0).minimum(float(length - 1))
    return [
        (low.cast(DType.I64), (1.0 - share).where(in_image, 0.0)),
        (high.cast(DType.I64), share.where(in_image, 0.0)),
    ]


def _parts(image: Real, batch: Real, axes: Sequence[Taps], size: Sequence[int]) -> list[Real]:
    """Return the term that each combination of taps adds to a place: [batch..., places..., C]."""
    channels = image.shape[1]
    rows = image.transpose(0, *range(2, image.ndim), 1).reshape(-1, channels)
    terms = []
    for combination in product(*axes):
        index, weight = batch * math.prod(size), None
        for (index_along_axis, share), stride in zip(combination, strides_of(size), strict=True):
            index = index + index_along_axis * stride
            weight = share if weight is None else weight * share
        assert weight is not None  # there is an axis at least
        terms.append(rows.gather(index) * weight.expand_dims(weight.ndim))
    return terms


def _pooled(
    parts: list[Real], mode: str, count: int, channels: int, bins: tuple[int, int], ratio: int
) -> Real:
    """Return the mean of the samples of each bin, or the largest of all weighted elements."""
    first, *rest = parts
    for part in rest:
        first = first + part if mode == "avg" else first.maximum(part)
    split = first.reshape(count, bins[0], ratio, bins[1], ratio, channels)
    pooled = split.mean(2, 4) if mode == "avg" else split.max(2, 4)
    return pooled.transpose(0, 3, 1, 2)


@importer("DeformConv")
def import_deform_conv(call: Call) -> Real:
    """``DeformConv``: a convolution of which each tap is moved by an offset."""
    x, weights, offset = call.value(0), call.value(1), call.value(2)
    batch, channels, *size = numbers(call, x.shape)
    outputs, per_group, *kernel_shape = numbers(call, weights.shape)
    groups, offsets = call.integer("group"), call.integer("offset_group")
    _, offset_channels, *out = numbers(call, offset.shape)
    kernel, rank = kernel_of(call, tuple(kernel_shape)), len(size)
    taps = math.prod(kernel)
    fits = (
        len(kernel) == rank == len(out) and min(groups, offsets) > 0
        and channels == groups * per_group and channels % offsets == 0 and outputs % groups == 0
        and offset_channels == offsets * taps * rank
    )  # fmt: skip
    if not fits:
        raise call.malformed(
            f"weights {weights.type} and offsets {offset.type} do not fit {x.type}"
        )
    check_size(call, batch, channels, taps, *out)
    tap_coordinates = _window_places(call, kernel, tuple(out))
    shifts = offset.reshape(batch, offsets, taps, rank, *out)
    whole = (slice(None),) * 3
    axes = [
        linear_taps(
            shifts[(*whole, axis)] + call.constant(tap_coordinates[axis], x.dtype), size[axis]
        )
        for axis in range(rank)
    ]
    # Each group of offsets reads channels of its own: as if it were an image.
    images = x.reshape(batch * offsets, channels // offsets, *size)
    which = np.arange(batch * offsets).reshape(batch, offsets, *(1,) * (rank + 1))
    first, *rest = _parts(images, call.constant(which, DType.I64), axes, size)
    for part in rest:
        first = first + part
    if call.has(4):
        mask = call.value(4).reshape(batch, offsets, taps, *out)
        first = first * mask.expand_dims(mask.ndim)
    last = first.ndim - 1
    columns = first.transpose(0, 1, last, *range(2, last)).reshape(
        batch, groups, per_group * taps, math.prod(out)
    )
    matrix = weights.reshape(groups, outputs // groups, per_group * taps)
    y = (matrix @ columns).reshape(batch, outputs, *out)
    return y + call.value(3).reshape(outputs, *(1,) * rank) if call.has(3) else y


def _window_places(
    call: Call, kernel: tuple[int, ...], out: tuple[int, ...]
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the position of each tap of each window without offsets: [axes, taps, out...]."""
    rank = len(kernel)
    stride, dilation = (listed(call, n, rank, 1, 1) for n in ("strides", "dilations"))
    before = [b for b, _ in pads(call, rank)]
    tap = np.indices(kernel).reshape(rank, -1, *(1,) * rank)
    window = np.indices(out).reshape(rank, 1, *out)
    by_axis = (np.reshape(v, (rank, *(1,) * (rank + 1))) for v in (stride, dilation, before))
    strides, dilations, padding = by_axis
    coordinates: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = np.asarray(
        window * strides + tap * dilations - padding, np.float64
    )
    return coordinates
