"""Ops that compute each element independently.

The result may have the bytes of an operand: it is written by the last call that reads operands.

Tests: tests/unit/runtime/numpy_backend/test_kernels.py
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import DType
from rlx.ops import real
from rlx.ops.numerics.special import ERF_SCRATCH, erf_blocks, erf_into
from rlx.ops.real.binary import RELATIONS
from rlx.runtime.numpy_backend.kernels.common import (
    call,
    copy,
    scalar,
    sequence,
    share,
    wide_operand,
    wide_operands,
    wide_result,
)
from rlx.runtime.numpy_backend.step import KERNELS, prepare

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Op
    from rlx.runtime.numpy_backend.kernels.common import Numbers
    from rlx.runtime.numpy_backend.step import BoundStep, Run
    from rlx.runtime.numpy_backend.workspace import Workspace

_UNARY: Final[Mapping[type[Op], np.ufunc]] = {
    real.RealAbs: np.absolute,
    real.RealAcos: np.arccos,
    real.RealAsin: np.arcsin,
    real.RealAtan: np.arctan,
    real.RealCeil: np.ceil,
    real.RealCos: np.cos,
    real.RealExp: np.exp,
    real.RealExpm1: np.expm1,
    real.RealFloor: np.floor,
    real.RealLog: np.log,
    real.RealLog1p: np.log1p,
    real.RealNeg: np.negative,
    real.RealRound: np.rint,
    real.RealSign: np.sign,
    real.RealSin: np.sin,
    real.RealSqrt: np.sqrt,
    real.RealTan: np.tan,
    real.RealTanh: np.tanh,
}

_BINARY: Final[Mapping[type[Op], np.ufunc]] = {
    real.RealAdd: np.add,
    real.RealBitAnd: np.bitwise_and,
    real.RealBitOr: np.bitwise_or,
    real.RealBitXor: np.bitwise_xor,
    real.RealDiv: np.divide,
    real.RealMaximum: np.maximum,
    real.RealMinimum: np.minimum,
    real.RealMul: np.multiply,
    real.RealPow: np.power,
    real.RealRemainder: np.remainder,
    real.RealSub: np.subtract,
}

_OF_FLOATS: Final = (real.RealDiv, real.RealPow)
"""Ops that are one function of NumPy for floating-point values only."""


@KERNELS.rule(*_UNARY, *_BINARY)
def _function(step: BoundStep) -> Run:
    """Compute a function that NumPy has."""
    op, kind = type(step.node.op), step.inputs[0].dtype.kind
    if op in _OF_FLOATS and kind in "iu":
        return prepare(step)
    function = _UNARY[op] if op in _UNARY else _BINARY[op]
    runs: list[Run] = []
    operands = wide_operands(step, runs)
    result, after = wide_result(step.outputs[0], step.workspace)
    return sequence([*runs, call(function, *operands, out=result), *after])


@KERNELS.rule(real.RealRsqrt)
def _rsqrt(step: BoundStep) -> Run:
    runs: list[Run] = []
    x = wide_operand(step, 0, runs)
    result, after = wide_result(step.outputs[0], step.workspace)
    runs += [partial(np.sqrt, x, result), partial(np.reciprocal, result, result)]
    return sequence([*runs, *after])


@KERNELS.rule(real.RealSigmoid)
def _sigmoid(step: BoundStep) -> Run:
    runs: list[Run] = []
    x = wide_operand(step, 0, runs)
    result, after = wide_result(step.outputs[0], step.workspace)
    runs += sigmoid(x, result, step.workspace)
    return sequence([*runs, *after])


def sigmoid(x: Numbers, out: Numbers, workspace: Workspace) -> list[Run]:
    """Return the calls that compute ``RealSigmoid.function``."""
    small, upper = workspace.like(x), workspace.like(x)
    positive = workspace.take(x.shape, np.bool_)
    unit = scalar(1, x.dtype)
    return [
        # exp(-|x|) cannot overflow: 1 / (1 + e^-x) from 0 on, e^x / (1 + e^x) below.
        partial(np.absolute, x, small),
        partial(np.negative, small, small),
        partial(np.exp, small, small),
        partial(np.greater_equal, x, scalar(0, x.dtype), positive),
        partial(np.copyto, upper, small),
        partial(np.copyto, upper, unit, where=positive),
        partial(np.add, small, unit, small),
        partial(np.divide, upper, small, out),
    ]


@KERNELS.rule(real.RealErf)
def _erf(step: BoundStep) -> Run:
    runs: list[Run] = []
    x = wide_operand(step, 0, runs)
    result, after = wide_result(step.outputs[0], step.workspace)
    numbers, results = x.reshape(-1), result.reshape(-1)
    blocks = list(erf_blocks(x.size))
    widest = max((b.stop - b.start for b in blocks), default=0)
    scratch = step.workspace.take((ERF_SCRATCH, widest), x.dtype)
    mask = step.workspace.take((widest,), np.bool_)
    for block in blocks:
        size = block.stop - block.start
        parts = (numbers[block], results[block], scratch[:, :size], mask[:size])
        runs.append(partial(erf_into, *parts))
    return sequence([*runs, *after])


@KERNELS.rule(real.RealCompare)
def _compare(step: BoundStep) -> Run:
    op = step.node.op
    assert isinstance(op, real.RealCompare)
    runs: list[Run] = []
    x, y = wide_operands(step, runs)
    return sequence([*runs, partial(RELATIONS[op.relation], x, y, step.outputs[0])])


@KERNELS.rule(real.RealWhere)
def _where(step: BoundStep) -> Run:
    (condition, x, y), (result,) = step.inputs, step.outputs
    runs: list[Run] = []
    if share(condition, result):
        condition_copy = step.workspace.like(condition)
        runs.append(partial(np.copyto, condition_copy, condition))
        condition = condition_copy
    if share(x, result):
        # The condition may be broadcast; so is its opposite.
        other = step.workspace.like(condition)
        opposite = partial(np.logical_not, condition, other)
        return sequence([*runs, opposite, partial(np.copyto, result, y, where=other)])
    if not share(y, result):
        runs.append(partial(np.copyto, result, y))
    return sequence([*runs, partial(np.copyto, result, x, where=condition)])


@KERNELS.rule(real.RealCast)
def _cast(step: BoundStep) -> Run:
    op, (x,), (result,) = step.node.op, step.inputs, step.outputs
    assert isinstance(op, real.RealCast)
    if op.dtype is DType.BOOL:
        runs: list[Run] = []
        wide = wide_operand(step, 0, runs)
        return sequence([*runs, partial(np.not_equal, wide, scalar(0, wide.dtype), result)])
    if op.dtype.is_integer and (op.dtype.bits < 8 or DType.of(x).is_float):
        return prepare(step)
    return copy(result, x)


@KERNELS.rule(real.RealBitcast)
def _bitcast(step: BoundStep) -> Run:
    (x,), (result,) = step.inputs, step.outputs
    return partial(np.copyto, result, x.view(result.dtype))
