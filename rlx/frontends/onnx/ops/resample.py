"""Images of another size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.frontends.onnx.ops.index import numbers
from rlx.frontends.onnx.ops.registry import importer
from rlx.frontends.refusal import OverLimitError
from rlx.ir import DType
from rlx.ops import nn
from rlx.support.limits import raise_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real

    Places = npt.NDArray[np.floating[Any]]


_MAX_GATHERED_TAPS: Final = 8
"""Taps of an axis up to which each is a gather; more of them are one product with a matrix."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Resizing of one axis.

    Attributes:
        old: Its dimension.
        new: Its dimension in the result.
        scale: Ratio of the two as the file says it.
        crop: Part of the axis that is read, from 0 to 1.
    """

    old: int
    new: int
    scale: float
    crop: tuple[float, float] = (0.0, 1.0)


def _half_pixel(axis: Axis, i: Places) -> Places:
    return (i + 0.5) / axis.scale - 0.5


def _symmetric(axis: Axis, i: Places) -> Places:
    kind = i.dtype.type
    scale = kind(axis.scale)
    offset = kind(axis.old / 2) * (1 - kind(axis.new) / (scale * kind(axis.old)))
    # ONNX Runtime adds in double here, unlike in the other modes.
    places = np.float64(offset) + (i.astype(np.float64) + 0.5) / np.float64(scale) - 0.5
    return places.astype(i.dtype)


def _pytorch(axis: Axis, i: Places) -> Places:
    return _half_pixel(axis, i) if axis.new > 1 else np.zeros_like(i)


def _align(axis: Axis, i: Places) -> Places:
    # A size that follows from a scale is meant before it is rounded down.
    if axis.new == 1:
        return np.zeros_like(i)
    return i * (axis.old - 1) / (axis.scale * axis.old - 1)


def _crop(axis: Axis, i: Places) -> Places:
    start, end = axis.crop
    if axis.new == 1:
        return np.full_like(i, (start + end) * (axis.old - 1) / 2)
    return start * (axis.old - 1) + i * (end - start) * (axis.old - 1) / (axis.new - 1)


_COORDINATES: dict[str, Callable[[Axis, Places], Places]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _symmetric,
    "pytorch_half_pixel": _pytorch,
    "align_corners": _align,
    "asymmetric": lambda axis, i: i / axis.scale,
    "tf_crop_and_resize": _crop,
}

_NEAREST: dict[str, Callable[[Places], Places]] = {
    # Not np.rint, which rounds halves to even.
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def cubic(distance: Places, a: float) -> Places:
    """Return the weight of a tap of Keys' cubic convolution."""
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    weight: Places = np.where(x <= 1, near, np.where(x < 2, far, 0.0))
    return weight


def _linear(distance: Places) -> Places:
    weight: Places = np.clip(1 - np.abs(distance), 0, 1)
    return weight


@dataclass(frozen=True, slots=True)
class ResampleMethod:
    """Interpolation between the elements of an image.

    Attributes:
        mode: nearest, linear or cubic.
        coordinates: Mapping of output elements to places in the image.
        nearest: Rule that picks the nearest neighbour.
        cubic_a: Parameter of cubic weights.
        exclude_outside: Whether taps outside of the image weigh nothing.
        antialias: Whether taps cover all of an image that shrinks.
        outside: Value outside of a cropped part.
    """

    mode: str
    coordinates: str
    nearest: str = "floor"
    cubic_a: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    outside: float = 0.0

    def places(self, axis: Axis) -> Places:
        """Return the place of each output element in the image."""
        return _COORDINATES[self.coordinates](axis, np.arange(axis.new, dtype=np.float64))

    def taps(self, axis: Axis) -> tuple[npt.NDArray[np.int64], Places]:
        """Return index and weight of each tap, [taps, outputs], before the ends are held."""
        source_coordinates = self.places(axis)
        if self.mode == "nearest":
            return _NEAREST[self.nearest](source_coordinates)[None].astype(np.int64), np.ones(
                (1, axis.new)
            )
        # An antialiased kernel grows as the image shrinks, so that every element has a weight.
        wide = min(axis.scale, 1.0) if self.antialias else 1.0
        reach = (2 if self.mode == "cubic" else 1) / wide
        # Taps nearer than reach on either side: at that distance the weight is 0.
        first = math.floor(-reach) + 1
        offsets = np.arange(first, 2 - first)[:, None]
        base = np.ceil(source_coordinates) - 1
        distance = (offsets - (source_coordinates - base)) * wide
        weights = cubic(distance, self.cubic_a) if self.mode == "cubic" else _linear(distance)
        index = (base + offsets).astype(np.int64)
        if self.exclude_outside:
            weights = np.where((index >= 0) & (index < axis.old), weights, 0.0)
        # Of an antialiased kernel, or without taps outside, the weights do not add up to 1.
        return index, weights / weights.sum(axis=0)


def resized(x: Real, axes: dict[int, Axis], method: ResampleMethod) -> Real:
    """Return ``x`` resized along axes, one after the other."""
    dtype = x.dtype
    for axis in axes.values():
        _check_taps(x, axis, method)
    if method.mode != "nearest" and not dtype.is_float:
        x = x.cast(DType.F32)
    together = _joint_coordinates(x, axes, method)
    if together is not None:
        x = x.wrap(nn.between(x, together).value)
    else:
        for axis_index, axis in sorted(axes.items()):
            x = _resize_axis(x, axis_index, axis, method)
    if method.coordinates == "tf_crop_and_resize":
        x = _fill_outside(x, axes, method)
    return x.cast(dtype)


def _joint_coordinates(
    x: Real, axes: dict[int, Axis], method: ResampleMethod
) -> dict[int, Places] | None:
    """Return places along the axes that ONNX Runtime interpolates together, linearly, in float32.

    They are those of an image or a volume: of two and three dimensions all.
    """
    # Of four and five dimensions, the first two are the batch and the channels.
    every = {2: (0, 1), 3: (0, 1, 2), 4: (2, 3), 5: (2, 3, 4)}.get(x.ndim, ())
    sizes = [x.shape[place] for place in every]
    whole = method.mode == "linear" and not (method.exclude_outside or method.antialias)
    if not (whole and set(axes) <= set(every) and all(isinstance(n, int) for n in sizes)):
        return None
    same = {p: np.arange(n, dtype=np.float32) for p, n in zip(every, sizes, strict=True)
            if isinstance(n, int)}  # fmt: skip
    return same | {
        p: _COORDINATES[method.coordinates](axis, np.arange(axis.new, dtype=np.float32))
        for p, axis in axes.items()
    }


def _check_taps(x: Real, axis: Axis, method: ResampleMethod) -> None:
    """Refuse an axis whose weights are too many to be made."""
    wide = min(axis.scale, 1.0) if method.antialias else 1.0
    # Cubic weights reach 2 / wide elements: at most 2 * ceil(2 / wide) taps each.
    count, limit = axis.new * (4 / wide + 2), x.scope.limits.elements
    if count > limit:
        raise OverLimitError(
            f"needs {count:.0f} weights for an axis of {axis.old}; the limit is {limit}",
            hint=raise_hint("elements", math.ceil(count)),
        )


def _resize_axis(x: Real, axis_index: int, axis: Axis, method: ResampleMethod) -> Real:
    index, weights = method.taps(axis)
    if len(index) > _MAX_GATHERED_TAPS:
        return _resize_axis_by_matrix(x, axis_index, axis, index, weights)
    tail = (1,) * (x.ndim - axis_index - 1)
    total: Real | None = None
    for row, weight in zip(np.clip(index, 0, axis.old - 1), weights, strict=True):
        part = x.gather(_constant(x, row.astype(np.int32)), axis_index)
        if method.mode != "nearest":
            part = part * _constant(x, weight.reshape(-1, *tail).astype(x.dtype.numpy))
        total = part if total is None else total + part
    assert total is not None  # there is a tap at least
    return total


def _resize_axis_by_matrix(
    x: Real, axis_index: int, axis: Axis, index: npt.NDArray[np.int64], weights: Places
) -> Real:
    """Return ``x`` resized along an axis by a matrix, where an element has many taps."""
    matrix = np.zeros((axis.old, axis.new))
    columns = np.broadcast_to(np.arange(axis.new), index.shape)
    np.add.at(matrix, (np.clip(index, 0, axis.old - 1), columns), weights)
    order = [a for a in range(x.ndim) if a != axis_index]
    back = np.argsort([*order, axis_index]).tolist()
    product = x.transpose(*order, axis_index) @ _constant(x, matrix.astype(x.dtype.numpy))
    return product.transpose(*back)


def _fill_outside(x: Real, axes: dict[int, Axis], method: ResampleMethod) -> Real:
    """Return ``x`` with a constant where places are outside the image."""
    for place, axis in axes.items():
        places = method.places(axis)
        inside = (places >= 0) & (places <= axis.old - 1)
        if not inside.all():
            mask = _constant(x, inside.reshape(-1, *(1,) * (x.ndim - place - 1)))
            x = x.where(mask, method.outside if x.dtype.is_float else int(method.outside))
    return x


def _constant(x: Real, array: npt.NDArray[Any]) -> Real:
    return x.lift(array)


@importer("Resize")
def import_resize(call: Call) -> Real:
    """``Resize`` since version 11; before, places are those of ``Upsample``."""
    if call.version < 11:
        return _upsampled(call)
    x, method = call.value(0), _method(call)
    axes = _axes(call, numbers(call, x.shape))
    changed = {p: a for p, a in axes.items() if a.new != a.old or a.scale != 1.0
               or a.crop != (0.0, 1.0)}  # fmt: skip
    layer = _layer(x, changed, method)
    return resized(x, changed, method) if layer is None else x.apply(layer)


@importer("Upsample")
def import_upsample(call: Call) -> Real:
    """``Upsample``: places from the upper left corner, the nearest one being the lower."""
    return _upsampled(call)


def _upsampled(call: Call) -> Real:
    x, mode = call.value(0), call.text("mode")
    if mode not in ("nearest", "linear"):
        raise call.malformed(f"mode is {mode!r}, expected nearest or linear")
    scales = call.numbers("scales") if call.version < 9 else _floats(call, 1)
    shape = numbers(call, x.shape)
    if scales is None or len(scales) != len(shape):
        raise call.malformed(f"scales {scales} do not fit {x.type}")
    axes = {p: _scaled(call, n, s) for p, (n, s) in enumerate(zip(shape, scales, strict=True))
            if s != 1.0}  # fmt: skip
    method = ResampleMethod(mode, "asymmetric")
    layer = _layer(x, axes, method)
    return resized(x, axes, method) if layer is None else x.apply(layer)


def _floats(call: Call, index: int) -> tuple[float, ...]:
    return tuple(float(v) for v in call.array(index).reshape(-1).tolist())


def _scaled(
    call: Call, size: int, scale: float, crop: tuple[float, float] = (0.0, 1.0)
) -> Axis:  # fmt: skip
    """Return an axis with a given scale."""
    if not (0 < scale < call.scope.limits.dimension):
        raise call.malformed(f"a scale is {scale}")
    new = math.floor(size * (crop[1] - crop[0]) * scale)
    if new < 1:
        raise call.malformed(f"nothing is left of the dimension {size} at the scale {scale}")
    _check_limit(call, new)
    return Axis(size, new, scale, crop)


def _check_limit(call: Call, *sizes: int) -> None:
    """Refuse an axis that is longer than any may be."""
    limit = call.scope.limits.dimension
    if max(sizes, default=0) > limit:
        raise call.malformed(f"makes axes of {list(sizes)}; the limit is {limit}")


def _method(call: Call) -> ResampleMethod:
    """Return the interpolation of a ``Resize``."""
    mode, coordinates = call.text("mode"), call.text("coordinate_transformation_mode")
    nearest = call.text("nearest_mode")
    for what, value, known in (
        ("mode", mode, ("nearest", "linear", "cubic")),
        ("coordinate_transformation_mode", coordinates, tuple(_COORDINATES)),
        ("nearest_mode", nearest, tuple(_NEAREST)),
    ):
        if value not in known:
            raise call.refuse(f"{what} is {value!r}; rlx has {', '.join(known)}")
    return ResampleMethod(
        mode, coordinates, nearest,
        cubic_a=call.number("cubic_coeff_a"),
        exclude_outside=call.flag("exclude_outside"),
        antialias=bool(call.integer("antialias", 0)) and mode != "nearest",
        outside=call.number("extrapolation_value"),
    )  # fmt: skip


def _axes(call: Call, shape: tuple[int, ...]) -> dict[int, Axis]:
    """Return the axes that the node names, all without a name."""
    listed_axes = call.integers("axes") or tuple(range(len(shape)))
    axis_indices = [call.axis(a, len(shape)) for a in listed_axes]
    crops, policy = (
        _crops(call, len(axis_indices)),
        call.text("keep_aspect_ratio_policy", "stretch"),
    )
    if call.has(3) and call.type(3).shape != (0,):
        sizes = call.ints(3)
        if len(sizes) != len(axis_indices) or min(sizes) < 1:
            raise call.malformed(f"sizes {list(sizes)} do not fit {len(axis_indices)} axes")
        _check_limit(call, *sizes)
        old = [shape[p] for p in axis_indices]
        return dict(zip(axis_indices, _sized(old, sizes, crops, policy), strict=True))
    scales = _floats(call, 2) if call.has(2) else ()
    if len(scales) != len(axis_indices) or policy != "stretch":
        raise call.malformed(
            f"scales {list(scales)} do not fit {len(axis_indices)} axes, ratio {policy!r}"
        )
    return {
        p: _scaled(call, shape[p], s, c)
        for p, s, c in zip(axis_indices, scales, crops, strict=True)
    }


def _crops(call: Call, count: int) -> list[tuple[float, float]]:
    """Return the part of each axis that is read."""
    if call.text("coordinate_transformation_mode") != "tf_crop_and_resize":
        return [(0.0, 1.0)] * count
    ends = _floats(call, 1)
    if len(ends) != 2 * count:
        raise call.malformed(f"roi {list(ends)} does not fit {count} axes")
    return list(zip(ends[:count], ends[count:], strict=True))


def _sized(
    old: Sequence[int], sizes: Sequence[int], crops: Sequence[tuple[float, float]], policy: str
) -> list[Axis]:
    """Return the axes of which the size is given, or of which it bounds the image."""
    scales = [n / o for n, o in zip(sizes, old, strict=True)]
    if policy != "stretch":
        scale = min(scales) if policy == "not_larger" else max(scales)
        scales = [scale] * len(scales)
        # Halves round up, as ONNX defines its round_int (Resize since version 18).
        sizes = [math.floor(o * scale + 0.5) for o in old]
    ways = zip(old, sizes, scales, crops, strict=True)
    return [Axis(o, n, s, c) for o, n, s, c in ways]


_LAYER_COORDINATES = {
    "half_pixel": nn.Coordinates.HALF_PIXEL,
    "asymmetric": nn.Coordinates.ASYMMETRIC,
    "align_corners": nn.Coordinates.ALIGN_CORNERS,
}


def _layer(x: Real, axes: dict[int, Axis], method: ResampleMethod) -> nn.NnResize | None:
    """Return the layer that resizes an image likewise, None if there is none."""
    coordinates = _LAYER_COORDINATES.get(method.coordinates)
    if method.coordinates == "pytorch_half_pixel" and all(a.new > 1 for a in axes.values()):
        coordinates = nn.Coordinates.HALF_PIXEL
    modes = {"nearest": nn.Interpolation.NEAREST, "linear": nn.Interpolation.LINEAR}
    fits = (
        coordinates is not None
        and method.mode in modes
        and method.nearest in ("floor", "round_prefer_floor")
        and not (method.exclude_outside or method.antialias)
        and x.dtype.is_float
        and x.ndim > 2
        and min(axes, default=0) >= 2
        and all(a.new == a.scale * a.old and a.new > 1 for a in axes.values())
    )
    if not fits or coordinates is None:
        return None
    spatial = [n for n in x.shape[2:] if isinstance(n, int)]
    size = tuple(axes[p].new if p in axes else n for p, n in enumerate(spatial, start=2))
    return nn.NnResize(
        size=size,
        interpolation=modes[method.mode],
        coordinates=coordinates,
        floor=method.nearest == "floor",
        layout=nn.Layout.CHANNELS_FIRST,
        corners=True,
    )
