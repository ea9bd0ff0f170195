"""Operators on unquantized values that move elements: repeated, mirrored, gathered.

Tests: tests/unit/frontends/tflite/ops/test_shape.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite.ops.importers import real_importer
from rlx.frontends.tflite.ops.tensors import require_type
from rlx.frontends.tflite.schema import TensorType
from rlx.ops.nn import Border, NnEmbedding, NnPad, NnTile
from rlx.ops.real import RealBroadcastTo, RealGather

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.frontends.tflite.ops.call import Call


@real_importer("BROADCAST_TO")
def import_broadcast_to(call: Call) -> None:
    """``BROADCAST_TO`` a constant shape."""
    call.finish(RealBroadcastTo(shape=broadcast_shape(call)), call.value(0))


def broadcast_shape(call: Call) -> tuple[int, ...]:
    """Return the shape that input 1 asks for."""
    call.arity(2)
    return call.makes(call.integers(1))


@real_importer("TILE")
def import_tile(call: Call) -> None:
    """``TILE`` with constant repeats."""
    call.finish(NnTile(repeats=repeats_of(call)), call.value(0))


def repeats_of(call: Call) -> tuple[int, ...]:
    """Return the number of repeats of each axis."""
    call.arity(2)
    shape, repeats = call.input(0).shape, call.integers(1)
    if len(repeats) != len(shape):
        raise MalformedError(f"has {len(repeats)} repeats for {len(shape)} dimensions")
    if min(repeats, default=1) < 1:
        raise UnsupportedError(f"has the repeats {list(repeats)}, expected numbers of at least 1")
    call.makes(tuple(n * r for n, r in zip(shape, repeats, strict=True)))
    return repeats


@real_importer("MIRROR_PAD")
def import_mirror_pad(call: Call) -> None:
    """``MIRROR_PAD`` with constant widths: the elements at an end again, or those after it."""
    before, after, border = mirrored(call)
    call.finish(NnPad(before=before, after=after, border=border), call.value(0))


def mirrored(call: Call) -> tuple[tuple[int, ...], tuple[int, ...], Border]:
    """Return the widths before and after each axis, and the element that a mirror begins with."""
    call.arity(2)
    shape, widths = call.input(0).shape, call.integers(1)
    if len(widths) != 2 * len(shape):
        raise MalformedError(f"has {len(widths)} widths for {len(shape)} dimensions")
    before, after, border = widths[::2], widths[1::2], _BORDERS[call.options["mode"]]
    for b, n, a in zip(before, shape, after, strict=True):
        if not 0 <= min(b, a) <= max(b, a) <= n - (border is Border.REFLECT):
            raise MalformedError(f"mirrors {b} and {a} elements of {n}")
    return before, after, border


_BORDERS = (Border.REFLECT, Border.SYMMETRIC)


@real_importer("GATHER")
def import_gather(call: Call) -> None:
    """``GATHER`` along one axis."""
    call.arity(2)
    if call.options["batch_dims"]:
        raise UnsupportedError(f"has batch_dims {call.options['batch_dims']}, expected 0")
    axis = gather_axis(call)
    _check_indices(call, 1, call.input(0).shape[axis])
    call.finish(RealGather(axis=axis), call.value(0), call.value(1))


def gather_axis(call: Call) -> int:
    """Return the axis that a ``GATHER`` indexes."""
    return call.axis(call.options["axis"], len(call.input(0).shape))


def checked_indices(call: Call, size: int) -> npt.NDArray[np.int64]:
    """Return the constant indices of a ``GATHER`` of int8 along an axis of ``size``."""
    indices, batch = call.numbers(1), call.options["batch_dims"]
    shape, axis = call.input(0).shape, gather_axis(call)
    if not 0 <= batch <= min(axis, indices.ndim) or shape[:batch] != indices.shape[:batch]:
        raise MalformedError(
            f"has batch_dims {batch} for axis {axis} of {call.input(0).described} and indices of "
            f"shape {list(indices.shape)}"
        )
    _check_indices(call, 1, size)
    return indices.astype(np.int64)


@real_importer("EMBEDDING_LOOKUP")
def import_embedding_lookup(call: Call) -> None:
    """``EMBEDDING_LOOKUP``: rows of a table (input 1), of which each row is a vector."""
    call.arity(2)
    table = call.input(1)
    if len(table.shape) != 2:
        raise UnsupportedError(f"{table.label} is {table.described}, expected 2 dimensions")
    _check_indices(call, 0, table.shape[0])
    call.finish(NnEmbedding(), call.value(1), call.value(0))


def _check_indices(call: Call, index: int, size: int) -> None:
    """Check the element type of indices and, where they are constant, that they are in range."""
    tensor = call.input(index)
    require_type(tensor, TensorType.INT32, TensorType.INT64)
    if tensor.data is None and tensor.index not in call.scope.known:
        return
    indices = call.numbers(index)
    if indices.size and not 0 <= indices.min() <= indices.max() < size:
        raise MalformedError(f"{tensor.label} takes indices that are not in 0 to {size - 1}")
