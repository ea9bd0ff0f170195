"""Weights of layers as quantized values, in a graph that still computes with reals.

Tests: tests/unit/passes/quantize/test_boundaries.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ir import DType, QuantParams, rebuild
from rlx.ops.real import RealDequantize
from rlx.passes.quantize.weighted import Weighted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from rlx.ir import Graph, Node, Value
    from rlx.passes.quantize.rounding import RoundedWeights

_DTYPES = {8: DType.I8, 4: DType.I4, 2: DType.I2}


def with_stored_weights(
    graph: Graph, new: Mapping[Node, tuple[RoundedWeights, npt.NDArray[Any]]], *, by: str
) -> tuple[Graph, dict[Value, Value]]:
    """Return ``graph`` with layers of dequantized constant weights, and a map of the values.

    Args:
        graph: The graph.
        new: Quantized weights and a float bias for weighted layers, by node.
        by: Name of the pass.
    """
    replacements: dict[Value, Value] = {}

    def visit(graph_copy: Graph, node: Node, operands: tuple[Value, ...]) -> list[Value] | None:
        replacements.update(zip(node.operands, operands, strict=True))
        if node not in new:
            return None
        layer = Weighted.of(node)
        assert layer is not None
        weights, bias = new[node]
        stored = layer.from_rows(weights.steps.astype(np.float32))
        quant = QuantParams(tuple(weights.scales.tolist()), (0,) * len(weights.scales), 0)
        constant = graph_copy.constant(
            stored.astype(_DTYPES[weights.bits].numpy), name=node.operands[1].name, quant=quant
        )
        reals = graph_copy.apply(RealDequantize(quant=quant), constant)
        offset = graph_copy.constant(bias.astype(layer.weights.dtype), name=f"{node.name}.bias")
        return [graph_copy.apply(node.op, operands[0], reals, offset)]

    rebuilt = rebuild(graph, visit, by=by)
    replacements.update(zip(graph.outputs, rebuilt.outputs, strict=True))
    return rebuilt, replacements
