"""Linear interpolation between integers of given scales, which no integer op computes.

ONNX Runtime interpolates in float32, where the order of the sum decides ties; integers without a
scale are truncated. Integer ops are some steps off. In a float network the loss is measured, but
integers that a file states must be exact.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rlx.ops.nn import Interpolation, NnResize
from rlx.ops.real import RealAdd, RealCast, RealDequantize, RealMatmul, RealMul, RealQuantize, Ties
from rlx.passes.quantize.functions import argument
from rlx.passes.quantize.known import known
from rlx.passes.quantize.params import moves

if TYPE_CHECKING:
    from rlx.ir import Graph, Node, Value

_OPERATOR: Final = re.compile(r"\bnode \d+ ((?:Resize|Upsample)\b.*)")
"""Type and name of an operator that resizes, in the location of its imported nodes."""

HINT: Final = (
    "resize with mode nearest, or outside of the network, or quantize the float model here: that"
    " measures the loss"
)
"""Advice about it."""


def problems(graph: Graph) -> list[str]:
    """Return a sentence for each operator that interpolates integers as a file states them."""
    reasons: dict[str, str] = {}
    for node in graph.op_nodes:
        if isinstance(node.op, RealCast) and _operator(node) and _of_integers(node):
            reasons[_operator(node)] = "integers in float32 and truncates"
        if isinstance(node.op, RealQuantize) and node.op.ties is not Ties.AWAY:
            between = "between two quantize nodes in float32, where the order of a sum decides ties"
            reasons |= dict.fromkeys(_interpolating_operators(node.operands[0]), between)
    return [f"{name} interpolates {what}: no integer op does" for name, what in reasons.items()]


def _operator(node: Node) -> str:
    """Return the name of an ONNX operator that resizes; empty if a node is not of one."""
    match = _OPERATOR.search(node.origin.location)
    return match[1] if match else ""


def _of_integers(node: Node) -> bool:
    """Return whether a node makes floats of integers that are computed."""
    return (
        node.types[0].dtype.is_float
        and not node.operands[0].type.dtype.is_float
        and known(node.result) is None
    )


def _interpolating_operators(value: Value) -> set[str]:
    """Return the operators that interpolated a value, from one that is dequantized."""
    names: set[str] = set()
    visited: set[Value] = set()
    waiting = [value]
    stated = False
    while waiting:
        value = waiting.pop()
        if value in visited or known(value) is not None:
            continue
        visited.add(value)
        node, of = value.node, argument(value.node)
        stated |= isinstance(node.op, RealDequantize)
        name = _operator(node)
        if isinstance(node.op, NnResize):
            linear = node.op.interpolation is Interpolation.LINEAR
            names |= {name or f"{node.op.name} {node.label}"} if linear else set()
            waiting += node.operands
        elif name or moves(node):
            names |= {name} if isinstance(node.op, RealAdd | RealMul | RealMatmul) else set()
            waiting += node.operands
        elif of is not None:
            waiting.append(of)
    return names if stated else set()
