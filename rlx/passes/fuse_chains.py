"""Fuse chains of elementwise integer ops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from rlx.ir import DType, Graph, Rewriter, TensorType
from rlx.ops.q import QChain, QClamp, QRequantize, QTable
from rlx.passes.base import Pass
from rlx.passes.chains import VALUES, chains
from rlx.passes.dead_code import DeadCode
from rlx.passes.prelu_form import prelu_form
from rlx.passes.quantize.functions import table_op

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Array, Value
    from rlx.passes.chains import Chain

_UNARY: Final = (QChain, QClamp, QRequantize, QTable)
"""Ops that are left alone where nothing is fused with them."""


@dataclass(frozen=True, slots=True)
class FuseChains(Pass):
    """Elementwise int8 ops on one value become ``q.table``, ``q.prelu`` or ``q.chain``.

    A table where all channels have the same function of the value; a PReLU that has the same
    results for all 256 values of each channel, if one is found; else a chain, which holds the ops.
    A node whose result others read too, or that is an output, ends a chain.
    """

    name: ClassVar[str] = "fuse-chains"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph with chains fused; the same graph if there are none."""
        by_last = {chain.nodes[-1]: chain for chain in chains(graph) if _is_worth(chain)}
        if not by_last:
            return graph
        rewriter = Rewriter(graph, by=self.name)
        for node in rewriter:
            chain = by_last.get(node)
            if chain is None:
                continue
            origin = node.origin.join(n.origin for n in chain.nodes[:-1]).through(self.name)
            rewriter.new.set_defaults(node.name, origin)
            fused = _fuse(rewriter.new, chain, rewriter[chain.function.source])
            rewriter.join(chain.nodes, {node.result: fused})
        return DeadCode().apply(rewriter.finish())


def _is_worth(chain: Chain) -> bool:
    """Return whether another form of a chain takes less work."""
    if len(chain.nodes) > 1:
        return True
    return chain.is_uniform and not isinstance(chain.nodes[0].op, _UNARY)


def _fuse(new: Graph, chain: Chain, x: Value) -> Value:
    """Append the op that replaces a chain, and return its result."""
    quant, tables = chain.nodes[-1].types[0].quant, chain.function.tables
    if chain.is_uniform:
        clamps = x.type.quant == quant
        table = table_op(tables[:, 0], _function(chain), clamps=clamps)
        return x if table is None else new.apply(table, x, quant=quant)
    form = prelu_form(tables, chain.nodes, _zero_points(chain))
    if form is not None:
        prelu, slopes = form
        return new.apply(prelu, x, new.constant(slopes, name="slopes"), quant=quant)
    constants = _constants(chain)
    op = QChain(body=_body(chain, constants))
    (results,) = op.evaluate(VALUES, *constants.values())
    if not np.array_equal(results, tables):
        raise AssertionError(f"{chain.nodes[-1].label}: the fused chain computes something else")
    operands = [
        new.constant(array, name=c.name, quant=c.type.quant) for c, array in constants.items()
    ]
    return new.apply(op, x, *operands, quant=quant)


def _function(chain: Chain) -> str:
    """Return the name of a function, for display."""
    names = (
        n.op.function if isinstance(n.op, QTable) and n.op.function else n.op.name.partition(".")[2]
        for n in chain.nodes
    )
    return "-".join(dict.fromkeys(names))


def _zero_points(chain: Chain) -> list[int]:
    """Return values that may be the zero point of a chain's operand."""
    source, quant = chain.function.source, chain.function.source.type.quant
    zero_points = [] if quant is None else [quant.zero_point[0]]
    for node in chain.nodes:
        for operand, name in zip(node.operands, ("x_zero_point", "y_zero_point"), strict=False):
            if operand == source and hasattr(node.op, name):
                zero_points.append(getattr(node.op, name))
    return zero_points


def _constants(chain: Chain) -> dict[Value, Array]:
    """Return the constants of a chain, int8[C] or int8[1]."""
    operands = dict.fromkeys(o for node in chain.nodes for o in node.operands)
    return {o: array.reshape(-1) for o in operands if (array := o.constant) is not None}


def _body(chain: Chain, constants: Mapping[Value, Array]) -> Graph:
    """Return the nodes of a chain as a graph of their own, its inputs the operand and constants."""
    body, source = Graph("chain"), chain.function.source
    values = {source: body.input("x", source.type)}
    for number, (operand, array) in enumerate(constants.items(), start=1):
        type_ = TensorType(array.shape, DType.I8, operand.type.quant)
        values[operand] = body.input(f"c{number}", type_)  # names of constants may be alike
    for node in chain.nodes:
        steps = [values[o] for o in node.operands]
        values[node.result] = (
            node.op.inline(body, *steps)
            if isinstance(node.op, QChain)
            else body.apply(node.op, *steps, name=node.name, quant=node.types[0].quant)
        )
    body.output(values[chain.nodes[-1].result])
    return body
