"""Pooling: a window's taps one after the other, each for all windows at once.

Tests: tests/unit/runtime/numpy_backend/test_kernels.py
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType
from rlx.ops import real
from rlx.ops.real.cast import integer_range
from rlx.runtime.numpy_backend.kernels.common import (
    call,
    scalar,
    sequence,
    wide_operand,
    wide_result,
)
from rlx.runtime.numpy_backend.kernels.shape import padding
from rlx.runtime.numpy_backend.step import KERNELS

if TYPE_CHECKING:
    from rlx.ops.real.window import SpatialWindow
    from rlx.runtime.numpy_backend.kernels.common import Numbers
    from rlx.runtime.numpy_backend.step import BoundStep, Run
    from rlx.runtime.numpy_backend.workspace import Workspace


def padded(
    window: SpatialWindow, x: Numbers, value: float, workspace: Workspace, runs: list[Run]
) -> Numbers:
    """Return ``x`` with padding around it; the work of each run is added to ``runs``."""
    if not window.is_padded:
        return x
    pads = ((0, 0), *window.padding, (0, 0))
    shape = tuple(before + n + after for (before, after), n in zip(pads, x.shape, strict=True))
    buffer = workspace.take(shape, x.dtype)
    before = [b for b, _ in pads]
    runs += padding(buffer, x, before, (0,) * x.ndim, value)
    return buffer


@KERNELS.rule(real.RealMaxPool)
def _max_pool(step: BoundStep) -> Run:
    op = step.node.op
    assert isinstance(op, real.RealMaxPool)
    dtype = DType.of(step.inputs[0])
    lowest = -math.inf if dtype.is_float else integer_range(dtype)[0]
    runs: list[Run] = []
    x = padded(op.window, wide_operand(step, 0, runs), lowest, step.workspace, runs)
    result, after = wide_result(step.outputs[0], step.workspace)
    views = [view for _, view in op.window.taps(x)]
    runs.append(partial(np.copyto, result, views[0]))
    runs += [call(np.maximum, result, view, out=result) for view in views[1:]]
    return sequence([*runs, *after])


@KERNELS.rule(real.RealAveragePool)
def _average_pool(step: BoundStep) -> Run:
    op = step.node.op
    assert isinstance(op, real.RealAveragePool)
    runs: list[Run] = []
    x = wide_operand(step, 0, runs)
    result, after = wide_result(step.outputs[0], step.workspace)
    runs += _sums(op.window, padded(op.window, x, 0, step.workspace, runs), result)
    count = scalar(math.prod(op.window.kernel), x.dtype)
    if op.window.is_padded and not op.count_padding:
        count = np.empty((1, *result.shape[1:-1], 1), x.dtype)
        ones = op.window.pad(np.ones((1, *x.shape[1:-1], 1), x.dtype), 0)
        sequence(_sums(op.window, ones, count))()
    runs.append(partial(np.divide, result, count, result))
    return sequence([*runs, *after])


def _sums(window: SpatialWindow, x: Numbers, out: Numbers) -> list[Run]:
    """Return the calls that sum each window of ``x``, whose padding is around it."""
    first, *others = [view for _, view in window.taps(x)]
    # Adding 0 makes 0 of -0, as the definition does.
    start = partial(np.add, first, scalar(0, x.dtype), out)
    return [start, *(partial(np.add, out, view, out) for view in others)]
