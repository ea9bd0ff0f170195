"""Operators that move squares of an image: into channels, into a batch, and back.

Tests: tests/unit/frontends/tflite/ops/test_reals.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlx.frontends.refusal import MalformedError
from rlx.frontends.tflite.ops import moves
from rlx.frontends.tflite.ops.importers import both_importer, importer, real_importer
from rlx.ops.nn import NnDepthToSpace, NnSpaceToDepth

if TYPE_CHECKING:
    from rlx.frontends.tflite.ops.call import Call

Integers = tuple[int, ...]


@real_importer("DEPTH_TO_SPACE", "SPACE_TO_DEPTH")
def import_depth(call: Call) -> None:
    """``DEPTH_TO_SPACE`` and ``SPACE_TO_DEPTH``."""
    call.arity(1)
    make = NnDepthToSpace if call.operator.name == "DEPTH_TO_SPACE" else NnSpaceToDepth
    call.finish(make(block=call.options["block_size"]), call.value(0))


@importer("DEPTH_TO_SPACE")
def import_depth_to_space(call: Call) -> None:
    """``DEPTH_TO_SPACE``: channels become squares of the image."""
    batch, height, width, channels = _image(call)
    side = call.options["block_size"]
    depth, rest = divmod(channels, side * side)
    if rest:
        raise MalformedError(f"{channels} channels do not make squares of side {side}")
    _permute(
        call,
        (batch, height, width, side, side, depth),
        (batch, height * side, width * side, depth),
    )


@importer("SPACE_TO_DEPTH")
def import_space_to_depth(call: Call) -> None:
    """``SPACE_TO_DEPTH``: squares of the image become channels."""
    batch, height, width, channels = _image(call)
    side = call.options["block_size"]
    if height % side or width % side:
        raise MalformedError(f"squares of side {side} do not cover {call.input(0).described}")
    _permute(
        call,
        (batch, height // side, side, width // side, side, channels),
        (batch, height // side, width // side, side * side * channels),
    )


def _image(call: Call) -> Integers:
    """Return the shape of the only input, an image."""
    call.arity(1)
    call.check_moves()
    image = call.input(0)
    if len(image.shape) != 4:
        raise MalformedError(f"{image.label} is {image.described}, expected 4 dimensions")
    return image.shape


def _permute(call: Call, parts: Integers, result: Integers) -> None:
    """Append a transpose that exchanges the third and fourth of six axes."""
    value = call.emit(moves.reshape(call, parts), call.value(0))
    moved = call.emit(moves.transpose(call, (0, 1, 3, 2, 4, 5)), value)
    call.finish(moves.reshape(call, result), moved)


@both_importer("SPACE_TO_BATCH_ND")
def import_space_to_batch(call: Call) -> None:
    """``SPACE_TO_BATCH_ND``: padded, then each place of a block becomes an image of the batch."""
    block, before, after = _blocks(call)
    shape, count = call.input(0).shape, len(block)
    rest = len(shape) - 1 - count
    zeros = (0,) * rest
    grown = [b + n + a for b, n, a in zip(before, shape[1:], after, strict=False)]
    if any(n % size for n, size in zip(grown, block, strict=True)):
        raise MalformedError(f"blocks {list(block)} do not divide the padded size {grown}")
    padded = moves.pad(call, (0, *before, *zeros), (0, *after, *zeros))
    split = [n for size, part in zip(grown, block, strict=True) for n in (size // part, part)]
    parts = moves.reshape(call, (shape[0], *split, *shape[1 + count :]))
    axes = (
        *range(2, 2 * count + 1, 2),
        0,
        *range(1, 2 * count, 2),
        *range(2 * count + 1, 2 * count + 1 + rest),
    )
    value = call.emit(parts, call.emit(padded, call.value(0)))
    blocks_first = call.emit(moves.transpose(call, axes), value)
    images = shape[0] * math.prod(block)
    sizes = (n // size for n, size in zip(grown, block, strict=True))
    call.finish(moves.reshape(call, (images, *sizes, *shape[1 + count :])), blocks_first)


@both_importer("BATCH_TO_SPACE_ND")
def import_batch_to_space(call: Call) -> None:
    """``BATCH_TO_SPACE_ND``: images of the batch become places of a block, then crops."""
    block, before, after = _blocks(call)
    shape, count = call.input(0).shape, len(block)
    batch, rest = shape[0] // math.prod(block), len(shape) - 1 - count
    if shape[0] % math.prod(block):
        raise MalformedError(f"blocks {list(block)} do not divide a batch of {shape[0]}")
    split = call.emit(moves.reshape(call, (*block, batch, *shape[1:])), call.value(0))
    pairs = [axis for i in range(count) for axis in (count + 1 + i, i)]
    axes = (count, *pairs, *range(2 * count + 1, 2 * count + 1 + rest))
    sizes = tuple(n * part for n, part in zip(shape[1:], block, strict=False))
    blocks_inside = call.emit(moves.transpose(call, axes), split)
    whole = call.emit(moves.reshape(call, (batch, *sizes, *shape[1 + count :])), blocks_inside)
    stop = tuple(n - a for n, a in zip(sizes, after, strict=True))
    start = (0, *before, *(0,) * rest)
    call.finish(moves.part(call, start, (batch, *stop, *shape[1 + count :])), whole)


def _blocks(call: Call) -> tuple[Integers, Integers, Integers]:
    """Return the size of a block along each spatial axis, and two integers for its ends."""
    call.arity(3)
    call.check_moves()
    block, ends = call.integers(1), call.integers(2)
    if not 0 < len(block) < len(call.input(0).shape) or len(ends) != 2 * len(block):
        raise MalformedError(f"has {len(block)} blocks and {len(ends)} ends")
    if min(block) < 1 or min(ends) < 0:
        raise MalformedError(f"has the blocks {list(block)} and ends {list(ends)}")
    return block, ends[::2], ends[1::2]
