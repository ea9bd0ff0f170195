"""NumPy's spellings of shapes and indices, translated to ops."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from rlx.errors import ShapeError
from rlx.ir import Dim
from rlx.ops.real.shape import RealReshape, RealReverse, RealSlice

if TYPE_CHECKING:
    from types import EllipsisType

    from rlx.ir import Op, Shape, TensorType

IndexItem: TypeAlias = "int | slice | EllipsisType | None"
Index: TypeAlias = "IndexItem | tuple[IndexItem, ...]"


def known_shape(shape: Shape, wanted: Shape) -> Shape:
    """Return ``wanted`` with one -1 replaced by what is left of the elements of ``shape``.

    Raises:
        ShapeError: There are several -1, or nothing fits.
    """
    places = [i for i, n in enumerate(wanted) if n == -1]
    if not places:
        return wanted
    text = f"[{', '.join(map(str, wanted))}]"
    if len(places) > 1:
        raise ShapeError(f"only one dimension may be -1, not {text}", where="reshape")
    given = math.prod(n for n in wanted if isinstance(n, int) and n != -1)
    total = math.prod(n for n in shape if isinstance(n, int))
    symbols = Counter(n for n in shape if isinstance(n, Dim))
    symbols.subtract(n for n in wanted if isinstance(n, Dim))
    left = +symbols
    fits = given > 0 and total % given == 0 and min(symbols.values(), default=0) >= 0
    if not fits or left.total() > 1 or (left and total != given):
        source = f"[{', '.join(map(str, shape))}]"
        raise ShapeError(
            f"no dimension completes {text} to the elements of {source}", where="reshape"
        )
    (place,) = places
    missing: int | Dim = next(iter(left)) if left else total // given
    return (*wanted[:place], missing, *wanted[place + 1 :])


def indexing_ops(type_: TensorType, index: Index) -> list[Op]:
    """Return the ops that take ``x[index]`` of a tensor of ``type_``: slices, then a reshape.

    Raises:
        IndexError: There are too many indices, or one lies outside its axis.
        TypeError: An index is neither a number, a slice, None nor an ellipsis.
    """
    items = _spread(type_, index if isinstance(index, tuple) else (index,))
    ranges: list[range | None] = []
    shape: list[int | Dim] = []
    for item in items:
        if item is None:
            shape.append(1)
            continue
        axis = len(ranges)
        size = type_.shape[axis]
        taken = _range(type_, axis, item)
        ranges.append(taken)
        if isinstance(item, slice):
            shape.append(size if taken is None else len(taken))
    ops = _slices(ranges)
    if len(shape) != type_.rank or any(not isinstance(i, slice) for i in items):
        ops.append(RealReshape(shape=tuple(shape)))
    return ops


def _spread(type_: TensorType, index: tuple[IndexItem, ...]) -> list[IndexItem]:
    """Return ``index`` with the ellipsis, or the end, filled up with whole axes."""
    named = sum(item is not None and item is not ... for item in index)
    if named > type_.rank or sum(item is ... for item in index) > 1:
        raise IndexError(f"too many indices for {type_}: {index}")
    whole: list[IndexItem] = [slice(None)] * (type_.rank - named)
    if ... not in index:
        return [*index, *whole]
    place = index.index(...)
    return [*index[:place], *whole, *index[place + 1 :]]


def _range(type_: TensorType, axis: int, item: IndexItem) -> range | None:
    """Return the indices that ``item`` takes of an axis, None for all of them in order."""
    size = type_.shape[axis]
    if isinstance(item, slice):
        if item == slice(None) or isinstance(size, Dim):
            if item != slice(None):
                raise IndexError(f"axis {axis} of {type_} is symbolic and can only be taken whole")
            return None
        return range(*item.indices(size))
    if isinstance(item, bool) or not isinstance(item, int):
        raise TypeError(f"an index must be a number, a slice, None or ..., not {item!r}")
    if isinstance(size, Dim) or not -size <= item < size:
        raise IndexError(f"index {item} is outside axis {axis} of {type_}")
    return range(item % size, item % size + 1)


def _slices(ranges: list[range | None]) -> list[Op]:
    """Return the slice, and the reversal of axes that are read backwards."""
    if all(r is None for r in ranges):
        return []
    backwards = tuple(a for a, r in enumerate(ranges) if r is not None and r.step < 0)
    rising = [None if r is None else _rising(r) for r in ranges]
    ops: list[Op] = [
        RealSlice(
            start=tuple(0 if r is None else r.start for r in rising),
            stop=tuple(None if r is None else r.stop for r in rising),
            step=tuple(1 if r is None else r.step for r in rising),
        )
    ]
    if backwards:
        ops.append(RealReverse(axes=backwards))
    return ops


def _rising(indices: range) -> range:
    """Return the same indices in rising order, ending just behind the last one."""
    if not indices:
        return range(0)
    low, high = min(indices[0], indices[-1]), max(indices[0], indices[-1])
    return range(low, high + 1, abs(indices.step))
