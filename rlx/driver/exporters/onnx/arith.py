"""Elementwise arithmetic, reductions and functions of one value.

Tests: tests/unit/driver/exporters/test_onnx.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from rlx.driver.exporters.nodes import MADE_FOR_TARGETS
from rlx.driver.exporters.onnx.call import AxisOrder
from rlx.driver.exporters.onnx.rules import RULES
from rlx.ir import DType, QuantParams
from rlx.ops.q import (
    QAdd,
    QArgmax,
    QChain,
    QClamp,
    QConvert,
    QDiv,
    QL2Norm,
    QMaximum,
    QMean,
    QMinimum,
    QMul,
    QPrelu,
    QRequantize,
    QSoftmax,
    QSquaredDifference,
    QSub,
    QTable,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.driver.exporters.onnx.call import ExportedNode

Floats: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"

_AXES_AS_INPUT: Final = 18
"""Version of ai.onnx from which the axes of ReduceMean are an input."""


RULES.refuse(MADE_FOR_TARGETS, QChain)


@RULES.rule(QAdd, QSub, QMul)
def export_binary(call: ExportedNode) -> None:
    """``Add``, ``Sub`` and ``Mul``."""
    op = cast("QAdd | QMul", call.op)
    _require_binary(call, op)
    layout = _common_layout(call)
    operands = (call.real(v, layout) for v in call.node.operands)
    name = {"q.add": "Add", "q.sub": "Sub", "q.mul": "Mul"}[op.name]
    call.finish(call.emit(name, *operands), layout, (op.low, op.high))


def _require_binary(call: ExportedNode, op: QAdd | QMul) -> None:
    """Refuse factors that are not those of the scales of operands and result."""
    x, y = (call.params(v).scale[0] for v in call.node.operands)
    scale = call.params(call.result).scale[0]
    if isinstance(op, QMul):
        call.require_factor(op.rescale.real, [x * y / scale])
        return
    common = op.rescale.real[0] * 2.0**op.left_shift
    call.require_factor([common * op.x_rescale.real[0]], [x / scale])
    call.require_factor([common * op.y_rescale.real[0]], [y / scale])


@RULES.rule(QDiv)
def export_div(call: ExportedNode) -> None:
    """``Div``."""
    op = cast("QDiv", call.op)
    (x, y), scale = (call.params(v).scale[0] for v in call.node.operands), call.params(call.result)
    call.require_factor(op.rescale.real, [x / (y * scale.scale[0])])
    layout = _common_layout(call)
    operands = (call.real(v, layout) for v in call.node.operands)
    call.finish(call.emit("Div", *operands), layout, (op.low, op.high))


@RULES.rule(QSquaredDifference)
def export_squared_difference(call: ExportedNode) -> None:
    """``Sub``, then ``Mul`` of the difference with itself."""
    op = cast("QSquaredDifference", call.op)
    scale, common = call.params(call.result).scale[0], op.rescale.real[0] * 4.0**op.left_shift
    for value, rescale in zip(call.node.operands, (op.x_rescale, op.y_rescale), strict=True):
        own_scale = call.params(value).scale[0]
        call.require_factor([common * rescale.real[0] ** 2], [own_scale**2 / scale])
    layout = _common_layout(call)
    difference = call.emit("Sub", *(call.real(v, layout) for v in call.node.operands))
    call.finish(call.emit("Mul", difference, difference), layout, (op.low, op.high))


@RULES.rule(QMaximum, QMinimum)
def export_extreme(call: ExportedNode) -> None:
    """``Max`` and ``Min``."""
    layout = _common_layout(call)
    operands = (call.real(v, layout) for v in call.node.operands)
    name = "Max" if isinstance(call.op, QMaximum) else "Min"
    call.finish(call.emit(name, *operands), layout)


def _common_layout(call: ExportedNode) -> AxisOrder:
    """Return channels first if all operands have it and the full shape, else channels last."""
    operands = call.node.operands
    whole = all(v.type.rank == call.result.type.rank for v in operands)
    return call.layout(*operands) if whole else AxisOrder.LAST


@RULES.rule(QRequantize, QClamp)
def export_scaled(call: ExportedNode) -> None:
    """A ``QuantizeLinear`` of its own, after ``Relu`` or ``Clip``."""
    op = cast("QRequantize | QClamp", call.op)
    (x,) = call.node.operands
    if isinstance(op, QRequantize):
        call.require_factor(op.rescale.real, [_ratio(call)])
    layout = call.layout(x)
    call.finish(call.real(x, layout), layout, (op.low, op.high))


@RULES.rule(QConvert)
def export_convert(call: ExportedNode) -> None:
    """``DequantizeLinear`` and ``QuantizeLinear`` between element types."""
    op = cast("QConvert", call.op)
    if DType.I16 in (op.dtype, call.node.operands[0].type.dtype) and call.file.opset < 21:
        raise call.refused("int16 needs version 21 of ai.onnx", "export with --opset 21")
    call.require_factor(op.rescale.real, [_ratio(call)])
    call.finish(call.real(call.node.operands[0]))


def _ratio(call: ExportedNode) -> float:
    """Return the scale of the first operand over that of the result."""
    return call.params(call.node.operands[0]).scale[0] / call.params(call.result).scale[0]


@RULES.rule(QPrelu)
def export_prelu(call: ExportedNode) -> None:
    """``PRelu`` with the slopes along the last axis."""
    op = cast("QPrelu", call.op)
    x, slopes = call.node.operands
    call.require_factor(op.rescale.real, [_ratio(call)])
    call.require_factor(op.slope_rescale.real, [_ratio(call) * call.params(slopes).scale[0]])
    call.finish(call.emit("PRelu", call.real(x), call.real(slopes)), clamp=(op.low, op.high))


@RULES.rule(QMean)
def export_mean(call: ExportedNode) -> None:
    """``ReduceMean``."""
    op = cast("QMean", call.op)
    (x,) = call.node.operands
    axes = sorted({a % x.type.rank for a in op.axes})
    count = math.prod(x.type.static_shape[a] for a in axes)
    call.require_factor(op.rescale.real, [_ratio(call) / count])
    layout = call.layout(x)
    # Without their reduced axes, other results than [N, C] would have their axes in another order.
    if layout is AxisOrder.FIRST and not op.keep_dims and axes != [1, 2]:
        layout = AxisOrder.LAST
    if layout is AxisOrder.FIRST:
        axes = sorted(AxisOrder.FIRST.value.index(a) for a in axes)
    keep, real = int(op.keep_dims), call.real(x, layout)
    if call.file.opset < _AXES_AS_INPUT:
        mean = call.emit("ReduceMean", real, axes=axes, keepdims=keep)
    else:
        mean = call.emit("ReduceMean", real, call.integers("axes", axes), keepdims=keep)
    call.finish(mean, layout if op.keep_dims else AxisOrder.LAST, (op.low, op.high))


@RULES.rule(QArgmax)
def export_argmax(call: ExportedNode) -> None:
    """``ArgMax`` and a ``Cast`` to int32."""
    op = cast("QArgmax", call.op)
    (x,) = call.node.operands
    index = call.emit("ArgMax", call.real(x), axis=op.axis % x.type.rank, keepdims=0)
    call.finish_quantized("Cast", index, to=6)


@RULES.rule(QL2Norm)
def export_l2_norm(call: ExportedNode) -> None:
    """``LpNormalization`` over the last axis."""
    (x,) = call.node.operands
    call.finish(call.emit("LpNormalization", call.real(x), axis=-1, p=2))


@RULES.rule(QSoftmax)
def export_softmax(call: ExportedNode) -> None:
    """``Softmax`` over the last axis."""
    op = cast("QSoftmax", call.op)
    (x,) = call.node.operands
    beta = op.multiplier * 2.0 ** (op.left_shift - 31) / 2.0**26 / call.params(x).scale[0]
    real = call.real(x)
    if abs(beta - 1) > 1e-6:
        real = call.emit("Mul", real, call.number("beta", beta))
    call.finish(call.emit("Softmax", real, axis=-1))


@RULES.rule(QTable)
def export_table(call: ExportedNode) -> None:
    """``Sigmoid`` or ``Tanh`` where the table is theirs, else a ``Gather`` from 256 values."""
    op = cast("QTable", call.op)
    (x,) = call.node.operands
    layout = call.layout(x)
    quant, result = call.params(x), call.params(call.result)
    for name, function in _FUNCTIONS.items():
        if _table(function, quant, result) == op.table:
            call.finish(call.emit(name, call.real(x, layout)), layout)
            return
    # Negative indices count from the end: that of a negative value is its place in the second half.
    table = np.roll(np.array(op.table, np.int8), 128)
    index = call.emit("Cast", call.quantized(x), to=7)
    call.finish_quantized("Gather", call.file.constant(f"{call.name}/table", table), index, axis=0)


def _sigmoid(x: Floats) -> Floats:
    y: Floats = 1 / (1 + np.exp(-x))
    return y


_FUNCTIONS: Final[dict[str, Callable[[Floats], Floats]]] = {"Sigmoid": _sigmoid, "Tanh": np.tanh}


def _table(
    function: Callable[[Floats], Floats],
    x: QuantParams,
    result: QuantParams,
) -> tuple[int, ...]:
    """Return the table of a function between DequantizeLinear and QuantizeLinear."""
    reals = (np.arange(-128.0, 128.0) - x.zero_point[0]) * x.scale[0]
    with np.errstate(over="ignore"):
        quantized = np.rint(function(reals) / result.scale[0]) + result.zero_point[0]
    return tuple(int(c) for c in np.clip(quantized, -128, 127))
