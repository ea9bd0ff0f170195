"""Reading and writing by index.

Tests: tests/unit/frontends/onnx/ops/test_versions.py
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.onnx.ops.registry import importer
from rlx.ir import DType
from rlx.ops import real
from rlx.ops.real import Scatter, SpatialWindow
from rlx.ops.real.cast import integer_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real
    from rlx.ir import Dim, Shape

_MERGES = {
    "none": Scatter.REPLACE,
    "add": Scatter.ADD,
    "mul": Scatter.MULTIPLY,
    "min": Scatter.MINIMUM,
    "max": Scatter.MAXIMUM,
}


def numbers(call: Call, shape: Sequence[int | Dim]) -> tuple[int, ...]:
    """Return dimensions that must be integers."""
    found = tuple(d for d in shape if isinstance(d, int))
    if len(found) != len(shape):
        raise call.refuse(
            f"the dimensions [{', '.join(map(str, shape))}] are not all numbers",
            "give the shape of the graph's inputs, as --input-shape NAME=1x3x224x224",
        )
    return found


def one_number(call: Call, index: int) -> np.generic:
    """Return the only element of an input that must be known."""
    array = call.array(index)
    if array.size != 1:
        raise call.malformed(f"input {index} holds {array.size} numbers, expected one")
    number: np.generic = array.reshape(-1)[0]
    return number


def one_integer(call: Call, index: int) -> int:
    """Return the only element of an input that must be a known integer."""
    scalar = one_number(call, index)
    if scalar.dtype.kind not in "iu":
        raise call.malformed(f"input {index} holds {scalar.dtype}, expected an integer")
    return int(scalar)


def strides_of(shape: Sequence[int]) -> list[int]:
    """Return the strides of the axes in row-major order, in elements."""
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


@importer("Gather")
def import_gather(call: Call) -> Real:
    """``Gather``."""
    x = call.value(0)
    return x.gather(call.value(1), call.axis(call.integer("axis"), x.ndim))


@importer("GatherElements")
def import_gather_elements(call: Call) -> Real:
    """``GatherElements``; along other axes the indices may be fewer than the elements."""
    x, indices = call.value(0), call.value(1)
    axis = call.axis(call.integer("axis"), x.ndim)
    if indices.ndim != x.ndim:
        raise call.malformed(f"indices {indices.type} have not the rank of {x.type}")
    kept = [slice(None) if a == axis or n == x.shape[a] else slice(0, n)
            for a, n in enumerate(indices.shape)]  # fmt: skip
    return x[tuple(kept)].apply(real.RealTakeAlong(axis=axis), indices)


@importer("GatherND")
def import_gather_nd(call: Call) -> Real:
    """``GatherND``: the last axis of the indices holds places, one for each of the first axes."""
    x, indices = call.value(0), call.value(1).cast(DType.I64)
    batch = call.integer("batch_dims", 0)
    rows, flat = _rows(call, x.shape, indices, batch)
    rest = x.shape[batch + _depth(call, indices) :]
    return x.reshape(flat, *rest).gather(rows)


def _depth(call: Call, indices: Real) -> int:
    """Return the number of axes that an index names."""
    (depth,) = numbers(call, indices.shape[-1:]) or (0,)
    return depth


def _rows(call: Call, shape: Shape, indices: Real, batch: int = 0) -> tuple[Real, int]:
    """Return each index as a number of a row, and the number of rows.

    Args:
        call: The node.
        shape: Shape of the indexed tensor.
        indices: Places in the axes after the first ``batch`` ones, i64[..., depth].
        batch: Leading axes that both have.
    """
    depth = _depth(call, indices)
    if indices.ndim < batch + 1 or not 1 <= depth <= len(shape) - batch:
        raise call.malformed(f"indices {indices.type} do not fit {len(shape)} dimensions")
    lead = numbers(call, shape[: batch + depth])
    sizes = call.constant(lead[batch:], DType.I64)
    steps = call.constant(strides_of(lead[batch:]), DType.I64)
    positive_indices = (indices + sizes).where(indices < 0, indices)
    rows = (positive_indices * steps).sum(-1)
    if batch:
        count = math.prod(lead[:batch])
        first = np.arange(count, dtype=np.int64) * math.prod(lead[batch:])
        spread = first.reshape(*lead[:batch], *(1,) * (rows.ndim - batch))
        rows = rows + call.constant(spread)
    return rows, math.prod(lead)


def _merge(call: Call) -> Scatter:
    name = call.text("reduction", "none")
    if name not in _MERGES:
        raise call.malformed(f"reduction is {name!r}, expected one of {', '.join(_MERGES)}")
    return _MERGES[name]


@importer("ScatterND")
def import_scatter_nd(call: Call) -> Real:
    """``ScatterND``."""
    x, indices, updates = call.value(0), call.value(1).cast(DType.I64), call.value(2)
    rows, flat = _rows(call, x.shape, indices)
    rest = x.shape[_depth(call, indices) :]
    op = real.RealScatter(merge=_merge(call))
    return x.reshape(flat, *rest).apply(op, rows, updates).reshape(*x.shape)


@importer("ScatterElements", "Scatter")
def import_scatter_elements(call: Call) -> Real:
    """``ScatterElements``: each update keeps its own place except along ``axis``."""
    x, indices, updates = call.value(0), call.value(1).cast(DType.I64), call.value(2)
    axis = call.axis(call.integer("axis"), x.ndim)
    shape, index_shape = numbers(call, x.shape), numbers(call, indices.shape)
    if len(index_shape) != len(shape):
        raise call.malformed(f"indices {indices.type} have not the rank of {x.type}")
    strides = strides_of(shape)
    grid = np.indices(index_shape, dtype=np.int64)
    base = sum(
        (grid[a] * s for a, s in enumerate(strides) if a != axis), np.zeros(index_shape, int)
    )
    along = (indices + shape[axis]).where(indices < 0, indices)
    flat = along * strides[axis] + call.constant(base, DType.I64)
    op = real.RealScatter(merge=_merge(call))
    written = x.reshape(math.prod(shape)).apply(op, flat.reshape(-1), updates.reshape(-1))
    return written.reshape(*shape)


@importer("TensorScatter")
def import_tensor_scatter(call: Call) -> Real:
    """``TensorScatter``: updates written at a place of their own in each row of a cache."""
    x, updates = call.value(0), call.value(1)
    axis, mode = call.axis(call.integer("axis"), x.ndim), call.text("mode")
    shape, part = numbers(call, x.shape), numbers(call, updates.shape)
    if axis == 0 or len(part) != len(shape):
        raise call.malformed(f"updates {updates.type} do not fit {x.type} along axis {axis}")
    starts = call.value(2).cast(DType.I64) if call.has(2) else (
        call.constant([0] * shape[0], DType.I64)
    )  # fmt: skip
    steps = np.arange(part[axis], dtype=np.int64)
    along = starts.reshape(shape[0], 1) + call.constant(steps.reshape(1, -1))
    along = along % shape[axis] if mode == "circular" else along
    strides = strides_of(shape)
    grid = np.indices(part, dtype=np.int64)
    base = sum((grid[a] * s for a, s in enumerate(strides) if a != axis), np.zeros(part, int))
    spread = [n if a in (0, axis) else 1 for a, n in enumerate(part)]
    flat = along.reshape(*spread) * strides[axis] + call.constant(base, DType.I64)
    written = x.reshape(math.prod(shape)).apply(
        real.RealScatter(), flat.reshape(-1), updates.reshape(-1)
    )
    return written.reshape(*shape)


@importer("OneHot")
def import_one_hot(call: Call) -> Real:
    """``OneHot``: indices outside of the depth have no hot element."""
    indices = call.value(0).cast(DType.I64)
    depth, values = int(float(one_number(call, 1))), call.value(2)
    if not 0 < depth <= call.scope.limits.dimension:
        raise call.malformed(f"depth is {depth}")
    axis = call.axis(call.integer("axis"), indices.ndim + 1)
    positive_indices = (indices + depth).where(indices < 0, indices).expand_dims(axis)
    shape = (1,) * axis + (depth,) + (1,) * (indices.ndim - axis)
    hot = positive_indices.equal(call.constant(range(depth), DType.I64).reshape(*shape))
    return values[1].where(hot, values[0])


@importer("Compress")
def import_compress(call: Call) -> Real:
    """``Compress`` by a condition that is known."""
    x, kept = call.value(0), np.flatnonzero(call.array(1))
    places = call.constant(kept, DType.I64)
    if call.attribute("axis") is None:
        return x.reshape(-1).gather(places)
    return x.gather(places, call.axis(call.integer("axis"), x.ndim))


@importer("NonZero")
def import_non_zero(call: Call) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """``NonZero`` of known elements; else the shape of the result would depend on values."""
    return np.array(np.nonzero(call.array(0)), np.int64)


def window_argmax(call: Call, x: Real, window: SpatialWindow, *, by_column: bool) -> Real:
    """Return the index of each window's largest element in the flat image [N, C, spatial...].

    Args:
        call: The node.
        x: The image.
        window: The windows, with the padding around the image.
        by_column: Whether the spatial axes are counted with the first one fastest.
    """
    batch, channels, *size = numbers(call, x.shape)
    count = math.prod(size)
    flat = np.arange(count, dtype=np.int64).reshape(1, *size, 1)
    padded = window.pad(flat, count)
    tap_indices = np.stack([part.reshape(-1) for _, part in window.taps(padded)])
    lowest = real.RealPad(before=(0, 0, 0), after=(0, 0, 1), value=-math.inf)
    if not x.dtype.is_float:
        lowest = replace(lowest, value=float(integer_range(x.dtype)[0]))
    elements = x.reshape(batch, channels, count).apply(lowest).gather(call.constant(tap_indices), 2)
    best = elements.argmax(2).cast(DType.I64)
    names = np.arange(count).reshape(size, order="F" if by_column else "C").reshape(-1)
    outputs = tap_indices.shape[1]
    table = call.constant(np.append(names, 0)[tap_indices].reshape(-1), DType.I64)
    flat_indices = table.gather(best * outputs + call.constant(np.arange(outputs, dtype=np.int64)))
    first = np.arange(batch * channels, dtype=np.int64).reshape(batch, channels, 1) * count
    return (flat_indices + call.constant(first)).reshape(
        batch, channels, *window.output_size(tuple(size))
    )


@importer("MaxUnpool")
def import_max_unpool(call: Call) -> Real:
    """``MaxUnpool``: each maximum back to its place in an image of zeros."""
    x, flat_indices = call.value(0), call.value(1).cast(DType.I64)
    shape = numbers(call, x.shape)
    if call.has(2):
        output_shape = numbers(call, call.ints(2))
        output_shape = (
            (*shape[: len(shape) - len(output_shape)], *output_shape)
            if len(output_shape)
            else shape
        )
    else:
        output_shape = None
    natural = _natural_shape(call, shape)
    output_shape = natural if output_shape is None else output_shape
    size = math.prod(output_shape)
    if output_shape != natural:
        flat_indices = _reindex(call, flat_indices, natural, output_shape)
    zeros = call.constant(np.zeros((), x.dtype.numpy)).broadcast_to(size)
    return zeros.apply(real.RealScatter(), flat_indices.reshape(-1), x.reshape(-1)).reshape(
        *output_shape
    )


def _natural_shape(call: Call, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that the pool had without cut ends."""
    kernel = call.integers("kernel_shape") or ()
    strides = call.integers("strides") or (1,) * len(kernel)
    pads = call.integers("pads") or (0,) * (2 * len(kernel))
    if not len(kernel) == len(strides) == len(pads) / 2 == len(shape) - 2:
        raise call.malformed("kernel_shape, strides and pads do not fit the image")
    sizes = (
        (n - 1) * s - pads[i] - pads[i + len(kernel)] + k
        for i, (n, s, k) in enumerate(zip(shape[2:], strides, kernel, strict=True))
    )
    return (*shape[:2], *sizes)


def _reindex(call: Call, indices: Real, old: tuple[int, ...], new: tuple[int, ...]) -> Real:
    """Return flat places in a tensor as those of the same coordinates in a larger one."""
    result = call.constant(0, DType.I64).broadcast_to(*indices.shape)
    for size, before, after in zip(old, strides_of(old), strides_of(new), strict=True):
        result = result + (indices / before % size) * after
    return result


@importer("Col2Im")
def import_col2im(call: Call) -> Real:
    """``Col2Im``: windows added up to an image."""
    x, image, block = call.value(0), call.ints(1), call.ints(2)
    rank = len(image)
    strides = call.integers("strides") or (1,) * rank
    dilations = call.integers("dilations") or (1,) * rank
    pads = call.integers("pads") or (0,) * (2 * rank)
    batch, columns, count = numbers(call, x.shape)
    taps = math.prod(block)
    if not len(block) == len(strides) == len(dilations) == len(pads) / 2 == rank or columns % taps:
        raise call.malformed(f"blocks {list(block)} do not fit {x.type}")
    padded = [n + pads[i] + pads[i + rank] for i, n in enumerate(image)]
    steps = [(p - d * (k - 1) - 1) // s + 1
             for p, d, k, s in zip(padded, dilations, block, strides, strict=True)]  # fmt: skip
    if math.prod(steps) != count:
        raise call.malformed(f"there are {count} windows, but {math.prod(steps)} fit the image")
    tap, window = (np.indices(sizes).reshape(rank, -1) for sizes in (block, steps))
    scatter_indices = np.zeros((taps, count), np.int64)
    for i, stride in enumerate(strides_of(padded)):
        scatter_indices += (
            tap[i][:, None] * dilations[i] + window[i][None, :] * strides[i]
        ) * stride
    channels = columns // taps
    zeros = call.constant(np.zeros((), x.dtype.numpy))
    zeros = zeros.broadcast_to(batch, channels, math.prod(padded))
    summed = zeros.apply(
        real.RealScatter(axis=2, merge=Scatter.ADD),
        call.constant(scatter_indices),
        x.reshape(batch, channels, taps, count),
    ).reshape(batch, channels, *padded)
    inner = [slice(pads[i], pads[i] + n) for i, n in enumerate(image)]
    return summed[(slice(None), slice(None), *inner)]
