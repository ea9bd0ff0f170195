"""Transposes of control flow that is linear in some operands.

Tests: tests/unit/passes/transforms/test_transpose_rules.py
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


def _split(call: TransposeCall, places: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the places in which the node is linear, and the others."""
    linear = [i for i in places if call.operands[i] is None]
    return linear, [i for i in places if i not in linear]


def _by_place(call: TransposeCall, places: Sequence[int], node: Node) -> Gradients:
    """Return the results of a node as gradients of the operands at ``places``."""
    found: list[Expression | None] = [None] * len(call.operands)
    for place, value in zip(places, node.results, strict=True):
        found[place] = Expression(call.graph, value)
    return found


def _values(call: TransposeCall, places: Sequence[int]) -> list[Value]:
    """Return the operands at ``places``, in which the node is not linear."""
    return [o.value for i in places if (o := call.operands[i]) is not None]


@RULES.rule(If)
def _if(op: If, call: TransposeCall) -> Gradients:
    linear, others = _split(call, range(1, len(call.operands)))
    outputs = [i for i, g in enumerate(call.gradients) if g is not None]
    inner = [i - 1 for i in linear]
    branches = If(
        then_body=transposed_region(op.then_body, inner, outputs),
        else_body=transposed_region(op.else_body, inner, outputs),
    )
    gradients = [call.filled(i).value for i in outputs]
    values = _values(call, [0]), _values(call, others)
    node = call.graph.append(branches, *values[0], *gradients, *values[1])
    return _by_place(call, linear, node)


@RULES.rule(Scan)
def _scan(op: Scan, call: TransposeCall) -> Gradients:
    """The scan from the other end: gradients of carries are carried, those of captures added.

    The carries are tangents, also those that begin with zeros.
    """
    ends, carries = op.carries + op.scanned, range(op.carries)
    scanned, other_scanned = _split(call, range(op.carries, ends))
    captures, other_captures = _split(call, range(ends, len(call.operands)))
    collected = [i for i in range(op.carries, len(call.gradients)) if call.gradients[i] is not None]
    region = transposed_region(
        op.body, [*carries, *captures, *scanned], [*carries, *collected]
    )
    loop = Scan(
        body=_adding(region, op.carries, len(captures)),
        carries=op.carries + len(captures),
        scanned=len(collected) + len(other_scanned),
        length=op.length,
        reverse=not op.reverse,
    )
    node = call.graph.append(
        loop,
        *(call.filled(i).value for i in carries),
        *(zeros(call.graph, call.types[i]).value for i in captures),
        *(call.filled(i).value for i in collected),
        *_values(call, [*other_scanned, *other_captures]),
    )
    return _by_place(call, [*carries, *captures, *scanned], node)


def _adding(region: Graph, carries: int, captures: int) -> Graph:
    """Return a region with the gradients of captures among its carries, added up."""
    made = Graph(region.name)
    types = [v.type for v in region.inputs]
    totals = [v.type for v in region.outputs[carries : carries + captures]]
    factors = inputs_of(made, "factor", types[:carries])
    sums = [Expression(made, v) for v in inputs_of(made, "total", totals)]
    others = inputs_of(made, "value", types[carries:])
    results = inline(region, made, [*factors, *others])
    found = [Expression(made, v) for v in results[carries : carries + captures]]
    added = [(a + b).value for a, b in zip(sums, found, strict=True)]
    outputs = [*results[:carries], *added, *results[carries + captures :]]
    made.output(*outputs, names=[f"output{i}" for i in range(len(outputs))])
    return made
