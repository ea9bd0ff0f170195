"""``STRIDED_SLICE``, whose options TensorFlow Lite Micro does not all read.

It ignores ``ellipsis_mask``, ``new_axis_mask`` and ``offset``, and refuses a model whose output
then has another shape. Such a model is imported as the options say, as LiteRT runs it; one whose
output has the shape is imported as TensorFlow Lite Micro runs it, with a warning.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from rlx.frontends.refusal import MalformedError
from rlx.frontends.tflite.ops import moves
from rlx.frontends.tflite.ops.importers import both_importer
from rlx.support.errors import ModelWarning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.frontends.tflite.ops.call import Call

_IGNORED: Final = ("ellipsis_mask", "new_axis_mask", "offset")
"""Options that TensorFlow Lite Micro does not read."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """Elements that the operator selects.

    Attributes:
        ranges: Indices of each axis of the input.
        shape: Shape of the output.
    """

    ranges: tuple[range, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    """Bounds and stride of one axis, and the bit of it in the masks."""

    begin: int
    end: int
    step: int
    bit: int


@both_importer("STRIDED_SLICE")
def import_strided_slice(call: Call) -> None:
    """``STRIDED_SLICE`` with every mask, and strides of either sign."""
    call.arity(4)
    call.check_moves()
    reading = _reading(call)
    value = moves.select_ranges(call, call.value(0), reading.ranges)
    if value.type.shape != reading.shape:
        value = call.emit(moves.reshape(call, reading.shape), value)
    call.bind(value)


def _reading(call: Call) -> _Reading:
    """Return the selection of TensorFlow Lite Micro, or LiteRT's where only LiteRT runs it."""
    entries = _entries(call)
    ignored = [name for name in _IGNORED if call.options[name]]
    if not ignored:
        return _resolve(call, entries, [None] * len(entries))
    offset = call.options["offset"]
    bounds = [replace(e, end=e.begin + e.end) if offset else e for e in entries]
    whole = _resolve(call, bounds, [_kind(call, entry) for entry in entries])
    plain = _plain(call, entries)
    if plain is None or plain == whole:
        return whole
    warnings.warn(
        f"{call.scope.model.source}: {call.operator.label}: has {' and '.join(ignored)}, which "
        "TensorFlow Lite Micro ignores; imported the same way, unlike LiteRT",
        ModelWarning,
        stacklevel=2,
    )
    return plain


def _plain(call: Call, entries: Sequence[_Entry]) -> _Reading | None:
    """Return the selection without the ignored options; None if the output has another shape."""
    if call.scope.model.leaves_open:
        return None
    bounds = entries[: len(call.input(0).shape)]
    try:
        plain = _resolve(call, bounds, [None] * len(bounds))
    except MalformedError:
        return None
    return plain if plain.shape == call.output.shape else None


def _entries(call: Call) -> list[_Entry]:
    """Return the entries of begin, end and stride."""
    columns = [call.integers(place) for place in (1, 2, 3)]
    counts = [len(column) for column in columns]
    axes = len(call.input(0).shape) + call.options["new_axis_mask"].bit_count()
    axes += bool(call.options["ellipsis_mask"])
    if len(set(counts)) > 1 or counts[0] > axes:
        raise MalformedError(
            "inputs 1 to 3 have {}, {} and {} numbers ".format(*counts)
            + f"for {len(call.input(0).shape)} dimensions"
        )
    if 0 in columns[2]:
        raise MalformedError(f"has the strides {list(columns[2])}, expected numbers other than 0")
    rows = zip(*columns, strict=True)
    return [_Entry(begin, end, step, 1 << n) for n, (begin, end, step) in enumerate(rows)]


def _kind(call: Call, entry: _Entry) -> str | None:
    """Return the mask that makes an entry something else than the bounds of an axis."""
    names = ("ellipsis_mask", "new_axis_mask")
    return next((name for name in names if call.options[name] & entry.bit), None)


def _resolve(call: Call, entries: Sequence[_Entry], kinds: Sequence[str | None]) -> _Reading:
    """Return the indices that entries select; axes without an entry are whole."""
    shape = call.input(0).shape
    bounded = sum(kind is None for kind in kinds)
    if bounded > len(shape):
        raise MalformedError(f"has {bounded} bounds for {len(shape)} dimensions")
    ranges: list[range] = []
    result: list[int] = []
    for entry, kind in zip_longest(entries, kinds):
        if kind == "new_axis_mask":
            result.append(1)
            continue
        if kind == "ellipsis_mask":
            whole = shape[len(ranges) : len(ranges) + len(shape) - bounded]
            ranges += map(range, whole)
            result += whole
            continue
        indices = _indices(call, len(ranges), entry)
        ranges.append(indices)
        if not call.options["shrink_axis_mask"] & entry.bit:
            result.append(len(indices))
    rest = shape[len(ranges) :]
    return _Reading((*ranges, *map(range, rest)), (*result, *rest))


def _indices(call: Call, axis: int, entry: _Entry) -> range:
    """Return the indices of one axis; masks and negative numbers are resolved as in Python."""
    size = call.input(0).shape[axis]
    begin = None if call.options["begin_mask"] & entry.bit else entry.begin
    end = None if call.options["end_mask"] & entry.bit else entry.end
    if call.options["shrink_axis_mask"] & entry.bit:
        index = 0 if begin is None else begin + size if begin < 0 else begin
        if not 0 <= index < size:
            raise MalformedError(f"takes index {begin} of axis {axis}, which has {size}")
        return range(index, index + 1)
    return range(*slice(begin, end, entry.step).indices(size))
