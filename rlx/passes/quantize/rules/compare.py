"""Elementwise ops that compare: maximum, minimum, and PReLU, which compares with zero.

Tests: tests/unit/passes/quantize/test_convert.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Refusal
from rlx.ops.nn import NnPrelu
from rlx.ops.q import QMaximum, QMinimum, QPrelu
from rlx.ops.real import RealMaximum, RealMinimum
from rlx.passes.quantize.known import known
from rlx.passes.quantize.rules.arith import constant, operand
from rlx.passes.quantize.rules.call import quant_of, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node, Value
    from rlx.passes.quantize.rules.call import NodeConversion


@rule(RealMaximum, RealMinimum, shares=True)
def extreme(call: NodeConversion) -> Sequence[Value]:
    """``maximum(x, y)`` -> q.maximum of values of one scale, and likewise the minimum."""
    values = [operand(call, place, call.quant) for place in range(2)]
    op = QMaximum() if isinstance(call.node.op, RealMaximum) else QMinimum()
    return [call.emit(op, *values, quant=call.quant)]


def _check_prelu(node: Node) -> Refusal | None:
    """Refuse slopes that are computed, or differ along another axis than the last."""
    x, slopes = node.operands[0].type.static_shape, known(node.operands[1])
    if slopes is None or known(node.operands[0]) is not None:
        return Refusal("its slopes are computed")
    if node.types[0].shape != x or slopes.shape[-1:] != x[-1:] or slopes.size != x[-1]:
        return Refusal(
            f"its slopes have the shape {list(slopes.shape)}, expected one for each channel",
            hint="share the slopes over the image, such as PReLU(shared_axes=[1, 2]) in Keras",
        )
    return None


@rule(NnPrelu, check=_check_prelu, rescales=True)
def prelu(call: NodeConversion) -> Sequence[Value]:
    """``prelu(x, slope)`` -> q.prelu, with constant slopes of the channels."""
    x, quant = call.quantized(0), call.quant
    slopes = constant(call, np.asarray(call.known(1)).reshape(-1))
    x_quant, factor = quant_of(x), quant_of(slopes)
    op = QPrelu(
        x_zero_point=x_quant.zero_point[0],
        y_zero_point=factor.zero_point[0],
        rescale=call.rescale(x_quant.scale[0] / quant.scale[0]),
        slope_rescale=call.rescale(x_quant.scale[0] * factor.scale[0] / quant.scale[0]),
        zero_point=quant.zero_point[0],
    )
    return [call.emit(op, x, slopes, quant=quant)]
