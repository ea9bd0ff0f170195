"""Operators on int8 that select, repeat or mirror elements at places known in advance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite.ops import moves
from rlx.frontends.tflite.ops.importers import both_importer, importer
from rlx.frontends.tflite.ops.places import (
    broadcast_shape,
    checked_indices,
    gather_axis,
    mirrored,
    repeats_of,
)
from rlx.frontends.tflite.ops.table import finish_joined_table
from rlx.frontends.tflite.schema import TensorType
from rlx.ops.q import selection
from rlx.ops.real import RealGather

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.frontends.tflite.ops.call import Call
    from rlx.ir import Value

    Indices = npt.NDArray[np.int64]

_HINT = "select fewer or longer runs of elements, or do this step outside of the network"


@both_importer("REVERSE_V2")
def import_reverse(call: Call) -> None:
    """``REVERSE_V2`` along constant axes."""
    call.arity(2)
    call.check_moves()
    rank = len(call.input(0).shape)
    axes = sorted({call.axis(a, rank) for a in call.integers(1)})
    call.bind(_nonempty(call, moves.reverse(call, call.value(0), axes)))


@importer("TILE")
def import_copies(call: Call) -> None:
    """``TILE`` with constant repeats."""
    call.check_moves()
    value = call.value(0)
    for axis, count in enumerate(repeats_of(call)):
        value = selection.copies(call.emit, value, axis, count)
    call.bind(_nonempty(call, value))


@importer("BROADCAST_TO")
def import_broadcast(call: Call) -> None:
    """``BROADCAST_TO`` a constant shape."""
    shape = broadcast_shape(call)
    call.check_moves()
    old = call.input(0).shape
    grown = (*(1,) * (len(shape) - len(old)), *old)
    if len(grown) != len(shape) or any(n not in (1, m) for n, m in zip(grown, shape, strict=True)):
        raise MalformedError(f"broadcasts {call.input(0).described} to the shape {list(shape)}")
    value = call.emit(moves.reshape(call, grown), call.value(0))
    for axis, (before, after) in enumerate(zip(grown, shape, strict=True)):
        value = selection.copies(call.emit, value, axis, after // before)
    call.bind(value)


@importer("MIRROR_PAD")
def import_mirror_pad(call: Call) -> None:
    """``MIRROR_PAD`` with constant widths: the elements at an end again, or those after it."""
    before, after, border = mirrored(call)
    call.check_moves()
    value = call.value(0)
    for axis, (size, *widths) in enumerate(zip(call.input(0).shape, before, after, strict=True)):
        if any(widths):
            indices = np.pad(np.arange(size), widths, mode=border.value)
            value = _select(call, value, axis, indices)
    call.bind(_nonempty(call, value))


@importer("GATHER")
def import_gather(call: Call) -> None:
    """``GATHER`` by constant indices; after ``CAST`` and ``ADD`` of 128 from a table of 256."""
    call.arity(2)
    if call.input(1).type is TensorType.INT8:
        finish_joined_table(call)
        return
    if call.input(1).data is None and call.input(1).index not in call.scope.known:
        raise UnsupportedError(
            "takes quantized values by computed indices",
            hint="gather by constant indices, or in float",
        )
    call.check_moves()
    shape, axis = call.input(0).shape, gather_axis(call)
    indices = checked_indices(call, shape[axis])
    batch = call.options["batch_dims"]
    out = (*shape[:axis], *indices.shape[batch:], *shape[axis + 1 :])
    value = call.value(0)
    if batch:
        value = _rows(call, value, axis + 1)
        axis, indices = 0, _batch_places(shape[: axis + 1], batch, indices)
    value = _select(call, value, axis, indices.reshape(-1))
    call.bind(call.emit(moves.reshape(call, out), value))


def _batch_places(shape: tuple[int, ...], batch: int, indices: Indices) -> Indices:
    """Return the place in a tensor of ``shape`` of each element that is gathered along its end.

    Each of the first ``batch`` axes has its own indices.
    """
    lists = indices.reshape(*shape[:batch], *(1,) * (len(shape) - 1 - batch), -1)
    lists = np.broadcast_to(lists, (*shape[:-1], lists.shape[-1]))
    positions = np.arange(math.prod(shape)).reshape(shape)
    return np.take_along_axis(positions, lists, -1)


@both_importer("GATHER_ND")
def import_gather_nd(call: Call) -> None:
    """``GATHER_ND`` by constant indices."""
    call.arity(2)
    call.check_moves()
    shape, indices = call.input(0).shape, call.numbers(1)
    count = indices.shape[-1] if indices.ndim else 0
    if not 0 < count <= len(shape):
        raise MalformedError(f"has {count} indices for {len(shape)} dimensions")
    front = shape[:count]
    if indices.size and (indices.min() < 0 or (indices >= front).any()):
        raise MalformedError(f"{call.input(1).label} has indices outside of {list(front)}")
    flat_indices = np.ravel_multi_index(tuple(np.moveaxis(indices, -1, 0)), front).reshape(-1)
    value = _select(call, _rows(call, call.value(0), count), 0, flat_indices)
    call.bind(call.emit(moves.reshape(call, (*indices.shape[:-1], *shape[count:])), value))


def _rows(call: Call, value: Value, count: int) -> Value:
    """Return a value whose first ``count`` axes are one, and the others one."""
    shape = value.type.static_shape
    sizes = math.prod(shape[:count]), math.prod(shape[count:])
    return call.emit(moves.reshape(call, sizes), value)


def _select(call: Call, value: Value, axis: int, indices: Indices) -> Value:
    """Return the elements of an axis at known indices."""
    if call.is_real:
        constant = call.scope.graph.constant(indices.astype(np.int64), origin=call.origin)
        return call.emit(RealGather(axis=axis), value, constant)
    refusal = selection.check_runs(indices, value.type.static_shape[axis])
    if refusal is not None:
        raise UnsupportedError(refusal.reason, hint=_HINT)
    return selection.select(call.emit, value, axis, indices)


def _nonempty(call: Call, value: Value) -> Value:
    """Return a value under the operator's name, also where nothing was appended."""
    if value is not call.value(0):
        return value
    return call.emit(moves.reshape(call, value.type.static_shape), value)
