"""Functions of one tensor, element by element, and the names of those that have one.

Tests: tests/unit/ops/test_fused.py
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import Constant, Graph, Input, TensorType, rebuild
from rlx.ops import nn, real
from rlx.ops.fused.reading import cut_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import DType, Node, Op, Value

NAMED: Final[dict[str, Op]] = {
    "relu": nn.NnRelu(),
    "relu6": nn.NnClamp(low=0.0, high=6.0),
    "gelu": nn.NnGelu(),
    "gelu_tanh": nn.NnGelu(approximate=True),
    "silu": nn.NnSilu(),
    "sigmoid": real.RealSigmoid(),
    "tanh": real.RealTanh(),
    "hard_sigmoid": nn.NnHardSigmoid(),
    "hard_swish": nn.NnHardSwish(),
    "softplus": nn.NnSoftplus(),
    "mish": nn.NnMish(),
    "elu": nn.NnElu(),
    "exp": real.RealExp(),
}
"""Functions that kernels know by name, and the ops whose formula each of them is."""

_COMMUTATIVE = (real.RealAdd, real.RealMul, real.RealMaximum, real.RealMinimum)


@dataclass(frozen=True, slots=True)
class Activation:
    """An elementwise function of one tensor.

    Attributes:
        graph: The function: one input and one output of the same type, and constants.
        name: Its name if it is one of ``NAMED``, else empty.
    """

    graph: Graph
    name: str

    @staticmethod
    def of(nodes: Sequence[Node], value: Value) -> Activation | None:
        """Return the function of ``value`` that ``nodes`` compute, None if there are none."""
        if not nodes:
            return None
        graph = cut_out("activation", nodes, [nodes[-1].results[0]], {"x": value}).body
        return Activation(graph, name_of(graph))


def name_of(graph: Graph) -> str:
    """Return the name of a function of one tensor, empty if it has none."""
    (x,) = graph.inputs
    if not x.type.dtype.is_float:
        return ""
    count = sum(1 for _ in graph.op_nodes)
    for name in NAMED:
        formula = _formula(name, x.type.dtype)
        if _op_count(name, x.type.dtype) == count and _same(graph.outputs[0], formula.outputs[0]):
            return name
    return ""


@functools.cache
def _formula(name: str, dtype: DType) -> Graph:
    """Return a named function as a graph of real ops."""
    graph = Graph(name)
    graph.output(graph.apply(NAMED[name], graph.input("x", TensorType((2,), dtype))))
    while any(isinstance(n.op, nn.NnOp) for n in graph.op_nodes):
        graph = rebuild(graph, _decompose)
    return graph


def _decompose(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
    """nn.op(x) -> its formula."""
    return node.op.decompose(new, *operands) if isinstance(node.op, nn.NnOp) else None


@functools.cache
def _op_count(name: str, dtype: DType) -> int:
    return sum(1 for _ in _formula(name, dtype).op_nodes)


def _same(x: Value, y: Value) -> bool:
    """Return whether two values are the same formula of the input of their graphs."""
    a, b = x.node.op, y.node.op
    if isinstance(a, Constant) and isinstance(b, Constant):
        return a.value.size == b.value.size == 1 and bool(
            np.array_equal(a.value.reshape(()), b.value.reshape(()))
        )
    if isinstance(a, Input) or isinstance(b, Input):
        return type(a) is type(b)
    if a != b or len(x.node.operands) != len(y.node.operands):
        return False
    pairs = zip(x.node.operands, y.node.operands, strict=True)
    if all(_same(*pair) for pair in pairs):
        return True
    turned = zip(x.node.operands, reversed(y.node.operands), strict=True)
    return isinstance(a, _COMMUTATIVE) and all(_same(*pair) for pair in turned)
