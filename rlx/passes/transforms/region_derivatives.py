"""Derivatives of regions: graphs of tangents and of gradients for the bodies of control flow.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir import Graph, Input, Rewriter, copy_node
from rlx.ops.expression import Expression
from rlx.passes.transforms.formulas import or_zeros
from rlx.passes.transforms.linearize import Linearized
from rlx.passes.transforms.transpose import dependent_nodes, transpose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import TensorType, Value


def inputs_of(graph: Graph, prefix: str, types: Sequence[TensorType]) -> list[Value]:
    """Append numbered inputs to a region."""
    return [graph.input(f"{prefix}{i}", type_) for i, type_ in enumerate(types)]


def inline(region: Graph, target: Graph, inputs: Sequence[Value]) -> list[Value]:
    """Append the nodes of a region on given inputs, and return its outputs."""
    values = dict(zip(region.inputs, inputs, strict=True))
    for node in region.nodes:
        if isinstance(node.op, Input):
            continue
        node_copy = copy_node(target, node, tuple(values[o] for o in node.operands))
        values.update(zip(node.results, node_copy.results, strict=True))
    return [values[o] for o in region.outputs]


def tangent_region(
    region: Graph, wrt: Sequence[int], outputs: Sequence[int], *, with_results: bool = False
) -> Graph:
    """Return a region that computes tangents of outputs.

    Args:
        region: The region.
        wrt: Places of the inputs that have a tangent.
        outputs: Places of the outputs whose tangents are computed.
        with_results: Whether the outputs of ``region`` come before the tangents.

    Returns:
        A region of the inputs of ``region``, then the tangents of ``wrt``.
    """
    sources, results = region.inputs, [region.outputs[i] for i in outputs]
    linearized = Linearized(region, [sources[i] for i in wrt], results)
    tangents = [or_zeros(linearized.tangent(v), linearized.graph, v.type).value for v in results]
    before = [linearized[v] for v in region.outputs] if with_results else []
    values = [*before, *tangents]
    linearized.graph.output(*values, names=[f"output{i}" for i in range(len(values))])
    return linearized.graph


def transposed_region(region: Graph, linear: Sequence[int], outputs: Sequence[int]) -> Graph:
    """Return a region that computes the gradients of linear inputs.

    Args:
        region: The region.
        linear: Places of the inputs in which it is linear.
        outputs: Places of the outputs that have a gradient.

    Returns:
        A region of the gradients of ``outputs``, then the other inputs of ``region``.
    """
    sources = region.inputs
    wrt = [sources[i] for i in linear]
    nodes = dependent_nodes(region, wrt)
    fixed_inputs = [v for v in sources if v not in wrt]
    skipped = {*nodes, *(v.node for v in sources)}
    rewriter = Rewriter(region, nodes=[n for n in region.nodes if n not in skipped])
    results = [region.outputs[i] for i in outputs]
    factors = inputs_of(rewriter.new, "factor", [v.type for v in results])
    copies = inputs_of(rewriter.new, "value", [v.type for v in fixed_inputs])
    for old, new in zip(fixed_inputs, copies, strict=True):
        rewriter[old] = new
    for _ in rewriter:
        pass
    gradients: dict[Value, Expression] = {}
    for value, factor in zip(results, factors, strict=True):
        term = Expression(rewriter.new, factor)
        gradients[value] = gradients[value] + term if value in gradients else term
    values = {v: rewriter[v] for n in region.nodes for v in n.results if v in rewriter}
    totals = transpose(nodes, wrt, gradients, values, rewriter.new)
    filled = [or_zeros(g, rewriter.new, v.type).value for g, v in zip(totals, wrt, strict=True)]
    rewriter.new.output(*filled, names=[f"output{i}" for i in range(len(filled))])
    return rewriter.new
