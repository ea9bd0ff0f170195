"""Ops that move elements.

Tests: tests/unit/runtime/numpy_backend/test_kernels.py
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rlx.ops import q, real
from rlx.runtime.numpy_backend.kernels.common import scalar, sequence
from rlx.runtime.numpy_backend.step import KERNELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array
    from rlx.runtime.numpy_backend.step import BoundStep, Run


@KERNELS.rule(
    real.RealReshape,
    real.RealTranspose,
    real.RealBroadcastTo,
    real.RealSlice,
    real.RealReverse,
)
def _view(step: BoundStep) -> Run:
    """Copy the result of ``evaluate``, for these ops a view of the operand."""
    (view,) = step.node.op.evaluate(step.inputs[0])
    return partial(np.copyto, step.outputs[0], view)


@KERNELS.rule(q.QReshape)
def _reshape(step: BoundStep) -> Run:
    (result,) = step.outputs
    return partial(np.copyto, result, step.inputs[0].reshape(result.shape))


@KERNELS.rule(q.QTranspose)
def _transpose(step: BoundStep) -> Run:
    op = step.node.op
    assert isinstance(op, q.QTranspose)
    return partial(np.copyto, step.outputs[0], step.inputs[0].transpose(op.axes))


@KERNELS.rule(q.QSlice)
def _slice(step: BoundStep) -> Run:
    op = step.node.op
    assert isinstance(op, q.QSlice)
    steps = zip(op.start, op.stop, op.step, strict=True)
    return partial(np.copyto, step.outputs[0], step.inputs[0][tuple(slice(*s) for s in steps)])


@KERNELS.rule(real.RealConcat, q.QConcat)
def _concat(step: BoundStep) -> Run:
    op, (result,) = step.node.op, step.outputs
    assert isinstance(op, real.RealConcat | q.QConcat)
    front = np.moveaxis(result, op.axis, 0)
    ends = np.cumsum([0, *(x.shape[op.axis] for x in step.inputs)]).tolist()
    return sequence(
        [
            partial(np.copyto, front[begin:end], np.moveaxis(x, op.axis, 0))
            for (begin, end), x in zip(pairwise(ends), step.inputs, strict=True)
        ]
    )


@KERNELS.rule(real.RealPad)
def _pad(step: BoundStep) -> Run:
    op, (x,) = step.node.op, step.inputs
    assert isinstance(op, real.RealPad)
    interior = op.interior or (0,) * x.ndim
    return sequence(padding(step.outputs[0], x, op.before, interior, op.value))


@KERNELS.rule(q.QPad)
def _pad_integers(step: BoundStep) -> Run:
    op, (x,) = step.node.op, step.inputs
    assert isinstance(op, q.QPad)
    return sequence(padding(step.outputs[0], x, op.before, (0,) * x.ndim, op.value))


def padding(
    target: Array, x: Array, before: Sequence[int], interior: Sequence[int], value: float
) -> list[Run]:
    """Return the calls that copy ``x`` into the middle of ``target`` and fill the rest.

    Args:
        target: Of any element type that ``x`` converts to.
        x: The elements.
        before: Places before them along each axis.
        interior: Places between neighbours along each axis.
        value: Value of the other places.
    """
    slices = tuple(
        slice(b, b + n + i * max(n - 1, 0), i + 1)
        for b, n, i in zip(before, x.shape, interior, strict=True)
    )
    fill = scalar(value, target.dtype)
    middle = partial(np.copyto, target[slices], x, casting="unsafe")
    if any(interior):
        return [partial(np.copyto, target, fill), middle]
    # Only around the elements: slabs before and after each axis.
    slabs = []
    interior_slices: list[slice] = []
    for interior_slice, size in zip(slices, target.shape, strict=True):
        ends = (slice(0, interior_slice.start), slice(interior_slice.stop, size))
        slabs += [(*interior_slices, end) for end in ends if end.stop > end.start]
        interior_slices.append(interior_slice)
    return [*(partial(np.copyto, target[slab], fill) for slab in slabs), middle]
