"""Functions of one variable, independent of their name and of the ops they are written in.

Tests: tests/unit/passes/quantize/test_islands.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import Constant, Graph, Input, once_per_node
from rlx.ops.nn import NnClamp, NnOp, NnRelu
from rlx.ops.q import QClamp, QTable
from rlx.ops.real import (
    RealCeil,
    RealDequantize,
    RealFloor,
    RealMaximum,
    RealMinimum,
    RealQuantize,
    RealRound,
    Ties,
)
from rlx.passes.quantize.known import known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, Node, QuantParams, Value

INT8: Final = np.arange(-128, 128).astype(np.int8)
"""All int8 values, the smallest first."""


@once_per_node
def argument(node: Node) -> Value | None:
    """Return the value of which the node's result is a function, element by element.

    That is the value farthest up which all paths from the node's operands lead to through such
    ops, known numbers aside: in ``x * sigmoid(x)`` it is ``x`` for the product too. None where
    there is none: two values meet, elements are combined, or a known operand differs from element
    to element.
    """
    if len(node.types) != 1 or not _elementwise(node):
        return None
    arguments: set[Value] = set()
    for operand in node.operands:
        numbers = known(operand)
        if numbers is None:
            arguments.add(argument(operand.node) or operand)
        elif numbers.size != 1:
            return None
    if len(arguments) != 1:
        return None
    (value,) = arguments
    same = value.type.shape == node.types[0].shape and value.type.dtype.is_float
    return value if same else None


@once_per_node
def _elementwise(node: Node) -> bool:
    """Return whether each element of the result depends on one element of each operand only."""
    if node.op.traits.elementwise:
        return True
    if not isinstance(node.op, NnOp):
        return False
    graph, _ = _parts(node)
    return all(
        part.result.type.size == 1 if isinstance(part.op, Constant)
        else isinstance(part.op, Input) or _elementwise(part)
        for part in graph.nodes
    )  # fmt: skip


def _parts(node: Node) -> tuple[Graph, tuple[Value, ...]]:
    """Return the decomposition of a node as a graph, and its inputs."""
    assert isinstance(node.op, NnOp)
    graph = Graph(node.op.name)
    operands = tuple(graph.input(str(i), o.type) for i, o in enumerate(node.operands))
    graph.output(*node.op.decompose(graph, *operands))
    return graph, operands


def evaluate_function(value: Value, of: Value, numbers: Array) -> Array:
    """Return ``value`` for given numbers in place of its argument ``of``.

    Args:
        value: A value whose node has the argument ``of``.
        of: That argument.
        numbers: float32[n].
    """
    computed: dict[Value, Array] = {of: numbers}

    def of_value(inner: Value) -> Array:
        constant = known(inner)
        if constant is not None:
            return constant.reshape(())
        if inner not in computed:
            computed[inner] = _of_arrays(inner.node, [of_value(o) for o in inner.node.operands])
        return computed[inner]

    return np.broadcast_to(of_value(value), numbers.shape)


def _of_arrays(node: Node, operands: Sequence[Array]) -> Array:
    """Return the result of an elementwise node for arrays of other shapes than its own."""
    if node.op.traits.elementwise:
        (result,) = node.op.evaluate(*operands)
        return result
    graph, inputs = _parts(node)
    computed = dict(zip(inputs, operands, strict=True))
    for part in graph.nodes:
        if isinstance(part.op, Constant):
            computed[part.result] = part.op.value.reshape(())
        elif not isinstance(part.op, Input):
            computed[part.result] = _of_arrays(part, [computed[o] for o in part.operands])
    return computed[graph.outputs[0]]


def function_table(
    value: Value, of: Value, x: QuantParams, quant: QuantParams, ties: Ties = Ties.AWAY
) -> Array:
    """Return a function of each of the 256 values of its argument, int8[256].

    Args:
        value: Result of the function.
        of: Its argument.
        x: Quantization parameters of the argument.
        quant: Those of the result.
        ties: Rounding of halves.
    """
    (reals,) = RealDequantize(quant=x).evaluate(INT8)
    numbers = reals.astype(of.type.dtype.numpy)
    results = evaluate_function(value, of, numbers)
    (table,) = RealQuantize(quant=quant, ties=ties).evaluate(results)
    return table


def rounds(value: Value, of: Value) -> bool:
    """Return whether a function of ``of`` rounds to integers, so that small errors become steps."""
    waiting, visited = [value], {of}
    while waiting:
        inner = waiting.pop()
        if inner in visited or known(inner) is not None:
            continue
        if isinstance(inner.node.op, RealRound | RealFloor | RealCeil):
            return True
        visited.add(inner)
        waiting += inner.node.operands
    return False


def table_op(table: Array, function: str, *, clamps: bool) -> QTable | QClamp | None:
    """Return the op for a function of int8 values; None if it is the identity.

    Args:
        table: int8[256], the result for -128 first.
        function: Its name, for display.
        clamps: Whether it may be a q.clamp or the identity: argument and result have one scale.
    """
    numbers = [int(code) for code in table]
    low, high = min(numbers), max(numbers)
    if clamps and np.array_equal(np.clip(INT8, low, high), table):
        return None if (low, high) == (-128, 127) else QClamp(low=low, high=high)
    return QTable(table=tuple(numbers), function=function)


def only_clamps(value: Value, of: Value) -> bool:
    """Return whether a function limits its argument to a range, and does nothing else."""
    while value != of:
        node = value.node
        if not isinstance(node.op, NnRelu | NnClamp | RealMaximum | RealMinimum):
            return False
        computed = [o for o in node.operands if known(o) is None]
        if len(computed) != 1:
            return False
        (value,) = computed
    return True
