"""Cases of ops with control flow, on numbers of any type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType, Graph, TensorType
from rlx.ops.control import If, Scan, While
from rlx.ops.real import Comparison, RealAdd, RealCompare, RealMaximum, RealMinimum, RealSub
from strategies.reals import finish, given, number_type, operand
from strategies.table import strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Value
    from strategies.case import Case, Maker

_OPS = (RealAdd, RealSub, RealMaximum, RealMinimum)


def body(make: Maker, types: Sequence[TensorType], results: int, name: str) -> Graph:
    """Return a region of random sums, differences and extremes of its inputs, all of one type."""
    graph = Graph(name)
    values = [graph.input(f"a{i}", t) for i, t in enumerate(types)]
    if make.pick(True, False):
        number = np.array(make.integer(0, 5)).astype(types[0].dtype.numpy)
        values.append(graph.constant(np.broadcast_to(number, types[0].static_shape)))
    for _ in range(make.integer(1, 4)):
        op = make.pick(*_OPS)()
        values.append(graph.apply(op, make.pick(*values), make.pick(*values)))
    graph.output(*(make.pick(*values[::-1]) for _ in range(results)))
    return graph


def below(type_: TensorType, others: Sequence[TensorType], bound: int) -> Graph:
    """Return the condition of a loop: its first operand, a number, is below ``bound``."""
    graph = Graph("below")
    counter = graph.input("a0", type_)
    for i, other in enumerate(others, start=1):
        graph.input(f"a{i}", other)
    limit = graph.constant(np.array(bound).astype(type_.dtype.numpy))
    graph.output(graph.apply(RealCompare(relation=Comparison.LESS), counter, limit))
    return graph


def counting(inner: Graph, type_: TensorType) -> Graph:
    """Return a region that adds 1 to its first input and runs ``inner`` on the others."""
    graph = Graph("counting")
    counter = graph.input("a0", type_)
    values = [graph.input(f"a{i}", v.type) for i, v in enumerate(inner.inputs, start=1)]
    one = graph.constant(np.array(1).astype(type_.dtype.numpy))
    moved: dict[Value, Value] = dict(zip(inner.inputs, values, strict=True))
    for node in inner.nodes[len(values) :]:
        operands = (moved[o] for o in node.operands)
        moved[node.result] = graph.apply(node.op, *operands)
    graph.output(graph.apply(RealAdd(), counter, one), *(moved[o] for o in inner.outputs))
    return graph


@strategy(If)
def if_(make: Maker) -> Case:
    dtype, shape = number_type(make), make.shape()
    condition = given(make, np.array(make.pick(True, False)))
    operands = [operand(make, shape, dtype) for _ in range(make.integer(1, 2))]
    types, results = [o.type for o in operands], make.integer(1, 2)
    op = If(
        then_body=body(make, types, results, "then"), else_body=body(make, types, results, "else")
    )
    return finish(make, op, condition, *operands)


@strategy(While)
def while_(make: Maker) -> Case:
    dtype, shape = number_type(make), make.shape()
    counter = given(make, np.array(make.integer(0, 3), np.int32))
    first, other = (operand(make, shape, dtype) for _ in range(2))
    types = [first.type, other.type]
    op = While(
        condition=below(counter.type, types, make.integer(0, 6)),
        body=counting(body(make, types, 1, "body"), counter.type),
        max_iterations=make.integer(0, 6),
    )
    return finish(make, op, counter, first, other)


@strategy(Scan)
def scan(make: Maker) -> Case:
    dtype, shape = make.pick(DType.I32, number_type(make)), make.shape(most=3)
    length = make.integer(1, 5)
    carries, scanned, others = (make.integer(least, 2) for least in (0, 0, 0))
    if not carries + scanned + others:
        carries = 1
    collected = make.integer(0 if carries else 1, 2)
    operands = [operand(make, shape, dtype) for _ in range(carries)]
    operands += [operand(make, (length, *shape), dtype) for _ in range(scanned)]
    operands += [operand(make, shape, dtype) for _ in range(others)]
    types = [TensorType(shape, dtype)] * len(operands)
    op = Scan(
        body=body(make, types, carries + collected, "step"),
        carries=carries, scanned=scanned, length=length, reverse=make.pick(False, True),
    )  # fmt: skip
    return finish(make, op, *operands)
