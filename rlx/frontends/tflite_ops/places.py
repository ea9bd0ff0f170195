"""Operators on plain numbers that move elements: repeated, mirrored, gathered, in blocks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite_ops.importers import real_importer
from rlx.frontends.tflite_ops.tensors import require_type
from rlx.frontends.tflite_schema import TensorType
from rlx.ops.nn import Border, NnDepthToSpace, NnEmbedding, NnPad, NnSpaceToDepth, NnTile
from rlx.ops.real import (
    RealBroadcastTo,
    RealGather,
    RealPad,
    RealReshape,
    RealReverse,
    RealSlice,
    RealTranspose,
)

if TYPE_CHECKING:
    from rlx.frontends.tflite_ops.call import Call

Integers = tuple[int, ...]


@real_importer("BROADCAST_TO")
def import_broadcast_to(call: Call) -> None:
    """``BROADCAST_TO`` a constant shape."""
    call.arity(2)
    call.finish(RealBroadcastTo(shape=_result(call, call.integers(1))), call.value(0))


@real_importer("TILE")
def import_tile(call: Call) -> None:
    """``TILE`` with constant repeats."""
    call.arity(2)
    shape, repeats = call.input(0).shape, call.integers(1)
    if len(repeats) != len(shape):
        raise MalformedError(f"has {len(repeats)} repeats for {len(shape)} dimensions")
    _result(call, tuple(n * r for n, r in zip(shape, repeats, strict=True)))
    call.finish(NnTile(repeats=repeats), call.value(0))


@real_importer("MIRROR_PAD")
def import_mirror_pad(call: Call) -> None:
    """``MIRROR_PAD`` with constant widths: the elements at an end again, or those behind it."""
    call.arity(2)
    shape, widths = call.input(0).shape, call.integers(1)
    if len(widths) != 2 * len(shape):
        raise MalformedError(f"has {len(widths)} widths for {len(shape)} dimensions")
    before, after, border = widths[::2], widths[1::2], _BORDERS[call.options["mode"]]
    for b, n, a in zip(before, shape, after, strict=True):
        if not 0 <= min(b, a) <= max(b, a) <= n - (border is Border.REFLECT):
            raise MalformedError(f"mirrors {b} and {a} elements of {n}")
    call.finish(NnPad(before=before, after=after, border=border), call.value(0))


_BORDERS = (Border.REFLECT, Border.SYMMETRIC)


@real_importer("REVERSE_V2")
def import_reverse(call: Call) -> None:
    """``REVERSE_V2`` along constant axes."""
    call.arity(2)
    rank = len(call.input(0).shape)
    axes = tuple(sorted({call.axis(a, rank) for a in call.integers(1)}))
    call.finish(RealReverse(axes=axes), call.value(0))


@real_importer("GATHER")
def import_gather(call: Call) -> None:
    """``GATHER`` along one axis."""
    call.arity(2)
    if call.options["batch_dims"]:
        raise UnsupportedError(f"has batch_dims {call.options['batch_dims']}, want 0")
    shape = call.input(0).shape
    axis = call.axis(call.options["axis"], len(shape))
    _check_indices(call, 1, shape[axis])
    call.finish(RealGather(axis=axis), call.value(0), call.value(1))


@real_importer("EMBEDDING_LOOKUP")
def import_embedding_lookup(call: Call) -> None:
    """``EMBEDDING_LOOKUP``: rows of a table (input 1), of which each row is a vector."""
    call.arity(2)
    table = call.input(1)
    if len(table.shape) != 2:
        raise UnsupportedError(f"{table.label} is {table.described}, want 2 dimensions")
    _check_indices(call, 0, table.shape[0])
    call.finish(NnEmbedding(), call.value(1), call.value(0))


def _check_indices(call: Call, place: int, size: int) -> None:
    """Check the element type of indices and, where they are constant, that they are in range."""
    tensor = call.input(place)
    require_type(tensor, TensorType.INT32, TensorType.INT64)
    if tensor.data is None and tensor.index not in call.scope.known:
        return
    indices = call.numbers(place)
    if indices.size and not 0 <= indices.min() <= indices.max() < size:
        raise MalformedError(f"{tensor.label} takes indices that are not in 0 to {size - 1}")


@real_importer("DEPTH_TO_SPACE", "SPACE_TO_DEPTH")
def import_depth(call: Call) -> None:
    """``DEPTH_TO_SPACE`` and ``SPACE_TO_DEPTH``."""
    call.arity(1)
    make = NnDepthToSpace if call.operator.name == "DEPTH_TO_SPACE" else NnSpaceToDepth
    call.finish(make(block=call.options["block_size"]), call.value(0))


@real_importer("SPACE_TO_BATCH_ND")
def import_space_to_batch(call: Call) -> None:
    """``SPACE_TO_BATCH_ND``: padded, then each place of a block becomes an image of the batch."""
    block, before, after = _blocks(call)
    shape, count = call.input(0).shape, len(block)
    rest = len(shape) - 1 - count
    zeros = (0,) * rest
    grown = [b + n + a for b, n, a in zip(before, shape[1:], after, strict=False)]
    if any(n % size for n, size in zip(grown, block, strict=True)):
        raise MalformedError(f"blocks {list(block)} do not divide the padded size {grown}")
    op = RealPad(before=(0, *before, *zeros), after=(0, *after, *zeros))
    split = [n for size, part in zip(grown, block, strict=True) for n in (size // part, part)]
    parts = RealReshape(shape=(shape[0], *split, *shape[1 + count :]))
    axes = (
        *range(2, 2 * count + 1, 2),
        0,
        *range(1, 2 * count, 2),
        *range(2 * count + 1, 2 * count + 1 + rest),
    )
    value = call.emit(parts, call.emit(op, call.value(0)))
    moved = call.emit(RealTranspose(axes=axes), value)
    call.finish(RealReshape(shape=call.output.shape), moved)


@real_importer("BATCH_TO_SPACE_ND")
def import_batch_to_space(call: Call) -> None:
    """``BATCH_TO_SPACE_ND``: images of the batch become places of a block, then crops."""
    block, before, after = _blocks(call)
    shape, count = call.input(0).shape, len(block)
    batch, rest = shape[0] // math.prod(block), len(shape) - 1 - count
    if shape[0] % math.prod(block):
        raise MalformedError(f"blocks {list(block)} do not divide a batch of {shape[0]}")
    split = call.emit(RealReshape(shape=(*block, batch, *shape[1:])), call.value(0))
    pairs = [axis for i in range(count) for axis in (count + 1 + i, i)]
    axes = (count, *pairs, *range(2 * count + 1, 2 * count + 1 + rest))
    sizes = tuple(n * part for n, part in zip(shape[1:], block, strict=False))
    moved = call.emit(RealTranspose(axes=axes), split)
    whole = call.emit(RealReshape(shape=(batch, *sizes, *shape[1 + count :])), moved)
    stop = tuple(n - a for n, a in zip(sizes, after, strict=True))
    start = (0, *before, *(0,) * rest)
    ends = (batch, *stop, *shape[1 + count :])
    call.finish(RealSlice(start=start, stop=ends, step=(1,) * len(shape)), whole)


def _blocks(call: Call) -> tuple[Integers, Integers, Integers]:
    """Return the size of a block along each spatial axis, and two numbers for its ends."""
    call.arity(3)
    block, ends = call.integers(1), call.integers(2)
    if not 0 < len(block) < len(call.input(0).shape) or len(ends) != 2 * len(block):
        raise MalformedError(f"has {len(block)} blocks and {len(ends)} ends")
    if min(block) < 1 or min(ends) < 0:
        raise MalformedError(f"has the blocks {list(block)} and ends {list(ends)}")
    return block, ends[::2], ends[1::2]


def _result(call: Call, shape: Integers) -> Integers:
    """Return the shape of the result after comparing it with what the file claims."""
    if shape != call.output.shape:
        raise MalformedError(
            f"makes the shape {list(shape)}, but {call.output.label} is {call.output.described}"
        )
    return shape
