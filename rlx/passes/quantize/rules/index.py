"""Elements selected by known indices, repeated or turned around: parts that are joined again.

Tests: tests/unit/passes/quantize/test_convert.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.ir import Refusal
from rlx.ops.q import selection
from rlx.ops.real import RealBroadcastTo, RealGather, RealReverse
from rlx.passes.quantize.known import known
from rlx.passes.quantize.rules.call import rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from rlx.ir import Node, Value
    from rlx.passes.quantize.rules.call import NodeConversion

    Places = npt.NDArray[np.int64]


def _places(node: Node) -> Places | None:
    """Return the indices of a gather, flat and counted from the front, if they are known."""
    indices, op = known(node.operands[1]), cast("RealGather", node.op)
    if indices is None:
        return None
    size = node.operands[0].type.static_shape[op.axis]
    flat = indices.astype(np.int64).reshape(-1)
    return np.where(flat < 0, flat + size, flat)


def _check_gather(node: Node) -> Refusal | None:
    places = _places(node)
    if places is None:
        return Refusal("its indices are computed")
    size = node.operands[0].type.static_shape[cast("RealGather", node.op).axis]
    return selection.check_runs(places, size)


@rule(RealGather, check=_check_gather, shares=True)
def gather(call: NodeConversion) -> Sequence[Value]:
    """``gather(x, indices)`` with constant indices -> q.concat of q.slice."""
    x, places = call.quantized(0, call.quant), _places(call.node)
    assert places is not None
    axis = cast("RealGather", call.node.op).axis % x.type.rank
    selected = selection.select(call.append, x, axis, places)
    return [call.reshape(selected, call.node.types[0].static_shape)]


@rule(RealReverse, shares=True)
def reverse(call: NodeConversion) -> Sequence[Value]:
    """``reverse(x)`` -> q.concat of q.slice."""
    x = call.quantized(0, call.quant)
    axes = sorted(a % x.type.rank for a in cast("RealReverse", call.node.op).axes)
    return [selection.reverse_axes(call.append, x, axes)]


def _copies(node: Node) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the operand's shape with 1 in front, and the number of repeats of each axis."""
    shape, given = node.types[0].static_shape, node.operands[0].type.static_shape
    grown = (*(1,) * (len(shape) - len(given)), *given)
    return grown, tuple(n // max(g, 1) for n, g in zip(shape, grown, strict=True))


@rule(RealBroadcastTo, shares=True)
def broadcast(call: NodeConversion) -> Sequence[Value]:
    """``broadcast_to(x)`` -> q.concat of copies along each axis that grows."""
    grown, copies = _copies(call.node)
    x = call.reshape(call.quantized(0, call.quant), grown)
    for axis, count in enumerate(copies):
        x = selection.copies(call.append, x, axis, count)
    return [x]
