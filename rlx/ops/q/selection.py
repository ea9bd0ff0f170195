"""Elements of an axis at known indices, as slices that are joined again.

Values are appended by a function ``append(op, *operands)``, so that importers and conversions of
float graphs share these forms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from rlx.ir import Refusal
from rlx.ops.q.shape import QConcat, QReshape, QSlice

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from rlx.ir import Op, Value

    Indices = npt.NDArray[np.int64]

MAX_RUNS: Final = 64
"""Runs of indices along an axis; more would be a program of slices."""

_MAX_OPERANDS: Final = 16
"""Operands of one concatenation that reverses or repeats; longer axes take several."""

_MAX_COPIES: Final = 64
"""Copies of one concatenation; more are copies of copies."""


class Append(Protocol):
    """Appends an op to a graph and returns its only result."""

    def __call__(self, op: Op, *operands: Value) -> Value:
        """Return the result of ``op``."""


def check_runs(indices: Indices, size: int) -> Refusal | None:
    """Return the reason for which ``select`` has no form for the indices of an axis, or None."""
    if not indices.size or indices.min() < 0 or indices.max() >= size:
        return Refusal("its indices are empty, or outside of the axis")
    count = 1 if _repeats(indices, size) else len(_runs(indices))
    if count > MAX_RUNS:
        return Refusal(f"it comes down to {count} slices, expected at most {MAX_RUNS}")
    return None


def select(append: Append, x: Value, axis: int, indices: Indices) -> Value:
    """Return ``numpy.take(x, indices, axis)``; ``check_runs`` must accept the indices."""
    size = x.type.static_shape[axis]
    times = _repeats(indices, size)
    if times:
        return _repeat(append, x, axis, times)
    parts = []
    for start, count, step in _runs(indices):
        last = start + (count - 1) * step
        part = cut(append, x, axis, range(min(start, last), max(start, last) + 1, abs(step) or 1))
        if step < 0:
            part = reverse(append, part, axis)
        parts.append(copies(append, part, axis, count) if step == 0 else part)
    return join(append, parts, axis)


def cut(append: Append, x: Value, axis: int, indices: range) -> Value:
    """Return the elements of an axis in a range of positive step."""
    shape = x.type.static_shape
    if len(indices) == shape[axis]:
        return x
    start, stop, step = [0] * len(shape), list(shape), [1] * len(shape)
    start[axis], stop[axis], step[axis] = indices.start, indices[-1] + 1, indices.step
    return append(QSlice(start=tuple(start), stop=tuple(stop), step=tuple(step)), x)


def join(append: Append, parts: Sequence[Value], axis: int) -> Value:
    """Return values joined along an axis; the value itself if there is one."""
    return parts[0] if len(parts) == 1 else append(QConcat(axis=axis), *parts)


def copies(append: Append, x: Value, axis: int, count: int) -> Value:
    """Return ``count`` copies of a value, one after another along an axis."""
    if count <= _MAX_COPIES:
        return join(append, [x] * count, axis)
    whole, rest = divmod(count, _MAX_COPIES)
    parts = [copies(append, join(append, [x] * _MAX_COPIES, axis), axis, whole)]
    if rest:
        parts.append(join(append, [x] * rest, axis))
    return join(append, parts, axis)


def reverse(append: Append, x: Value, axis: int) -> Value:
    """Return the elements of an axis in opposite order.

    An axis of ``a * b`` is reversed as one of ``a`` and one of ``b``, each by few slices. Where the
    size has no small factor, its last element comes first, before the others reversed.
    """
    shape = x.type.static_shape
    size = shape[axis]
    if size == 1:
        return x
    rows = next((n for n in range(min(size, _MAX_OPERANDS), 1, -1) if size % n == 0), 0)
    if rows == size:
        return join(
            append, [cut(append, x, axis, range(i, i + 1)) for i in range(size)][::-1], axis
        )
    if not rows:
        head, last = (cut(append, x, axis, r) for r in (range(size - 1), range(size - 1, size)))
        return join(append, [last, reverse(append, head, axis)], axis)
    front, back = shape[:axis], shape[axis + 1 :]
    split = append(QReshape(shape=(*front, rows, size // rows, *back)), x)
    reversed_ = reverse(append, reverse(append, split, axis), axis + 1)
    return append(QReshape(shape=shape), reversed_)


def reverse_axes(append: Append, x: Value, axes: Sequence[int]) -> Value:
    """Return ``numpy.flip(x, axes)``."""
    for axis in axes:
        x = reverse(append, x, axis)
    return x


def _repeat(append: Append, x: Value, axis: int, times: int) -> Value:
    """Return each element of an axis several times in a row."""
    shape = x.type.static_shape
    apart = append(QReshape(shape=(*shape[: axis + 1], 1, *shape[axis + 1 :])), x)
    repeated = copies(append, apart, axis + 1, times)
    grown = (*shape[:axis], shape[axis] * times, *shape[axis + 1 :])
    return append(QReshape(shape=grown), repeated)


def _repeats(indices: Indices, size: int) -> int:
    """Return the number of repeats of each index if all occur in order equally often, else 0."""
    times = len(indices) // size
    whole = times > 1 and len(indices) == times * size
    return times if whole and (indices == np.repeat(np.arange(size), times)).all() else 0


def _runs(indices: Indices) -> list[tuple[int, int, int]]:
    """Return indices as (start, count, step) of runs with one step each, which may be negative."""
    runs: list[tuple[int, int, int]] = []
    for index in indices.tolist():
        if runs:
            start, count, step = runs[-1]
            ahead = index - start - (count - 1) * step
            if ahead > 0 and (count == 1 or ahead == step):
                runs[-1] = start, count + 1, ahead
                continue
        runs.append((index, 1, 1))
    return _join_singles(runs)


def _join_singles(runs: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Join runs of one index each to runs of three or more that fall, or are equal."""
    result: list[tuple[int, int, int]] = []
    singles: list[int] = []
    for start, count, step in [*runs, (0, 0, 1)]:
        if count == 1 and (len(singles) < 2 or start - singles[-1] == singles[1] - singles[0]):
            singles.append(start)
            continue
        if len(singles) > 2:
            result.append((singles[0], len(singles), singles[1] - singles[0]))
        else:
            result += [(index, 1, 1) for index in singles]
        singles = [start] if count == 1 else []
        result += [(start, count, step)] if count > 1 else []
    return result
