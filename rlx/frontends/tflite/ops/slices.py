"""Operators that select parts of a tensor.

Tests: tests/unit/frontends/tflite/ops/test_shape.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.frontends.refusal import MalformedError
from rlx.frontends.tflite.ops import moves
from rlx.frontends.tflite.ops.importers import both_importer

if TYPE_CHECKING:
    from rlx.frontends.tflite.ops.call import Call

Integers = tuple[int, ...]


@both_importer("SLICE")
def import_slice(call: Call) -> None:
    """``SLICE``: constant begin and size; size -1 means up to the end."""
    call.arity(3)
    call.check_moves()
    shape = call.input(0).shape
    start, size = _each(call, 1, shape), _each(call, 2, shape)
    stop = tuple(
        whole if n == -1 else s + n for s, n, whole in zip(start, size, shape, strict=True)
    )
    call.finish(moves.part(call, start, stop), call.value(0))


def _each(call: Call, index: int, shape: Integers) -> Integers:
    """Return a constant input with one integer for each dimension."""
    values = call.integers(index)
    if len(values) != len(shape):
        raise MalformedError(f"input {index} has {len(values)} numbers for {len(shape)} dimensions")
    return values


@both_importer("SPLIT")
def import_split(call: Call) -> None:
    """``SPLIT`` into equal parts along a constant axis (input 0)."""
    call.arity(2, outputs=call.options["num_splits"])
    axis, size = _split_axis(call, 0, 1)
    count = call.options["num_splits"]
    if size % count:
        raise MalformedError(f"splits {size} indices into {count} parts")
    _split(call, 1, axis, (size // count,) * count)


@both_importer("SPLIT_V")
def import_split_v(call: Call) -> None:
    """``SPLIT_V`` into parts of constant sizes; one of them may be -1, the rest."""
    call.arity(3, outputs=call.options["num_splits"])
    axis, size = _split_axis(call, 2, 0)
    sizes = call.integers(1)
    if sizes.count(-1) == 1:
        rest = size - sum(s for s in sizes if s != -1)
        sizes = tuple(rest if s == -1 else s for s in sizes)
    if len(sizes) != len(call.outputs) or sum(sizes) != size:
        raise MalformedError(f"splits {size} indices into parts of {list(sizes)}")
    _split(call, 0, axis, sizes)


def _split_axis(call: Call, axis_place: int, index: int) -> tuple[int, int]:
    """Return the axis and the number of its indices."""
    values, shape = call.integers(axis_place), call.input(index).shape
    if len(values) != 1:
        raise MalformedError(f"has {len(values)} axes, expected 1")
    axis = call.axis(values[0], len(shape))
    return axis, shape[axis]


def _split(call: Call, index: int, axis: int, sizes: Integers) -> None:
    call.check_moves(index)
    shape, first = call.input(index).shape, 0
    for size, output in zip(sizes, call.outputs, strict=True):
        start, stop = [0] * len(shape), list(shape)
        start[axis], stop[axis] = first, first + size
        op = moves.part(call, tuple(start), tuple(stop))
        call.finish(op, call.value(index), output=output)
        first += size


@both_importer("UNPACK")
def import_unpack(call: Call) -> None:
    """``UNPACK``: one output for each index of an axis, which is removed."""
    call.arity(1, outputs=call.options["num"])
    call.check_moves()
    shape = call.input(0).shape
    axis = call.axis(call.options["axis"], len(shape))
    if shape[axis] != len(call.outputs):
        raise MalformedError(f"has {len(call.outputs)} outputs for {shape[axis]} indices")
    for index, output in enumerate(call.outputs):
        start, stop = [0] * len(shape), list(shape)
        start[axis], stop[axis] = index, index + 1
        op = moves.part(call, tuple(start), tuple(stop))
        part = call.emit(op, call.value(0))
        output = call.shaped((*shape[:axis], *shape[axis + 1 :]), output=output)
        call.finish(moves.reshape(call, output.shape), part, output=output)
