"""NumPy's spellings of shapes and indices, translated to ops.

Tests: tests/unit/tracing/test_tensor.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rlx.ir import Dim
from rlx.ir.dims import is_negative
from rlx.ops.real.shape import RealReshape, RealReverse, RealSlice
from rlx.ops.shapes import missing_dimension
from rlx.support.errors import ShapeError

if TYPE_CHECKING:
    from types import EllipsisType

    from rlx.ir import Op, Shape, TensorType

IndexItem: TypeAlias = "int | Dim | slice | EllipsisType | None"
Index: TypeAlias = "IndexItem | tuple[IndexItem, ...]"


def known_shape(shape: Shape, requested: Shape) -> Shape:
    """Return ``requested`` with one -1 replaced by the rest of the elements of ``shape``.

    Raises:
        ShapeError: There are several -1, or nothing fits.
    """
    unknown_axes = [i for i, n in enumerate(requested) if n == -1]
    if not unknown_axes:
        return requested
    text = f"[{', '.join(map(str, requested))}]"
    if len(unknown_axes) > 1:
        raise ShapeError(f"only one dimension may be -1, got {text}", where="reshape")
    (unknown_axis,) = unknown_axes
    missing = missing_dimension(shape, (*requested[:unknown_axis], *requested[unknown_axis + 1 :]))
    if missing is None or is_negative(missing):
        source = f"[{', '.join(map(str, shape))}]"
        raise ShapeError(
            f"no dimension completes {text} to the elements of {source}", where="reshape"
        )
    return (*requested[:unknown_axis], missing, *requested[unknown_axis + 1 :])


@dataclass(frozen=True, slots=True)
class _Part:
    """Indices of one axis: ``start, start + step, ... < stop``, where None is the axis's end.

    Attributes:
        start: First index.
        stop: End index.
        step: Step, at least 1.
        backwards: Whether the last index comes first.
    """

    start: int | Dim = 0
    stop: int | Dim | None = None
    step: int = 1
    backwards: bool = False


_WHOLE = _Part()


def indexing_ops(type_: TensorType, index: Index) -> list[Op]:
    """Return the ops that compute ``x[index]`` of a tensor of ``type_``: slices, then a reshape.

    Raises:
        IndexError: There are too many indices, or one is outside its axis.
        TypeError: An index is neither a number, a slice, None nor an ellipsis.
    """
    items = _spread(type_, index if isinstance(index, tuple) else (index,))
    axes = enumerate(item for item in items if item is not None)
    parts = [_part(type_, axis, item) for axis, item in axes]
    ops = _slices(parts)
    if any(not isinstance(i, slice) for i in items):
        (sliced,) = ops[0].infer(type_) if ops else (type_,)
        sizes = iter(sliced.shape)
        spread = ((item, 1 if item is None else next(sizes)) for item in items)
        shape = tuple(size for item, size in spread if item is None or isinstance(item, slice))
        ops.append(RealReshape(shape=shape))
    return ops


def _spread(type_: TensorType, index: tuple[IndexItem, ...]) -> list[IndexItem]:
    """Return ``index`` with the ellipsis, or the end, filled up with whole axes."""
    named = sum(item is not None and item is not ... for item in index)
    if named > type_.rank or sum(item is ... for item in index) > 1:
        raise IndexError(f"too many indices for {type_}: {index}")
    whole: list[IndexItem] = [slice(None)] * (type_.rank - named)
    if ... not in index:
        return [*index, *whole]
    ellipsis_index = index.index(...)
    return [*index[:ellipsis_index], *whole, *index[ellipsis_index + 1 :]]


def _part(type_: TensorType, axis: int, item: IndexItem) -> _Part:
    """Return the indices that ``item`` selects from an axis."""
    size = type_.shape[axis]
    if isinstance(item, slice):
        if item == slice(None):
            return _WHOLE
        if isinstance(size, int) and not _symbolic(item):
            return _rising(range(*item.indices(size)))
        return _symbolic_part(type_, axis, item)
    if isinstance(item, bool) or not isinstance(item, int | Dim):
        raise TypeError(f"an index must be a number, a slice, None or ..., got {item!r}")
    start = _from_front(item, size)
    if is_negative(start) or is_negative(size - start - 1):
        raise IndexError(f"index {item} is outside axis {axis} of {type_}")
    return _Part(start, start + 1)


def _symbolic(item: slice) -> bool:
    """Return whether a bound of a slice is a symbol."""
    return isinstance(item.start, Dim) or isinstance(item.stop, Dim)


def _symbolic_part(type_: TensorType, axis: int, item: slice) -> _Part:
    """Return the indices that a slice selects where the axis or a bound is a symbol.

    Bounds are assumed to be within the axis, which binding the symbols checks.
    """
    step = 1 if item.step is None else item.step
    if not isinstance(step, int) or step < 1:
        raise IndexError(f"axis {axis} of {type_} is symbolic and takes no step of {step}")
    start = 0 if item.start is None else _from_front(item.start, type_.shape[axis])
    stop = None if item.stop is None else _from_front(item.stop, type_.shape[axis])
    return _Part(start, stop, step)


def _from_front(index: int | Dim, size: int | Dim) -> int | Dim:
    """Return an index counted from the front; negative numbers count from the end."""
    return size + index if isinstance(index, int) and index < 0 else index


def _slices(parts: list[_Part]) -> list[Op]:
    """Return the slice, and the reversal of axes that are read backwards."""
    if all(part == _WHOLE for part in parts):
        return []
    ops: list[Op] = [
        RealSlice(
            start=tuple(p.start for p in parts),
            stop=tuple(p.stop for p in parts),
            step=tuple(p.step for p in parts),
        )
    ]
    if any(p.backwards for p in parts):
        ops.append(RealReverse(axes=tuple(a for a, p in enumerate(parts) if p.backwards)))
    return ops


def _rising(indices: range) -> _Part:
    """Return the same indices in rising order, ending just after the last one."""
    if not indices:
        return _Part(0, 0, 1, backwards=indices.step < 0)
    low, high = min(indices[0], indices[-1]), max(indices[0], indices[-1])
    return _Part(low, high + 1, abs(indices.step), backwards=indices.step < 0)
