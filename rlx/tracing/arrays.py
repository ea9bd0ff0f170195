"""Accepted forms of element types, shapes and constants.

Tests: tests/unit/tracing/test_graph.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from rlx.ir import Dim, DType
from rlx.ops.real.cast import integer_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, Shape, TensorType

_NARROW_FLOATS = tuple(d.numpy for d in (DType.BF16, DType.F8E4M3, DType.F8E5M2))

DTypeLike: TypeAlias = "DType | str | npt.DTypeLike"
ShapeLike: TypeAlias = "int | Sequence[int | str | Dim]"


def as_dtype(dtype: DTypeLike) -> DType:
    """Return an element type given as such, by name (``"f32"``) or as NumPy's.

    Raises:
        ValueError: There is no such element type.
    """
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, str) and dtype in DType._value2member_map_:
        return DType(dtype)
    try:
        return DType.of(np.dtype(dtype))
    except TypeError:
        known = ", ".join(d.value for d in DType)
        raise ValueError(f"no element type is called {dtype!r}; known: {known}") from None


def as_shape(shape: ShapeLike) -> Shape:
    """Return a shape; the name of a dimension becomes a symbol.

    Raises:
        TypeError: A dimension is neither an integer nor a name.
        ValueError: An integer is negative.
    """
    dims: list[int | Dim] = []
    for dim in (shape,) if isinstance(shape, int) else shape:
        if isinstance(dim, bool) or not isinstance(dim, int | np.integer | str | Dim):
            raise TypeError(f"a dimension must be a number or a name, got {dim!r}")
        if isinstance(dim, int | np.integer) and dim < 0:
            raise ValueError(f"a dimension must not be negative, got {dim}")
        if isinstance(dim, str):
            dims.append(Dim(dim))
        else:
            dims.append(dim if isinstance(dim, Dim) else int(dim))
    return tuple(dims)


def converted_to(array: Array, dtype: DType) -> Array | None:
    """Return ``array`` in another element type, or None if that would lose more than precision.

    Floating-point types accept any numbers; integer types accept integers in range.
    """
    if array.dtype == dtype.numpy:
        return array
    if array.dtype.kind not in "biuf" and array.dtype not in _NARROW_FLOATS:
        return None
    if dtype.is_float:
        return array.astype(dtype.numpy)
    if dtype.is_integer and array.dtype.kind in "iu":
        low, high = integer_range(dtype)
        if array.size == 0 or (low <= int(array.min()) and int(array.max()) <= high):
            return array.astype(dtype.numpy)
    return None


def array_like(value: object, like: TensorType) -> Array:
    """Return ``value`` as a constant operand next to a tensor: in its element type.

    Raises:
        TypeError: The values do not fit the element type.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" and array.dtype not in _NARROW_FLOATS:
        raise TypeError(f"an operand must be a tensor, a number or an array, got {value!r}")
    converted = converted_to(array, like.dtype)
    if converted is None:
        what = repr(value) if array.ndim == 0 else f"an array of {array.dtype}"
        raise TypeError(f"{what} does not fit a tensor {like}; cast the tensor first")
    return converted
