"""Reading and writing by index.

Tests: tests/unit/runtime/numpy_backend/test_kernels.py
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.ops import real
from rlx.ops.real.index import MERGE, Scatter
from rlx.runtime.numpy_backend.kernels.common import copy, sequence, share
from rlx.runtime.numpy_backend.step import KERNELS, prepare

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import Array
    from rlx.runtime.numpy_backend.step import BoundStep, Run

    Places = npt.NDArray[np.intp]

_MAX_SINGLE_UPDATES: Final = 64
"""Updates up to which each is written by a call of its own, without temporaries."""


def _check_indices(indices: Places, size: int, fail: Run) -> Run:
    """Return a function that calls ``fail`` if a place is not in an axis of ``size``."""
    low, high = np.empty((), np.intp), np.empty((), np.intp)

    def run() -> None:
        np.minimum.reduce(indices, axis=None, out=low)
        np.maximum.reduce(indices, axis=None, out=high)
        if low < -size or high >= size:
            fail()

    return run if indices.size else bool


@KERNELS.rule(real.RealGather)
def _gather(step: BoundStep) -> Run:
    op, (x, indices), (result,) = step.node.op, step.inputs, step.outputs
    assert isinstance(op, real.RealGather)
    if x.size == 0:
        return prepare(step)
    positions = step.workspace.take(indices.shape, np.intp)
    check = _check_indices(positions, x.shape[op.axis], partial(np.take, x, positions, op.axis))
    # Unlike "raise", "wrap" writes where it should; by then all places are in the axis.
    take = partial(np.take, x, positions, op.axis, result, "wrap")
    return sequence([copy(positions, indices), check, take])


@KERNELS.rule(real.RealScatter)
def _scatter(step: BoundStep) -> Run:
    op, (x, indices, updates), (result,) = step.node.op, step.inputs, step.outputs
    assert isinstance(op, real.RealScatter)
    replaces = op.merge is Scatter.REPLACE
    computable = replaces or result.dtype.kind in "iub" or result.dtype.itemsize >= 4
    if indices.size > _MAX_SINGLE_UPDATES or not computable:
        return prepare(step)
    positions = step.workspace.take(indices.shape, np.intp)
    size = x.shape[op.axis]
    fail = partial(np.take, np.empty(size, np.bool_), positions)
    runs: list[Run] = [copy(positions, indices), _check_indices(positions, size, fail)]
    if not share(x, result):
        runs.append(partial(np.copyto, result, x))
    axis = op.axis % x.ndim
    front = np.moveaxis(result, axis, 0)
    sources = range(axis, axis + indices.ndim)
    rows = np.moveaxis(updates, sources, range(indices.ndim))
    each = [rows[(*place, ...)] for place in np.ndindex(indices.shape)]
    runs.append(
        _write_rows(front, positions.reshape(-1), each, None if replaces else MERGE[op.merge])
    )
    return sequence(runs)


def _write_rows(front: Array, indices: Places, rows: list[Array], merge: np.ufunc | None) -> Run:
    """Return a function that writes each row at its place, in order."""
    if merge is None:
        return partial(_replace, front, indices, rows)
    return partial(_merge, front, indices, rows, merge)


def _replace(front: Array, indices: Places, rows: list[Array]) -> None:
    for place, row in zip(indices, rows, strict=True):
        front[place] = row


def _merge(front: Array, indices: Places, rows: list[Array], merge: np.ufunc) -> None:
    for place, row in zip(indices, rows, strict=True):
        target: Any = front[place, ...]
        merge(target, row, out=target)
