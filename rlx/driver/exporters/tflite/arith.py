"""Elementwise arithmetic, reductions and functions of one value.

Tests: tests/unit/driver/exporters/test_tflite.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.driver.exporters.nodes import MADE_FOR_TARGETS
from rlx.driver.exporters.tflite.functions import named_function
from rlx.driver.exporters.tflite.rules import RULES
from rlx.frontends.tflite.schema import TensorType
from rlx.ir import DType
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
from rlx.ops.rescale import (
    ScaleError,
    activation_bounds,
    rescale_of,
    softmax_scaling,
    square_scaling,
    sum_scaling,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.driver.exporters.tflite.call import ExportedNode
    from rlx.ir import Value
    from rlx.ops.numerics.fixed_point import Rescale
    from rlx.ops.rescale import SumScaling


RULES.refuse(MADE_FOR_TARGETS, QChain)
RULES.refuse("TFLite's kernels have no result for some quotients near 0 and by 0", QDiv)


@RULES.rule(QAdd, QSub)
def export_sum(call: ExportedNode) -> None:
    """``ADD`` and ``SUB``."""
    op = cast("QAdd", call.op)
    operands = _scaled_operands(call, op, sum_scaling)
    name = "SUB" if isinstance(op, QSub) else "ADD"
    call.finish_clamped(name, *operands, version=2, clamp=(op.low, op.high))


@RULES.rule(QSquaredDifference)
def export_squared_difference(call: ExportedNode) -> None:
    """``SQUARED_DIFFERENCE``."""
    op = cast("QSquaredDifference", call.op)
    operands = _scaled_operands(call, op, square_scaling)
    call.finish_plain("SQUARED_DIFFERENCE", *operands, version=2, clamp=(op.low, op.high))


def _scaled_operands(
    call: ExportedNode, op: QAdd | QSquaredDifference, scale_operands: Callable[..., SumScaling]
) -> tuple[int, int]:
    """Return both operands, after a check that their scales give the op's factors."""
    x, y = call.node.operands
    scaling = scale_operands(
        call.scale(x, op.x_zero_point),
        call.scale(y, op.y_zero_point),
        call.scale(call.result, op.zero_point),
    )
    call.require_rescale(op.x_rescale, scaling.x_rescale)
    call.require_rescale(op.y_rescale, scaling.y_rescale)
    call.require_rescale(op.rescale, scaling.rescale)
    if op.left_shift != scaling.left_shift:
        raise call.refused(
            f"shifts its operands by {op.left_shift} bits, and TFLite by {scaling.left_shift}",
            "export a network that rlx quantized or read",
        )
    return call.tensor(x), call.tensor(y)


@RULES.rule(QMul)
def export_mul(call: ExportedNode) -> None:
    """``MUL``."""
    op = cast("QMul", call.op)
    operands = call.product_operands(op)
    call.finish_clamped("MUL", *operands, version=2, clamp=(op.low, op.high))


@RULES.rule(QRequantize)
def export_requantize(call: ExportedNode) -> None:
    """``QUANTIZE`` from int8 to int8."""
    op = cast("QRequantize", call.op)
    x = call.tensor(_require_factor(call, op.rescale, op.x_zero_point, op.zero_point))
    call.finish_plain("QUANTIZE", x, version=2, clamp=(op.low, op.high))


@RULES.rule(QConvert)
def export_convert(call: ExportedNode) -> None:
    """``QUANTIZE`` between int8, uint8 and int16."""
    op = cast("QConvert", call.op)
    x = _require_factor(call, op.rescale, op.x_zero_point, op.zero_point)
    call.finish("QUANTIZE", call.tensor(x), version=2)


def _require_factor(
    call: ExportedNode, rescale: Rescale, x_zero_point: int, zero_point: int
) -> Value:
    """Return the only operand, after a check that its scale over the result's is the factor."""
    x = call.node.operands[0]
    factor = call.scale(x, x_zero_point) / call.scale(call.result, zero_point)
    call.require_rescale(rescale, rescale_of(factor))
    return x


@RULES.rule(QClamp)
def export_clamp(call: ExportedNode) -> None:
    """``RELU`` or ``RELU6`` where the bounds are theirs, else ``MAXIMUM`` and ``MINIMUM``."""
    op = cast("QClamp", call.op)
    (x,) = call.node.operands
    call.require_same_quant(x)
    quant = call.params(x, x.type.quant.zero_point[0] if x.type.quant else 0)
    for name, high in (("RELU", None), ("RELU6", 6.0)):
        try:
            bounds = activation_bounds(0.0, high, quant.scale[0], quant.zero_point[0], DType.I8)
        except ScaleError:
            continue
        if bounds == (op.low, op.high):
            call.finish(name, call.tensor(x), version=2)
            return
    if (op.low, op.high) == (-128, 127):
        call.state.tensors[call.result] = call.tensor(x)
        return
    call.finish_bounds(call.tensor(x), (op.low, op.high))


@RULES.rule(QMaximum, QMinimum)
def export_extreme(call: ExportedNode) -> None:
    """``MAXIMUM`` and ``MINIMUM``."""
    call.require_same_quant(*call.node.operands)
    name = "MAXIMUM" if isinstance(call.op, QMaximum) else "MINIMUM"
    call.finish(name, *map(call.tensor, call.node.operands), version=2)


@RULES.rule(QPrelu)
def export_prelu(call: ExportedNode) -> None:
    """``PRELU``."""
    op = cast("QPrelu", call.op)
    x, slopes = call.node.operands
    x_scale = call.scale(x, op.x_zero_point)
    scale = call.scale(call.result, op.zero_point)
    call.require_rescale(op.rescale, rescale_of(x_scale / scale))
    slope_scale = call.scale(slopes, op.y_zero_point)
    call.require_rescale(op.slope_rescale, rescale_of(x_scale * slope_scale / scale))
    call.constant(slopes)
    operands = call.tensor(x), call.tensor(slopes)
    call.finish_plain("PRELU", *operands, version=1, clamp=(op.low, op.high))


@RULES.rule(QMean)
def export_mean(call: ExportedNode) -> None:
    """``MEAN``."""
    op = cast("QMean", call.op)
    (x,) = call.node.operands
    shape = x.type.static_shape
    factor = call.scale(x, op.x_zero_point) / call.scale(call.result, op.zero_point)
    axes = sorted({a % len(shape) for a in op.axes})
    count = math.prod(shape[a] for a in axes)
    call.require_rescale(op.rescale, rescale_of(factor).divided(count))
    operands = call.tensor(x), call.integers("axes", axes)
    clamp = op.low, op.high
    call.finish_plain("MEAN", *operands, version=2, clamp=clamp, keep_dims=op.keep_dims)


@RULES.rule(QArgmax)
def export_argmax(call: ExportedNode) -> None:
    """``ARG_MAX`` to int32."""
    op = cast("QArgmax", call.op)
    (x,) = call.node.operands
    axis = call.integers("axis", [op.axis % x.type.rank])
    call.finish("ARG_MAX", call.tensor(x), axis, version=2, output_type=int(TensorType.INT32))


@RULES.rule(QL2Norm)
def export_l2_norm(call: ExportedNode) -> None:
    """``L2_NORMALIZATION``."""
    op = cast("QL2Norm", call.op)
    (x,) = call.node.operands
    call.scale(x, op.x_zero_point)
    call.finish("L2_NORMALIZATION", call.tensor(x), version=2)


@RULES.rule(QSoftmax)
def export_softmax(call: ExportedNode) -> None:
    """``SOFTMAX``, with the factor of exponents that the op's multiplier has."""
    op = cast("QSoftmax", call.op)
    (x,) = call.node.operands
    quant = x.type.quant
    scale = call.scale(x, quant.zero_point[0] if quant else 0)
    factor = op.multiplier * 2.0 ** (op.left_shift - 31) / 2.0**26 / scale
    op_scaling = op.multiplier, op.left_shift, op.diff_min
    for beta in (1.0, float(np.float32(factor))):
        try:
            scaling = softmax_scaling(scale, beta)
        except ScaleError:
            continue
        if (scaling.multiplier, scaling.left_shift, scaling.diff_min) == op_scaling:
            call.finish("SOFTMAX", call.tensor(x), version=2, beta=beta)
            return
    raise call.refused(
        f"its exponents have the factor {factor:.9g}, which float32 does not hold",
        "export a network that rlx quantized or read",
    )


@RULES.rule(QTable)
def export_table(call: ExportedNode) -> None:
    """The operator whose table it is, such as ``LOGISTIC``; else a ``GATHER`` from 256 values."""
    op = cast("QTable", call.op)
    (x,) = call.node.operands
    call.params(x, x.type.quant.zero_point[0] if x.type.quant else 0)
    call.params(call.result, call.result.type.quant.zero_point[0] if call.result.type.quant else 0)
    function = named_function(op.table, x.type.quant, call.result.type.quant)
    if function is not None:
        call.finish(function.name, call.tensor(x), version=function.version, **function.options)
        return
    shape = x.type.static_shape
    integers, indices = (
        call.state.file.tensor(f"{call.name}/{what}", shape, TensorType.INT32)
        for what in ("integers", "places")
    )
    call.add(integers, "CAST", call.tensor(x), version=1)
    call.add(indices, "ADD", integers, call.integers("offset", [128]), version=1)
    table = call.state.file.constant(
        f"{call.name}/table", np.array(op.table, np.int8), call.result.type.quant
    )
    call.finish("GATHER", table, indices, version=2, axis=0)
