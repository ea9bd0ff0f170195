"""Reductions and scans along axes.

Tests: tests/unit/runtime/numpy_backend/test_kernels.py
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rlx.ops import q, real
from rlx.ops.real.reduce import ends_of
from rlx.runtime.numpy_backend.kernels.common import (
    copy,
    scalar,
    sequence,
    wide_operand,
    wide_result,
)
from rlx.runtime.numpy_backend.step import KERNELS

if TYPE_CHECKING:
    from rlx.runtime.numpy_backend.step import BoundStep, Run


@KERNELS.rule(real.RealReduceSum, real.RealReduceMean, real.RealReduceProd)
def _reduce(step: BoundStep) -> Run:
    op = step.node.op
    assert isinstance(op, real.RealReduceSum | real.RealReduceMean | real.RealReduceProd)
    runs: list[Run] = []
    x = wide_operand(step, 0, runs)
    result, after = wide_result(step.outputs[0], step.workspace)
    function = np.multiply if isinstance(op, real.RealReduceProd) else np.add
    runs.append(partial(function.reduce, x, op.axes, x.dtype, result, op.keep_dims))
    if isinstance(op, real.RealReduceMean):
        axes = {a % x.ndim for a in op.axes}
        count = scalar(math.prod(x.shape[a] for a in axes), x.dtype)
        runs.append(partial(np.divide, result, count, result))
    return sequence([*runs, *after])


@KERNELS.rule(real.RealReduceMax, real.RealReduceMin)
def _extreme(step: BoundStep) -> Run:
    op = step.node.op
    assert isinstance(op, real.RealReduceMax | real.RealReduceMin)
    runs: list[Run] = []
    x = wide_operand(step, 0, runs)
    result, after = wide_result(step.outputs[0], step.workspace)
    smallest, largest = ends_of(x)
    is_max = isinstance(op, real.RealReduceMax)
    reduce = np.maximum.reduce if is_max else np.minimum.reduce
    first = smallest if is_max else largest
    runs.append(partial(reduce, x, op.axes, None, result, op.keep_dims, first))
    return sequence([*runs, *after])


@KERNELS.rule(real.RealArgmax, real.RealArgmin)
def _choice(step: BoundStep) -> Run:
    op, (result,) = step.node.op, step.outputs
    assert isinstance(op, real.RealArgmax | real.RealArgmin)
    runs: list[Run] = []
    x = wide_operand(step, 0, runs)
    indices = step.workspace.take(result.shape, np.intp)
    function = np.argmax if isinstance(op, real.RealArgmax) else np.argmin
    runs.append(partial(function, np.flip(x, op.axis) if op.last else x, op.axis, indices))
    if op.last:
        end = scalar(x.shape[op.axis] - 1, np.intp)
        runs.append(partial(np.subtract, end, indices, indices))
    return sequence([*runs, copy(result, indices)])


@KERNELS.rule(q.QArgmax)
def _choose_integer(step: BoundStep) -> Run:
    op, (result,) = step.node.op, step.outputs
    assert isinstance(op, q.QArgmax)
    found = step.workspace.take(result.shape, np.intp)
    return sequence([partial(np.argmax, step.inputs[0], op.axis, found), copy(result, found)])


@KERNELS.rule(real.RealCumsum, real.RealCumprod)
def _scan(step: BoundStep) -> Run:
    op = step.node.op
    assert isinstance(op, real.RealCumsum | real.RealCumprod)
    runs: list[Run] = []
    x = wide_operand(step, 0, runs)
    result, after = wide_result(step.outputs[0], step.workspace)
    function = np.add if isinstance(op, real.RealCumsum) else np.multiply
    source, target = np.moveaxis(x, op.axis, 0), np.moveaxis(result, op.axis, 0)
    if op.exclusive:
        runs.append(partial(np.copyto, target[:1], scalar(op.neutral, x.dtype)))
        source, target = source[:-1], target[1:]
    runs.append(partial(function.accumulate, source, 0, x.dtype, target))
    return sequence([*runs, *after])
