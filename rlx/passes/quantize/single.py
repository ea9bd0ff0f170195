"""Float networks of other element types than float32, in float32.

Tests: tests/unit/calibration/test_quantize.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Constant, DType, Input, Rewriter
from rlx.ops.real import RealCast

if TYPE_CHECKING:
    from rlx.ir import Graph, TensorType


def in_float32(graph: Graph) -> Graph:
    """Return a graph with float32 in place of every other floating-point type.

    Integers of 8 bits do not see the difference, and weights are computed in float32. Inputs and
    outputs become float32 as well. The same graph if it has no others.
    """
    types = [t for node in graph.nodes for t in node.types]
    if not any(_is_other(t) for t in types):
        return graph
    rewriter = Rewriter(graph)
    new = rewriter.new
    for node in rewriter:
        op, operands = node.op, rewriter.operands(node)
        if isinstance(op, Input):
            rewriter.replace(node, new.input(node.name, _single(op.type)))
        elif isinstance(op, Constant) and _is_other(op.type):
            rewriter.replace(node, new.constant(np.asarray(op.value, np.float32)))
        elif isinstance(op, RealCast) and operands[0].type.dtype is _narrow(op.dtype):
            rewriter.replace(node, *operands)
        elif isinstance(op, RealCast) and _narrow(op.dtype) is not op.dtype:
            rewriter.replace(node, new.apply(RealCast(dtype=DType.F32), *operands))
    return rewriter.finish()


def _is_other(type_: TensorType) -> bool:
    return type_.dtype.is_float and type_.dtype is not DType.F32


def _narrow(dtype: DType) -> DType:
    return DType.F32 if dtype.is_float else dtype


def _single(type_: TensorType) -> TensorType:
    return replace(type_, dtype=_narrow(type_.dtype))
