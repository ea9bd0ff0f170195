"""Transposes of control flow that is linear in some operands.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir import Graph
from rlx.ops.control import If, Scan, While
from rlx.ops.expression import Expression
from rlx.passes.transforms.formulas import zeros
from rlx.passes.transforms.region_derivatives import inline, inputs_of, transposed_region
from rlx.passes.transforms.transpose import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node, Value
    from rlx.passes.transforms.transpose import Gradients, TransposeCall

RULES.refuse("the number of its iterations is open; write the loop as a scan", While)


def _split(call: TransposeCall, indices: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the indices in which the node is linear, and the fixed."""
    linear = [i for i in indices if call.operands[i] is None]
    return linear, [i for i in indices if i not in linear]


def _by_place(call: TransposeCall, indices: Sequence[int], node: Node) -> Gradients:
    """Return the results of a node as gradients of the operands at ``indices``."""
    terms: list[Expression | None] = [None] * len(call.operands)
    for index, value in zip(indices, node.results, strict=True):
        terms[index] = Expression(call.graph, value)
    return terms


def _values(call: TransposeCall, indices: Sequence[int]) -> list[Value]:
    """Return the operands at ``indices``, in which the node is not linear."""
    return [o.value for i in indices if (o := call.operands[i]) is not None]


@RULES.rule(If)
def _if(op: If, call: TransposeCall) -> Gradients:
    linear, fixed = _split(call, range(1, len(call.operands)))
    outputs = [i for i, g in enumerate(call.gradients) if g is not None]
    inner = [i - 1 for i in linear]
    branches = If(
        then_body=transposed_region(op.then_body, inner, outputs),
        else_body=transposed_region(op.else_body, inner, outputs),
    )
    gradients = [call.filled(i).value for i in outputs]
    values = _values(call, [0]), _values(call, fixed)
    node = call.graph.append(branches, *values[0], *gradients, *values[1])
    return _by_place(call, linear, node)


@RULES.rule(Scan)
def _scan(op: Scan, call: TransposeCall) -> Gradients:
    """The scan from the other end: gradients of carries are carried, those of captures added.

    The carries are tangents, also those that begin with zeros.
    """
    ends, carries = op.carries + op.scanned, range(op.carries)
    scanned, fixed_scanned = _split(call, range(op.carries, ends))
    captures, fixed_captures = _split(call, range(ends, len(call.operands)))
    collected = [i for i in range(op.carries, len(call.gradients)) if call.gradients[i] is not None]
    region = transposed_region(op.body, [*carries, *captures, *scanned], [*carries, *collected])
    loop = Scan(
        body=_adding(region, op.carries, len(captures)),
        carries=op.carries + len(captures),
        scanned=len(collected) + len(fixed_scanned),
        length=op.length,
        reverse=not op.reverse,
    )
    node = call.graph.append(
        loop,
        *(call.filled(i).value for i in carries),
        *(zeros(call.graph, call.types[i]).value for i in captures),
        *(call.filled(i).value for i in collected),
        *_values(call, [*fixed_scanned, *fixed_captures]),
    )
    return _by_place(call, [*carries, *captures, *scanned], node)


def _adding(region: Graph, carries: int, captures: int) -> Graph:
    """Return a region with the gradients of captures among its carries, added up."""
    new_region = Graph(region.name)
    types = [v.type for v in region.inputs]
    totals = [v.type for v in region.outputs[carries : carries + captures]]
    factors = inputs_of(new_region, "factor", types[:carries])
    sums = [Expression(new_region, v) for v in inputs_of(new_region, "total", totals)]
    fixed = inputs_of(new_region, "value", types[carries:])
    results = inline(region, new_region, [*factors, *fixed])
    terms = [Expression(new_region, v) for v in results[carries : carries + captures]]
    added = [(a + b).value for a, b in zip(sums, terms, strict=True)]
    outputs = [*results[:carries], *added, *results[carries + captures :]]
    new_region.output(*outputs, names=[f"output{i}" for i in range(len(outputs))])
    return new_region
