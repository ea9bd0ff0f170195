"""Parts, copies and borders of tensors.

Tests: tests/unit/frontends/onnx/ops/test_versions.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.onnx.ops.registry import importer
from rlx.ir import Dim, DType
from rlx.ir.dims import quotient
from rlx.ops import nn, real

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real


@importer("Slice")
def import_slice(call: Call) -> Real:
    """``Slice``: bounds are attributes before version 10, inputs since."""
    x = call.value(0)
    starts, ends, axes, steps = _bounds(call, x.ndim)
    index: list[slice] = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step == 0:
            raise call.malformed("a step is 0")
        longest = call.scope.limits.dimension
        index[call.axis(axis, x.ndim)] = _part(x.shape[axis], start, end, step, longest)
    return x[tuple(index)]


def _part(size: int | Dim, start: int | Dim, end: int | Dim, step: int, longest: int) -> slice:
    """Return one axis of a part as Python's; indices beyond the axis mean its ends.

    No axis is longer than ``longest``: exporters write the end of one that is open as 1e9,
    2^31 - 1 or 2^63 - 1.
    """
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
        indices = range(*slice(start, end, step).indices(size))
        if not indices:
            return slice(0, 0, 1)
        stop = indices[-1] + (1 if step > 0 else -1)
        return slice(indices[0], None if stop < 0 else stop, step)
    way = 1 if step > 0 else -1
    if _beyond(start, way, longest) or _beyond(end, -way, longest):
        return slice(0, 0, 1)
    first = None if _beyond(start, -way, longest) else start
    return slice(first, None if _beyond(end, way, longest) else end, step)


def _beyond(bound: int | Dim, way: int, longest: int) -> bool:
    """Return whether a bound is after the end of every axis; if ``way`` is -1, before its start."""
    return isinstance(bound, int) and bound * way >= longest


def _bounds(
    call: Call, rank: int
) -> tuple[Sequence[int | Dim], Sequence[int | Dim], Sequence[int], Sequence[int]]:
    """Return starts, ends, axes and steps."""
    starts: Sequence[int | Dim]
    ends: Sequence[int | Dim]
    if call.version < 10:
        starts, ends = call.integers("starts") or (), call.integers("ends") or ()
        axes, steps = call.integers("axes"), None
    else:
        starts, ends = call.dims(1), call.dims(2)
        axes = call.ints(3) if call.has(3) else None
        steps = call.ints(4) if call.has(4) else None
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise call.malformed("starts, ends, axes and steps are not of one length")
    if len({call.axis(a, rank) for a in axes}) < len(axes):
        raise call.malformed(f"axes {list(axes)} name an axis twice")
    return starts, ends, axes, steps


@importer("Split")
def import_split(call: Call) -> Sequence[Real]:
    """``Split``: into parts of given sizes, or into equal ones of which the last may be less."""
    x = call.value(0)
    axis = call.axis(call.integer("axis"), x.ndim)
    listed_sizes: Sequence[int | Dim] | None = call.integers("split")
    if listed_sizes is None and call.has(1):
        listed_sizes = call.dims(1)
    sizes = _equal(call, x.shape[axis]) if listed_sizes is None else listed_sizes
    if len(sizes) != len(call.node.outputs):
        raise call.malformed(f"has {len(call.node.outputs)} outputs for {len(sizes)} parts")
    return x.split(tuple(sizes), axis)


def _equal(call: Call, size: int | Dim) -> Sequence[int | Dim]:
    """Return the sizes of equal parts, one for each output."""
    count = call.integer("num_outputs", len(call.node.outputs))
    if count < 1 or count > call.scope.limits.operands:
        raise call.malformed(f"makes {count} parts")
    if isinstance(size, int):
        part = -(-size // count)
        return [max(min(part, size - i * part), 0) for i in range(count)]
    share = quotient(size, count)
    if share is None:
        raise call.refuse(
            f"the dimension {size} is not known to divide by {count}",
            "give the shape of the graph's inputs, as --input-shape NAME=1x3x224x224",
        )
    return [share] * count


@importer("Expand")
def import_expand(call: Call) -> Real:
    """``Expand``: both shapes broadcast."""
    return expanded(call, call.value(0), call.dims(1))


def expanded(call: Call, x: Real, shape: Sequence[int | Dim]) -> Real:
    """Return ``x`` broadcast together with a shape."""
    rank = max(x.ndim, len(shape))
    own = (1,) * (rank - x.ndim) + x.shape
    other = (1,) * (rank - len(shape)) + tuple(shape)
    for mine, theirs in zip(own, other, strict=True):
        if mine != theirs and 1 not in (mine, theirs):
            raise call.malformed(f"{x.type} does not broadcast with {list(map(str, shape))}")
    return x.broadcast_to(*(b if a == 1 else a for a, b in zip(own, other, strict=True)))


@importer("Tile")
def import_tile(call: Call) -> Real:
    """``Tile``."""
    return call.value(0).apply(nn.NnTile(repeats=call.ints(1)))


_BORDERS = {"reflect": nn.Border.REFLECT, "edge": nn.Border.EDGE, "wrap": nn.Border.WRAP}


@importer("Pad")
def import_pad(call: Call) -> Real:
    """``Pad``: the padding is a constant or continues the tensor; negative pads crop."""
    x, mode = call.value(0), call.text("mode")
    before, after = _pads(call, x.ndim)
    x = _cropped(x, before, after)
    before, after = ([max(n, 0) for n in side] for side in (before, after))
    if mode == "constant":
        return _constant_pad(call, x, tuple(before), tuple(after))
    if mode not in _BORDERS:
        raise call.malformed(f"mode is {mode!r}, expected constant, reflect, edge or wrap")
    return x.apply(nn.NnPad(before=tuple(before), after=tuple(after), border=_BORDERS[mode]))


def _pads(call: Call, rank: int) -> tuple[list[int], list[int]]:
    """Return the padding before and after each axis; negative numbers crop."""
    flat_pads = (call.integers("pads") or ()) if call.version < 11 else call.ints(1)
    axes = call.ints(3) if call.has(3) else tuple(range(rank))
    if len(flat_pads) != 2 * len(axes):
        raise call.malformed(f"has {len(flat_pads)} pads for {len(axes)} axes")
    limit = call.scope.limits.dimension
    if any(abs(n) > limit for n in flat_pads):
        raise call.malformed(f"pads are {list(flat_pads)}; the limit is {limit}")
    before, after = [0] * rank, [0] * rank
    for position, axis in enumerate(axes):
        before[call.axis(axis, rank)] = flat_pads[position]
        after[call.axis(axis, rank)] = flat_pads[len(axes) + position]
    return before, after


def _cropped(x: Real, before: Sequence[int], after: Sequence[int]) -> Real:
    """Return ``x`` without the elements that negative pads remove."""
    if min((*before, *after), default=0) >= 0:
        return x
    ends = zip(before, after, strict=True)
    return x[tuple(slice(max(-b, 0), a if a < 0 else None) for b, a in ends)]


def _constant_pad(call: Call, x: Real, before: tuple[int, ...], after: tuple[int, ...]) -> Real:
    """Return ``x`` with a constant around it."""
    if call.version < 11:
        value: float | int = call.number("value")
    elif call.has(2):
        known = call.known(2)
        if known is None:
            return _computed_pad(x, call.value(2), before, after)
        number = known.reshape(-1)[0]
        value = float(number) if x.dtype.is_float else int(number)
    else:
        value = 0
    return x.apply(real.RealPad(before=before, after=after, value=float(value)))


def _computed_pad(x: Real, value: Real, before: tuple[int, ...], after: tuple[int, ...]) -> Real:
    """Return ``x`` padded with a value that is known at run time only."""
    pad = real.RealPad(before=before, after=after)
    inside = x.wrap(x.graph.constant(np.ones((), np.bool_))).broadcast_to(*x.shape).apply(pad)
    return x.apply(pad).where(inside, value.reshape())


@importer("DepthToSpace")
def import_depth_to_space(call: Call) -> Real:
    """``DepthToSpace`` in both orders of channels."""
    mode = call.text("mode", "DCR")
    if mode not in ("DCR", "CRD"):
        raise call.malformed(f"mode is {mode!r}, expected DCR or CRD")
    op = nn.NnDepthToSpace(
        block=call.integer("blocksize"),
        column_row_depth=mode == "CRD",
        layout=nn.Layout.CHANNELS_FIRST,
    )
    return call.value(0).apply(op)


@importer("SpaceToDepth")
def import_space_to_depth(call: Call) -> Real:
    """``SpaceToDepth`` in both orders of channels."""
    x, block, mode = call.value(0), call.integer("blocksize"), call.text("mode", "DCR")
    op = nn.NnSpaceToDepth(block=block, layout=nn.Layout.CHANNELS_FIRST)
    deep = x.apply(op)
    if mode == "DCR":
        return deep
    if mode != "CRD":
        raise call.malformed(f"mode is {mode!r}, expected DCR or CRD")
    batch, channels, height, width = deep.shape
    squares = deep.reshape(batch, block * block, x.shape[1], height, width)
    return squares.transpose(0, 2, 1, 3, 4).reshape(batch, channels, height, width)


@importer("ReverseSequence")
def import_reverse_sequence(call: Call) -> Real:
    """``ReverseSequence``: the first elements of each sequence, up to its length, reversed."""
    x, lengths = call.value(0), call.value(1).cast(DType.I64)
    time, batch = call.integer("time_axis"), call.integer("batch_axis")
    if {time, batch} != {0, 1}:
        raise call.malformed(f"time_axis {time} and batch_axis {batch} are not 0 and 1")
    steps = x.shape[time]
    if not isinstance(steps, int):
        raise call.refuse(f"the dimension {steps} of the sequences is not known")
    step_index = call.constant(range(steps), DType.I64)
    step_index = step_index.reshape(steps, 1) if time == 0 else step_index.reshape(1, steps)
    ends = lengths.reshape(1, -1) if time == 0 else lengths.reshape(-1, 1)
    source = (ends - 1 - step_index).where(step_index < ends, step_index)
    source = source.reshape(*source.shape, *(1,) * (x.ndim - 2)).broadcast_to(*x.shape)
    return x.apply(real.RealTakeAlong(axis=time), source)
