"""Operators that move elements: repeated, mirrored, gathered.

Tests: tests/unit/frontends/tflite/ops/test_shape.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite.ops.importers import importer, real_importer
from rlx.frontends.tflite.ops.tensors import require_type
from rlx.frontends.tflite.schema import TensorType
from rlx.ops.nn import Border, NnEmbedding, NnPad, NnTile
from rlx.ops.q import QConcat
from rlx.ops.real import RealBroadcastTo, RealGather, RealReverse

if TYPE_CHECKING:
    from rlx.frontends.tflite.ops.call import Call

_MAX_COPIES = 64
"""Copies along an axis: each is an operand of a concatenation."""


@real_importer("BROADCAST_TO")
def import_broadcast_to(call: Call) -> None:
    """``BROADCAST_TO`` a constant shape."""
    call.arity(2)
    call.finish(RealBroadcastTo(shape=call.makes(call.integers(1))), call.value(0))


@real_importer("TILE")
def import_tile(call: Call) -> None:
    """``TILE`` with constant repeats."""
    call.finish(NnTile(repeats=_repeats(call)), call.value(0))


@importer("TILE")
def import_copies(call: Call) -> None:
    """``TILE`` with constant repeats, at most 64 along an axis."""
    call.check_moves()
    value = call.value(0)
    for axis, count in enumerate(_repeats(call)):
        if count > _MAX_COPIES:
            raise UnsupportedError(
                f"repeats axis {axis} {count} times; on int8 rlx takes at most {_MAX_COPIES}",
                hint="repeat in two steps, or compute with the shorter tensor (shapes broadcast)",
            )
        if count > 1:
            value = call.emit(QConcat(axis=axis), *(value,) * count)
    call.bind(value)


def _repeats(call: Call) -> tuple[int, ...]:
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
        raise UnsupportedError(f"has batch_dims {call.options['batch_dims']}, expected 0")
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
