"""Tangents of control flow.

A scan's tangents are a scan of their own, which is linear in them: the first one saves its carries,
and the second one computes from them again what the derivatives of each iteration need.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rlx.ir import Graph
from rlx.ops.control import If, Scan, While
from rlx.passes.transforms.linearize import RULES
from rlx.passes.transforms.region_derivatives import inline, inputs_of, tangent_region

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node, TensorType, Value
    from rlx.ops.expression import Expression
    from rlx.passes.transforms.linearize import JvpCall, Tangents


def _floats(types: Sequence[TensorType]) -> list[int]:
    """Return the indices of floating-point types."""
    return [i for i, t in enumerate(types) if t.dtype.is_float]


def _by_place(call: JvpCall, indices: Sequence[int], node: Node, start: int = 0) -> Tangents:
    """Return the results of a node, from ``start``, as tangents of the results at ``indices``."""
    results: list[Expression | None] = [None] * len(call.node.types)
    for index, value in zip(indices, node.results[start:], strict=True):
        results[index] = call.operands[0].wrap(value)
    return results


@RULES.rule(If)
def _if(op: If, call: JvpCall) -> Tangents:
    """Tangents of the region that is run, which computes its values again."""
    wrt = [i for i, t in enumerate(call.tangents[1:]) if t is not None]
    outputs = _floats(call.node.types)
    tangents = [t.value for t in call.tangents[1:] if t is not None]
    branches = If(
        then_body=tangent_region(op.then_body, wrt, outputs),
        else_body=tangent_region(op.else_body, wrt, outputs),
    )
    node = call.graph.append(branches, *call.node.operands, *tangents)
    return _by_place(call, outputs, node)


@RULES.rule(While)
def _while(op: While, call: JvpCall) -> Tangents:
    """The loop with the tangents among its carries."""
    operands, count = call.node.operands, len(op.body.outputs)
    carries = _floats(call.node.types)
    captures = [i for i in range(count, len(operands)) if call.tangents[i] is not None]
    tangents = [call.filled(i).value for i in (*carries, *captures)]
    region = tangent_region(op.body, [*carries, *captures], carries, with_results=True)
    order = [*range(count), *range(len(operands), len(operands) + len(carries)),
             *range(count, len(operands)), *range(len(operands) + len(carries),
                                                  len(operands) + len(tangents))]  # fmt: skip
    values = [*operands, *tangents]
    loop = replace(op, body=_reordered(region, order), condition=_condition(op, order, values))
    node = call.graph.append(loop, *(values[i] for i in order))
    return _by_place(call, carries, node, count)


def _reordered(region: Graph, order: Sequence[int]) -> Graph:
    """Return a region with its inputs in another order."""
    new_region = Graph(region.name)
    old = region.inputs
    new = inputs_of(new_region, "value", [old[i].type for i in order])
    by_index = dict(zip(order, new, strict=True))
    results = inline(region, new_region, [by_index[i] for i in range(len(old))])
    new_region.output(*results, names=[f"output{i}" for i in range(len(results))])
    return new_region


def _condition(op: While, order: Sequence[int], values: Sequence[Value]) -> Graph:
    """Return the condition with the inputs of the loop with tangents."""
    new_region = Graph(op.condition.name)
    new = inputs_of(new_region, "value", [values[i].type for i in order])
    by_index = dict(zip(order, new, strict=True))
    count = len(op.condition.inputs)
    new_region.output(
        *inline(op.condition, new_region, [by_index[i] for i in range(count)]), names=["holds"]
    )
    return new_region


@RULES.rule(Scan)
def _scan(op: Scan, call: JvpCall) -> Tangents:
    operands, ends = call.node.operands, op.carries + op.scanned
    saved = _with_saved_carries(op, call)
    carries = _floats(call.node.types[: op.carries])
    scanned = [i for i in range(op.carries, ends) if call.tangents[i] is not None]
    captures = [i for i in range(ends, len(operands)) if call.tangents[i] is not None]
    outputs = _floats([v.type for v in op.body.outputs])
    region = tangent_region(op.body, [*carries, *scanned, *captures], outputs)
    first = len(operands)
    indices = iter(range(first, first + len(carries) + len(scanned) + len(captures)))
    order = [
        *(next(indices) for _ in carries), *(next(indices) for _ in scanned),
        *range(op.carries, ends), *range(op.carries), *indices, *range(ends, first),
    ]  # fmt: skip
    loop = Scan(
        body=_reordered(region, order), carries=len(carries),
        scanned=len(scanned) + op.scanned + op.carries, length=op.length, reverse=op.reverse,
    )  # fmt: skip
    node = call.graph.append(
        loop, *(call.filled(i).value for i in (*carries, *scanned)), *operands[op.carries : ends],
        *saved, *(call.filled(i).value for i in captures), *operands[ends:],
    )  # fmt: skip
    return _by_place(call, outputs, node)


def _with_saved_carries(op: Scan, call: JvpCall) -> tuple[Value, ...]:
    """Replace the scan by one that saves its carries, and return them for all iterations."""
    if not op.carries:
        return ()
    body = Graph(op.body.name)
    inputs = [body.input(v.name, v.type) for v in op.body.inputs]
    outputs = [*inline(op.body, body, inputs), *inputs[: op.carries]]
    body.output(*outputs, names=[f"output{i}" for i in range(len(outputs))])
    node = call.graph.append(replace(op, body=body), *call.node.operands)
    count = len(call.node.types)
    call.replacements.extend(node.results[:count])
    return node.results[count:]
