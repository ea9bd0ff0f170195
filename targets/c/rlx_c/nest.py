"""Loop nests over strided arrays, with as few loops as the strides allow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class StridedLoop:
    """One loop: its number of steps, and the stride of each array (in elements)."""

    extent: int
    strides: tuple[int, ...]


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a dense row-major array, in elements."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def broadcast_strides(shape: Sequence[int], to: Sequence[int]) -> tuple[int, ...]:
    """Return the strides with which an array of ``shape`` is read as one of shape ``to``."""
    own = tuple(0 if n == 1 else s for n, s in zip(shape, row_major(shape), strict=True))
    return (0,) * (len(to) - len(shape)) + own


def nest(shape: Sequence[int], *strides: Sequence[int]) -> tuple[StridedLoop, ...]:
    """Return the loops over ``shape``, outermost first, for arrays with ``strides``.

    Loops of one step are dropped, and two loops are merged where every array moves evenly through
    both. An empty result is a single element.
    """
    loops: list[StridedLoop] = []
    for extent, steps in zip(shape, zip(*strides, strict=True), strict=True):
        if extent == 1:
            continue
        if loops and _even(loops[-1], extent, steps):
            loops[-1] = StridedLoop(loops[-1].extent * extent, steps)
        else:
            loops.append(StridedLoop(extent, steps))
    return tuple(loops)


def reduction(
    shape: Sequence[int], axes: Iterable[int]
) -> tuple[tuple[StridedLoop, ...], tuple[StridedLoop, ...]]:
    """Return the loops of a reduction.

    Args:
        shape: Shape of the operand.
        axes: Axes that it reduces; negative ones count from the last.

    Returns:
        The loops over the results, with strides of operand and result, and the loops over the
        values of each, with the stride of the operand.
    """
    strides, reduced = row_major(shape), sorted({axis % len(shape) for axis in axes})
    kept = [axis for axis in range(len(shape)) if axis not in reduced]
    sizes = [shape[axis] for axis in kept]
    outer = nest(sizes, [strides[axis] for axis in kept], row_major(sizes))
    return outer, nest([shape[a] for a in reduced], [strides[a] for a in reduced])


def matrix_rows(x: Sequence[int], y: Sequence[int]) -> tuple[StridedLoop, ...]:
    """Return the loops over the rows of a matrix product, with strides of x, y and the result.

    The strides of ``y`` lead from matrix to matrix.

    Args:
        x: Shape of the left factors [..., M, K].
        y: Shape of the right factors [..., K, N]; the leading axes broadcast.
    """
    stack = np.broadcast_shapes(tuple(x[:-2]), tuple(y[:-2]))
    rows, (depth, columns) = x[-2], y[-2:]
    x_stack = (s * rows * depth for s in broadcast_strides(x[:-2], stack))
    y_stack = (s * depth * columns for s in broadcast_strides(y[:-2], stack))
    shape = (*stack, rows)
    results = (s * columns for s in row_major(shape))
    return nest(shape, (*x_stack, depth), (*y_stack, 0), tuple(results))


def _even(outer: StridedLoop, extent: int, steps: tuple[int, ...]) -> bool:
    return all(o == s * extent for o, s in zip(outer.strides, steps, strict=True))


def split_run(loops: tuple[StridedLoop, ...]) -> tuple[tuple[StridedLoop, ...], int]:
    """Split off the innermost loop if all arrays run through it element by element.

    Returns:
        The other loops, and the number of elements of the run (1 without a run).
    """
    if loops and set(loops[-1].strides) == {1}:
        return loops[:-1], loops[-1].extent
    return loops, 1
