"""Shape arithmetic that ops of every level share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Dim, Op, Shape, TensorType


def broadcast_shapes(op: Op, *types: TensorType) -> Shape:
    """Return the shape that ``types`` broadcast to by NumPy's rule, symbols included.

    Raises:
        ShapeError: Two dimensions differ and neither is 1.
    """
    rank = max(t.rank for t in types)
    result: Shape = ()
    for axis in range(-rank, 0):
        sizes = {t.shape[axis] for t in types if -axis <= t.rank} - {1}
        if len(sizes) > 1:
            raise op.refuse(f"shapes do not broadcast: {', '.join(map(str, types))}")
        result = (*result, sizes.pop() if sizes else 1)
    return result


def normalize_axis(op: Op, axis: int, rank: int) -> int:
    """Return ``axis`` counted from the front.

    Raises:
        ShapeError: It lies outside ``[-rank, rank)``.
    """
    if not -rank <= axis < rank:
        raise op.refuse(f"axis {axis} is outside a tensor of {rank} dimensions")
    return axis % rank


def normalize_axes(op: Op, axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return distinct ``axes`` counted from the front, sorted.

    Raises:
        ShapeError: One lies outside the rank or occurs twice.
    """
    normal = sorted(normalize_axis(op, a, rank) for a in axes)
    if len(set(normal)) != len(normal):
        raise op.refuse(f"axes {tuple(axes)} repeat an axis")
    return tuple(normal)


def joined(op: Op, dims: Shape) -> int | Dim:
    """Return the dimension of axes that are joined into one; a symbol only by itself.

    Raises:
        ShapeError: A symbol is multiplied.
    """
    rest = tuple(n for n in dims if n != 1)
    if len(rest) == 1:
        return rest[0]
    numbers = tuple(n for n in rest if isinstance(n, int))
    if len(numbers) != len(rest):
        raise op.refuse(f"cannot join the symbolic dimensions {', '.join(map(str, dims))}")
    return math.prod(numbers)
