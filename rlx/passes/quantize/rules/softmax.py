"""Softmax.

Tests: tests/unit/passes/quantize/test_convert.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rlx.ir import QuantParams, Refusal
from rlx.ops.nn import NnSoftmax
from rlx.ops.q import QSoftmax
from rlx.ops.rescale import softmax_scaling
from rlx.passes.quantize.rules.call import quant_of, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node, Value
    from rlx.passes.quantize.rules.call import NodeConversion

SOFTMAX = QuantParams.per_tensor(1 / 256, -128)
"""Quantization parameters of a softmax, by definition of ``q.softmax``."""

_MAX_VALUES = 4095
"""Exponentials that q.softmax sums: the sum has 12 integer bits."""


def _check_softmax(node: Node) -> Refusal | None:
    axis = cast("NnSoftmax", node.op).axis
    count = node.types[0].static_shape[axis]
    if count > _MAX_VALUES:
        return Refusal(f"it sums {count} exponentials, and q.softmax at most {_MAX_VALUES}")
    return None


@rule(NnSoftmax, check=_check_softmax)
def softmax(call: NodeConversion) -> Sequence[Value]:
    """``softmax(x)`` -> q.softmax along the last axis, whose scale is 1/256 by definition."""
    x, rank = call.quantized(0), call.node.types[0].rank
    axis = cast("NnSoftmax", call.node.op).axis % rank
    last = (*(a for a in range(rank) if a != axis), axis)
    scaling = softmax_scaling(quant_of(x).scale[0], 1.0)
    op = QSoftmax(
        multiplier=scaling.multiplier, left_shift=scaling.left_shift, diff_min=scaling.diff_min
    )
    shares = call.emit(op, call.transpose(x, last), quant=SOFTMAX)
    return [call.transpose(shares, tuple(last.index(a) for a in range(rank)))]
