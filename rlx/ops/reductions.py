"""Arguments of reducing methods: ``x.sum(0, 1)``, and NumPy's ``x.sum(axis=(0, 1))``.

Tests: tests/unit/tracing/test_tensor.py
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

AxisLike: TypeAlias = "int | Sequence[int] | None"
"""An axis, several, or None for all."""


def reduced_axes(axes: Sequence[AxisLike], axis: AxisLike, rank: int) -> tuple[int, ...]:
    """Return the axes of a reduction that are given without a name, or as ``axis``; else all.

    Raises:
        TypeError: They are given in both ways, or one is not an integer.
    """
    if axes and axis is not None:
        raise TypeError(f"expected axes once, got {_written(axes)} and axis={axis!r}")
    arguments = axes or (axis,)
    if len(arguments) == 1 and arguments[0] is None:
        return tuple(range(rank))
    numbers = tuple(number for one in arguments for number in _integers(one))
    if not numbers:
        raise TypeError("expected an axis, got none; leave it out to reduce all of them")
    return numbers


def keeps_dimensions(keep_dims: bool | None, keepdims: bool | None) -> bool:
    """Return whether reduced axes stay as dimensions of 1, which two arguments say.

    Raises:
        TypeError: Both are given.
    """
    if keep_dims is not None and keepdims is not None:
        raise TypeError("expected keepdims or keep_dims, which mean the same, got both")
    return bool(keepdims if keep_dims is None else keep_dims)


def _integers(axis: object) -> Iterator[int]:
    """Yield the axes of one argument."""
    numbers = (axis,) if not isinstance(axis, Sequence) or isinstance(axis, str | bytes) else axis
    for number in numbers:
        if isinstance(number, bool) or not hasattr(number, "__index__"):
            raise TypeError(f"an axis must be an integer, got {number!r}")
        yield operator.index(number)


def _written(axes: Sequence[AxisLike]) -> str:
    return ", ".join(map(repr, axes))
