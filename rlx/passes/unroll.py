"""Control flow that is known in advance, as plain nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from rlx.ir import Constant, DType, Input, Op, copy_node, rebuild
from rlx.ir.binding import symbols_of
from rlx.ir.regions import all_nodes
from rlx.ops.control import CONTROL_OPS, If, Scan, While
from rlx.ops.nn import NnRecurrent
from rlx.ops.q import QConcat, QReshape, QSlice
from rlx.ops.real import RealConcat, RealReshape, RealSlice
from rlx.passes.base import Pass, in_regions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rlx.ir import Array, Graph, Node, TensorType, Value

MAX_NODES: Final = 4096
"""Nodes of a graph with unrolled loops; a loop that would make more of them stays."""

_MAX_FOLLOWED_ELEMENTS: Final = 4096
"""Elements of a node that is evaluated to know a condition: counters are small."""


@dataclass(frozen=True, slots=True)
class Unroll(Pass):
    """Replace control flow that is known in advance by the nodes that it runs.

    A choice by a constant becomes the region that is chosen; a scan of a fixed length, a recurrent
    layer and a loop whose condition depends on constants alone become one copy of their body for
    each iteration. Loops that depend on the data stay.

    Attributes:
        limit: Maximum nodes of the new graph; loops that would make it larger stay.
    """

    name: ClassVar[str] = "unroll"
    limit: int = MAX_NODES

    def apply(self, graph: Graph) -> Graph:
        """Return the graph with known control flow unrolled; itself if it has no control flow."""
        if not any(isinstance(n.op, (*CONTROL_OPS, NnRecurrent)) for n in graph.op_nodes):
            return graph
        return rebuild(in_regions(graph, self.apply), self._visit, by=self.name)

    def _visit(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> list[Value] | None:
        if symbols_of(node.op):
            return None
        space = self.limit - new.count
        if isinstance(node.op, If):
            return _choice(new, node.op, operands, space)
        if isinstance(node.op, Scan):
            return _scan(new, node, node.op, operands, space)
        if isinstance(node.op, While):
            return _while(new, node.op, operands, space)
        if isinstance(node.op, NnRecurrent):
            return self._recurrent(new, node.op, operands, space)
        return None

    def _recurrent(
        self, new: Graph, op: NnRecurrent, operands: tuple[Value, ...], space: int
    ) -> list[Value] | None:
        """nn.lstm(x, w...) -> its steps, and likewise for other recurrent layers."""
        if not all(o.type.is_static for o in operands):
            return None
        layer = Unroll(space).apply(op.as_graph([o.type for o in operands]))
        looping = any(isinstance(n.op, CONTROL_OPS) for n in layer.op_nodes)
        return None if looping or _size(layer) > space else inline(new, layer, operands)


def unroll(graph: Graph, limit: int = MAX_NODES) -> Graph:
    """Return ``graph`` with plain nodes for control flow that is known in advance (``Unroll``)."""
    return Unroll(limit).apply(graph)


def unroll_refusal(op: Op) -> str | None:
    """Return the reason for which control flow was not unrolled; None for an op without it."""
    if isinstance(op, If):
        return (
            "it has no branches, and this condition is not constant; compute both and use where()"
        )
    if isinstance(op, Scan):
        return f"it has no loops, and unrolled the graph would have more than {MAX_NODES:,} nodes"
    if isinstance(op, While):
        return (
            "it has no loops, and how often this one runs depends on the data,"
            f" or unrolled the graph would have more than {MAX_NODES:,} nodes"
        )
    return None


def _choice(new: Graph, op: If, operands: tuple[Value, ...], space: int) -> list[Value] | None:
    """core.if(constant, x...) -> the chosen region of x..."""
    condition = operands[0].constant
    if condition is None:
        return None
    region = op.then_body if condition else op.else_body
    return None if _size(region) > space else inline(new, region, operands[1:])


def _scan(
    new: Graph, node: Node, op: Scan, operands: tuple[Value, ...], space: int
) -> list[Value] | None:
    """core.scan(c..., x..., o...) -> body(c..., x[0]..., o...), and so on; its ys joined."""
    ends = op.carries + op.scanned
    types = node.types[op.carries :]
    assert isinstance(op.length, int)  # no symbols are left
    if op.length * (_size(op.body) + 2 * op.scanned + len(types)) + len(types) > space:
        return None
    carries, scanned, captures = (
        operands[: op.carries],
        operands[op.carries : ends],
        operands[ends:],
    )
    parts: dict[int, list[Value]] = {}
    for t in reversed(range(op.length)) if op.reverse else range(op.length):
        results = inline(
            new, op.body, (*carries, *(_element(new, x, t) for x in scanned), *captures)
        )
        carries = tuple(results[: op.carries])
        parts[t] = [_row(new, value) for value in results[op.carries :]]
    if not op.length:
        empty = (np.zeros(t.static_shape, t.dtype.numpy) for t in types)
        return [*carries, *(new.constant(a, quant=t.quant)
                            for a, t in zip(empty, types, strict=True))]  # fmt: skip
    collected = [
        _concat_rows(new, [parts[t][i] for t in range(op.length)]) for i in range(len(types))
    ]
    return [*carries, *collected]


def _while(new: Graph, op: While, operands: tuple[Value, ...], space: int) -> list[Value] | None:
    """core.while(c..., o...) -> body(c..., o...) while the condition holds."""
    count = len(op.body.outputs)
    trips = fixed_trips(op, [o.constant for o in operands], space // max(_size(op.body), 1))
    if trips is None:
        return None
    carries, captures = operands[:count], operands[count:]
    for _ in range(trips):
        carries = tuple(inline(new, op.body, (*carries, *captures)))
    return list(carries)


def fixed_trips(op: While, known: Sequence[Array | None], max_trips: int) -> int | None:
    """Return the number of times that the body of a loop runs, for all data.

    Args:
        op: The loop.
        known: For each operand its value if it is a constant, else None.
        max_trips: Maximum number of iterations.

    Returns:
        The number of iterations, or None if it depends on data or exceeds ``max_trips``.
    """
    values = list(known)
    deciding = _deciding(op)
    for iterations in range(max_trips + 1):
        if iterations == op.max_iterations:
            return iterations
        (holds,) = _evaluate_known(op.condition, values, op.condition.outputs)
        if holds is None:
            return None
        if not holds:
            return iterations
        values[: len(op.body.outputs)] = _evaluate_known(op.body, values, deciding)
    return None


def _deciding(op: While) -> tuple[Value, ...]:
    """Return the outputs of the body that the condition depends on, now or later."""
    deciding = {op.condition.inputs.index(v) for v in _sources(op.condition, op.condition.outputs)}
    outputs = op.body.outputs
    while True:
        needed = tuple(v for i, v in enumerate(outputs) if i in deciding)
        more = {op.body.inputs.index(v) for v in _sources(op.body, needed)}
        if more <= deciding:
            return needed
        deciding |= more


def _sources(region: Graph, values: Iterable[Value]) -> list[Value]:
    """Return the inputs of a region that ``values`` depend on."""
    nodes = _ancestors(region, values)
    return [v for v in region.inputs if v.node in nodes]


def _ancestors(region: Graph, values: Iterable[Value]) -> set[Node]:
    """Return the nodes that ``values`` depend on, and their own."""
    needed = {v.node for v in values}
    for node in reversed(region.nodes):
        if node in needed:
            needed.update(o.node for o in node.operands)
    return needed


def _evaluate_known(
    region: Graph, operands: Sequence[Array | None], outputs: Sequence[Value]
) -> list[Array | None]:
    """Return the outputs of a region that are among ``outputs`` and follow from constants."""
    known: dict[Value, Array | None] = dict(zip(region.inputs, operands, strict=True))
    needed = _ancestors(region, outputs)
    for node in region.nodes:
        values = [known.get(o) for o in node.operands]
        if node not in needed or isinstance(node.op, Input):
            continue
        if isinstance(node.op, Constant):
            known[node.result] = node.op.value
        elif not node.op.regions() and _elements(node) <= _MAX_FOLLOWED_ELEMENTS:
            numbers = [v for v in values if v is not None]
            if len(numbers) == len(values):
                known.update(zip(node.results, node.op.evaluate(*numbers), strict=True))
    requested = set(outputs)
    return [known.get(v) if v in requested else None for v in region.outputs]


def _elements(node: Node) -> int:
    """Return the elements of the operands and results of a node."""
    return sum(t.size for t in (*node.types, *(o.type for o in node.operands)))


def inline(new: Graph, region: Graph, operands: Sequence[Value]) -> list[Value]:
    """Append the nodes of ``region``, applied to ``operands``, and return its results."""
    moved = dict(zip(region.inputs, operands, strict=True))
    for node in region.nodes:
        if not isinstance(node.op, Input):
            copy = copy_node(new, node, tuple(moved[o] for o in node.operands))
            moved.update(zip(node.results, copy.results, strict=True))
    return [moved[o] for o in region.outputs]


def _size(region: Graph) -> int:
    """Return the number of nodes that a copy of a region adds."""
    return sum(1 for node in all_nodes(region) if not isinstance(node.op, Input))


def _element(new: Graph, x: Value, index: int) -> Value:
    """X -> its element at ``index`` along the first axis."""
    shape = x.type.static_shape
    start, stop = (index, *[0] * (len(shape) - 1)), (index + 1, *shape[1:])
    step = (1,) * len(shape)
    # Results of int8 stay exact integers, for targets.
    exact = x.type.dtype is DType.I8
    taken: Op = (QSlice if exact else RealSlice)(start=start, stop=stop, step=step)
    return new.apply(_reshape(x.type, shape[1:]), new.apply(taken, x))


def _row(new: Graph, x: Value) -> Value:
    """X -> x with a first dimension of 1."""
    return new.apply(_reshape(x.type, (1, *x.type.static_shape)), x)


def _concat_rows(new: Graph, rows: Sequence[Value]) -> Value:
    """Rows -> one tensor."""
    if len(rows) == 1:
        return rows[0]
    exact = rows[0].type.dtype is DType.I8
    return new.apply((QConcat if exact else RealConcat)(axis=0), *rows)


def _reshape(type_: TensorType, shape: tuple[int, ...]) -> Op:
    """Return the op that reshapes a tensor."""
    return (QReshape if type_.dtype is DType.I8 else RealReshape)(shape=shape)
