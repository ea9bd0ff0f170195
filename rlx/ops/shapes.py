"""Shape arithmetic that ops of every level share.

Tests: tests/unit/ops/q/test_arith.py
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rlx.ir import Dim
from rlx.ir.dims import product, quotient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Op, Shape, TensorType


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
        ShapeError: It is outside ``[-rank, rank)``.
    """
    if not -rank <= axis < rank:
        raise op.refuse(f"axis {axis} is outside a tensor of {rank} dimensions")
    return axis % rank


def normalize_axes(op: Op, axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return distinct ``axes`` counted from the front, sorted.

    Raises:
        ShapeError: One is outside the rank or occurs twice.
    """
    normal = sorted(normalize_axis(op, a, rank) for a in axes)
    if len(set(normal)) != len(normal):
        raise op.refuse(f"axes {tuple(axes)} repeat an axis")
    return tuple(normal)


def has_elements_of(shape: Shape, other: Shape) -> bool:
    """Return whether two shapes have equally many elements for all values of their symbols."""
    left, right = _differences(shape, other)
    return product(left) == product(right)


def missing_dimension(shape: Shape, sizes: Shape) -> int | Dim | None:
    """Return the dimension with which ``sizes`` has the elements of ``shape``, None if none."""
    left, right = _differences(shape, sizes)
    return quotient(product(left), product(right))


def _differences(shape: Shape, other: Shape) -> tuple[Shape, Shape]:
    """Return two shapes without the symbolic dimensions that both have."""
    mine, theirs = (Counter(n for n in s if isinstance(n, Dim)) for s in (shape, other))
    left, right = (tuple(n for n in s if isinstance(n, int)) for s in (shape, other))
    return (*left, *(mine - theirs).elements()), (*right, *(theirs - mine).elements())


def steps_between(op: Op, start: int | Dim, end: int | Dim, step: int) -> int | Dim:
    """Return the number of indices ``start, start + step, ... < end``.

    Raises:
        ShapeError: The symbols leave that open.
    """
    span = end - start
    count = -(-span // step) if isinstance(span, int) else quotient(span, step)
    if count is None:
        raise op.refuse(f"step {step} does not divide the {span} indices from {start} to {end}")
    return count
