"""Biases that stand behind their layer as additions of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops.nn import Layout, NnConv, NnLinear
from rlx.ops.real import RealAdd, RealConv, RealMatmul
from rlx.quant.functions import argument
from rlx.quant.known import known

if TYPE_CHECKING:
    from rlx.ir import Graph, Node, Value


def biased_layers(graph: Graph) -> dict[Node, Node]:
    """Return for each addition of a constant bias the layer whose result it is added to.

    The layer has no bias, its output channels are the last axis, and nothing else reads its result.
    """
    users, outputs = graph.users(), set(graph.outputs)
    found = {}
    for node in graph.op_nodes:
        layer = _layer(node)
        if layer is not None and len(users[layer.result]) == 1 and layer.result not in outputs:
            found[node] = layer
    return found


def _layer(node: Node) -> Node | None:
    if not isinstance(node.op, RealAdd) or argument(node) is not None:
        return None
    computed = [o for o in node.operands if known(o) is None]
    constant = [o for o in node.operands if known(o) is not None]
    if len(computed) != 1 or len(constant) != 1:
        return None
    layer, channels = computed[0].node, computed[0].type.shape[-1:]
    fits = constant[0].type.shape[-1:] == channels and constant[0].type.size == channels[0]
    same = node.types[0].shape == computed[0].type.shape
    return layer if fits and same and _takes_bias(layer) else None


def _takes_bias(layer: Node) -> bool:
    """Whether a node is a layer of constant weights, without bias, channels last."""
    if not isinstance(layer.op, NnConv | NnLinear | RealConv | RealMatmul):
        return False
    last = not isinstance(layer.op, NnConv) or layer.op.layout is Layout.CHANNELS_LAST
    return last and len(layer.operands) == 2 and known(layer.operands[1]) is not None


def bias_of(node: Node) -> Value:
    """Return the constant operand of an addition."""
    (constant,) = (o for o in node.operands if known(o) is not None)
    return constant
