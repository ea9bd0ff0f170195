"""Values of which only the sign is read: their scale is so small that none but 0 rounds to 0.

Networks of one bit take the sign of a sum of products. As int8 values in steps of the sum, or in
finer ones, every sum but 0 keeps its sign, and larger sums saturate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import Input, QuantParams, once_per_node
from rlx.ops.nn import NnConv, NnLinear
from rlx.ops.real import RealConv, RealDequantize, RealMatmul, RealReshape, RealTranspose
from rlx.passes.quantize.functions import argument, evaluate_function
from rlx.passes.quantize.known import known, stored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Graph, Node, Value

_SIGN_SCALE: Final = 2.0**-120
"""Scale of an input of which only the sign is read: float32, as its reciprocal is."""

_MOVES: Final = (RealReshape, RealTranspose)
# Five integers from 0 on, then those below.
_PROBES: Final = np.array([0.0, 1e-30, 1.0, 3.0, 1e30, -1e-30, -1.0, -3.0, -1e30], np.float32)


def sign_params(graph: Graph) -> dict[Value, QuantParams]:
    """Return parameters for values of a float graph of which only the sign is read.

    Those are inputs of the graph, and layers whose input and weights have scales.
    """
    users, outputs = graph.users(), set(graph.outputs)
    sign_only: dict[Value, QuantParams] = {}
    for node in graph.op_nodes:
        value = argument(node)
        if value is None or value in sign_only or not _is_sign(node):
            continue
        chain = _move_chain(value)
        if all(v not in outputs and _only_signs(v, users, chain) for v in chain):
            scale = _scale_of(chain[-1])
            if scale is not None:
                sign_only |= dict.fromkeys(chain, QuantParams.per_tensor(scale))
    return sign_only


@once_per_node
def _is_sign(node: Node) -> bool:
    """Return whether a unary function has one value below 0, and another one from 0 on."""
    value = argument(node)
    if value is None or not node.types[0].dtype.is_float:
        return False
    with np.errstate(all="ignore"):
        results = evaluate_function(node.result, value, _PROBES)
    above, below = results[:5], results[5:]
    return bool((above == above[0]).all() and (below == below[0]).all() and above[0] != below[0])


def _move_chain(value: Value) -> list[Value]:
    """Return a value and those that it is moved from, its source last."""
    chain = [value]
    while isinstance(chain[-1].node.op, _MOVES):
        chain.append(chain[-1].node.operands[0])
    return chain


def _only_signs(
    value: Value, users: Mapping[Value, Sequence[Node]], chain: Sequence[Value]
) -> bool:
    """Return whether every reader of a value leads to a sign, or is one."""
    return all(_reads_sign(node, value) or node.results[0] in chain for node in users[value])


def _reads_sign(node: Node, value: Value) -> bool:
    """Return whether a node is a sign of a value, or part of one.

    Nodes of which a sign is made (comparisons) are read by it alone.
    """
    return argument(node) == value and (_is_sign(node) or not node.types[0].dtype.is_float)


def _scale_of(source: Value) -> float | None:
    """Return the scale of a source, None if it is not known."""
    node = source.node
    if isinstance(node.op, Input):
        return _SIGN_SCALE
    if not isinstance(node.op, NnConv | NnLinear | RealConv | RealMatmul):
        return None
    reads, weights = node.operands[0].node, stored(node.operands[1])
    while isinstance(reads.op, _MOVES):
        reads = reads.operands[0].node
    fixed = isinstance(reads.op, RealDequantize) and known(reads.result) is None
    if not fixed or weights is None:
        return None
    assert isinstance(reads.op, RealDequantize)
    steps = np.float32(reads.op.quant.scale[0]) * np.float32(min(weights.quant.scale))
    return float(steps)
