"""Arrays and lists as indices: ``x[[2, 0]]``, ``x[:, mask]``.

Tests: tests/unit/tracing/test_numpy_calls.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from rlx.ir import TensorType
    from rlx.ops.indexing import Index

Indices: TypeAlias = "npt.NDArray[Any] | list[Any] | tuple[Any, ...]"
"""An array or a list of indices, or a tuple with one among slices."""


def split_index(index: object) -> tuple[Index, int, npt.NDArray[Any]] | None:
    """Return an index with a slice in place of its array, the array's axis, and the array.

    The axis is one of the sliced value, counted from the end after an ellipsis. None if the index
    holds no array.

    Raises:
        TypeError: There are several arrays, or numbers and names beside one.
    """
    items = index if isinstance(index, tuple) else (index,)
    array_axes = [i for i, item in enumerate(items) if isinstance(item, list | np.ndarray)]
    if not array_axes:
        return None
    array_axis = array_axes[0]
    other_items = [*items[:array_axis], *items[array_axis + 1 :]]
    if not all(item is None or item is ... or isinstance(item, slice) for item in other_items):
        raise TypeError("expected one array of indices among slices, as x[:, indices]")
    array = np.asarray(items[array_axis])
    sliced = (*items[:array_axis], slice(None), *items[array_axis + 1 :])
    axis = array_axis - len(items) if ... in items[:array_axis] else array_axis
    return sliced, axis, array


def indices_along(array: npt.NDArray[Any], type_: TensorType, axis: int) -> npt.NDArray[np.int64]:
    """Return indices from 0 for an axis: of a mask those of its True, negative ones from the end.

    Raises:
        IndexError: One lies outside of the axis, or a mask is of another length.
        TypeError: They are neither integers nor booleans, or the axis has a symbol as its size.
    """
    size = type_.shape[axis]
    if not isinstance(size, int):
        raise TypeError(f"axis {axis} of {type_} is symbolic; use x.gather(indices, axis)")
    if array.dtype.kind == "b":
        if array.shape != (size,):
            raise IndexError(f"a mask of shape {list(array.shape)} for axis {axis} of {type_}")
        return np.flatnonzero(array)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"expected integers or booleans as indices, got {array.dtype}")
    whole = array.astype(np.int64)
    bad = whole[(whole < -size) | (whole >= size)]
    if bad.size:
        raise IndexError(f"index {bad[0]} is outside axis {axis} of {type_}")
    return np.where(whole < 0, whole + size, whole)
