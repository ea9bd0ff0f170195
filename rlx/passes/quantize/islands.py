"""Float ops between int8 values of a network that computes with integers, as tables.

Quantizing tools leave ops in float that they have no integer form for: ``dequantize(x)``, a leaky
ReLU, ``quantize``. A unary function is a table of 256 values, exact to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import DType, Rewriter
from rlx.ops.real import RealDequantize, RealQuantize
from rlx.passes.base import Pass
from rlx.passes.dead_code import DeadCode
from rlx.passes.quantize.functions import argument, function_table, table_op
from rlx.passes.quantize.known import known

if TYPE_CHECKING:
    from rlx.ir import Graph, Node, Value


def integers_within(graph: Graph) -> bool:
    """Return whether a graph has integer ops on quantized values."""
    return any(node.op.dialect == "q" for node in graph.op_nodes)


def floats_within(graph: Graph) -> bool:
    """Return whether a graph computes in float: more than conversions from and to integers."""
    return any(_computes_in_float(node) for node in graph.op_nodes)


def _computes_in_float(node: Node) -> bool:
    if isinstance(node.op, RealQuantize | RealDequantize):
        return False
    return any(t.dtype.is_float for t in (*node.types, *(o.type for o in node.operands)))


@dataclass(frozen=True, slots=True)
class TabulateIslands(Pass):
    """``quantize(f(dequantize(x)))`` of int8 values -> ``q.table(x)``, next to integer ops.

    The table has the result of the float ops for each of the 256 values. Graphs without integer ops
    stay unchanged: all of their ops are to be converted (``rlx.passes.quantize.convert``).
    """

    name: ClassVar[str] = "islands"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph with tables; the same graph if there is nothing to do."""
        if not integers_within(graph):
            return graph
        islands = {node: of for node in graph.op_nodes if (of := _island(node)) is not None}
        if not islands:
            return graph
        rewriter = Rewriter(graph, by=self.name)
        for node in rewriter:
            if node in islands:
                of = islands[node]
                (x,) = rewriter.operands(of.node)
                function = node if node.operands[0] == of else node.operands[0].node
                origin = function.origin.join([of.node.origin, node.origin]).through(self.name)
                rewriter.new.set_defaults(node.name, origin)
                rewriter.replace(node, _append_table(rewriter.new, node, of, x))
        return DeadCode().apply(rewriter.finish())


def _island(node: Node) -> Value | None:
    """Return the dequantized int8 values of which a quantize node's result is a function."""
    if not isinstance(node.op, RealQuantize) or known(node.result) is not None:
        return None
    (x,) = node.operands
    of = argument(x.node) or x
    op = of.node.op
    if not isinstance(op, RealDequantize) or of.node.operands[0].type.dtype is not DType.I8:
        return None
    per_tensor = node.op.quant.axis is None and op.quant.axis is None
    return of if per_tensor and node.op.dtype is DType.I8 else None


def _append_table(new: Graph, node: Node, of: Value, values: Value) -> Value:
    """Append the table of a quantize node's results."""
    (x,), quantize, dequantize = node.operands, node.op, of.node.op
    assert isinstance(quantize, RealQuantize)
    assert isinstance(dequantize, RealDequantize)
    table = function_table(x, of, dequantize.quant, quantize.quant, quantize.ties)
    function = "requantize" if x == of else x.node.op.name.partition(".")[2]
    same = values.type.quant == quantize.quant
    op = table_op(table, function, clamps=same)
    return values if op is None else new.apply(op, values, quant=quantize.quant)
