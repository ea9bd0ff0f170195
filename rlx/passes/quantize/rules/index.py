"""Elements selected by known indices, repeated or turned around: parts that are joined again.

Tests: tests/unit/passes/quantize/test_convert.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.ir import Refusal
from rlx.ops.q import QConcat, QSlice
from rlx.ops.real import RealBroadcastTo, RealGather, RealReverse
from rlx.passes.quantize.known import known
from rlx.passes.quantize.rules.call import rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from rlx.ir import Node, Value
    from rlx.passes.quantize.rules.call import NodeConversion

    Places = npt.NDArray[np.int64]

_MAX_PARTS = 64
"""Parts that an axis is put together of; more would be a program of slices."""


def _check_parts(count: int) -> Refusal | None:
    if count > _MAX_PARTS:
        return Refusal(f"it comes down to {count} slices, expected at most {_MAX_PARTS}")
    return None


def _runs(indices: Places) -> list[tuple[int, int, int]]:
    """Return places as (start, count, step) of runs with one positive step each."""
    runs: list[tuple[int, int, int]] = []
    for index in indices.tolist():
        if runs:
            start, count, step = runs[-1]
            ahead = index - start - (count - 1) * step
            if ahead > 0 and (count == 1 or ahead == step):
                runs[-1] = start, count + 1, ahead
                continue
        runs.append((index, 1, 1))
    return runs


def _repeats(indices: Places, size: int) -> int:
    """Return the number of repeats of each index if all occur in order equally often, else 0."""
    times = len(indices) // size
    whole = times > 1 and len(indices) == times * size
    return times if whole and (indices == np.repeat(np.arange(size), times)).all() else 0


def _places(node: Node) -> Places | None:
    """Return the indices of a gather, flat and counted from the front, if they are known."""
    indices, op = known(node.operands[1]), cast("RealGather", node.op)
    if indices is None:
        return None
    size = node.operands[0].type.static_shape[op.axis]
    flat = indices.astype(np.int64).reshape(-1)
    return np.where(flat < 0, flat + size, flat)


def _check_gather(node: Node) -> Refusal | None:
    places = _places(node)
    if places is None:
        return Refusal("its indices are computed")
    size = node.operands[0].type.static_shape[cast("RealGather", node.op).axis]
    if not places.size or (places < 0).any() or (places >= size).any():
        return Refusal("its indices are empty, or outside of the axis")
    return None if _repeats(places, size) else _check_parts(len(_runs(places)))


@rule(RealGather, check=_check_gather, shares=True)
def gather(call: NodeConversion) -> Sequence[Value]:
    """``gather(x, indices)`` with constant indices -> q.concat of q.slice."""
    x, places = call.quantized(0, call.quant), _places(call.node)
    assert places is not None
    axis = cast("RealGather", call.node.op).axis % x.type.rank
    return [call.reshape(_append_slices(call, x, axis, places), call.node.types[0].static_shape)]


def _append_slices(call: NodeConversion, x: Value, axis: int, indices: Places) -> Value:
    """Return the elements of one axis at known places."""
    shape = x.type.static_shape
    times = _repeats(indices, shape[axis])
    if times:
        front, back = shape[: axis + 1], shape[axis + 1 :]
        apart = call.reshape(x, (*front, 1, *back))
        repeated = joined_along(call, [apart] * times, axis + 1)
        return call.reshape(repeated, (*shape[:axis], shape[axis] * times, *back))
    parts = []
    for start, count, step in _runs(indices):
        first, stop, steps = [0] * len(shape), list(shape), [1] * len(shape)
        first[axis], stop[axis], steps[axis] = start, start + (count - 1) * step + 1, step
        op = QSlice(start=tuple(first), stop=tuple(stop), step=tuple(steps))
        same = tuple(stop) == shape and not any(first) and step == 1
        parts.append(x if same else call.emit(op, x, quant=x.type.quant))
    return joined_along(call, parts, axis)


def joined_along(call: NodeConversion, parts: Sequence[Value], axis: int) -> Value:
    """Return integer values of one scale joined along an axis."""
    if len(parts) == 1:
        return parts[0]
    return call.emit(QConcat(axis=axis), *parts, quant=parts[0].type.quant)


def _check_reverse(node: Node) -> Refusal | None:
    shape = node.types[0].static_shape
    sizes = [shape[a] for a in cast("RealReverse", node.op).axes]
    return _check_parts(max(sizes, default=1))


@rule(RealReverse, check=_check_reverse, shares=True)
def reverse(call: NodeConversion) -> Sequence[Value]:
    """``reverse(x)`` -> q.concat of q.slice, element by element of each axis."""
    x = call.quantized(0, call.quant)
    for axis in sorted(a % x.type.rank for a in cast("RealReverse", call.node.op).axes):
        x = _append_slices(call, x, axis, np.arange(x.type.static_shape[axis])[::-1])
    return [x]


def _copies(node: Node) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the operand's shape with 1 in front, and the number of repeats of each axis."""
    shape, given = node.types[0].static_shape, node.operands[0].type.static_shape
    grown = (*(1,) * (len(shape) - len(given)), *given)
    return grown, tuple(n // max(g, 1) for n, g in zip(shape, grown, strict=True))


def _check_broadcast(node: Node) -> Refusal | None:
    return _check_parts(max(_copies(node)[1], default=1))


@rule(RealBroadcastTo, check=_check_broadcast, shares=True)
def broadcast(call: NodeConversion) -> Sequence[Value]:
    """``broadcast_to(x)`` -> q.concat of copies along each axis that grows."""
    grown, copies = _copies(call.node)
    x = call.reshape(call.quantized(0, call.quant), grown)
    for axis, count in enumerate(copies):
        x = joined_along(call, [x] * count, axis)
    return [x]
