"""Rows of inputs times weights, four output channels at a time, any number of bits.

Tests: tests/targets/cortexm/test_forced.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, Kernel, LoweredLayer
from rlx_c.nest import nest
from rlx_cortexm.kernels.dense.dot import dot_products, dot_size, instructions
from rlx_cortexm.kernels.dense.packed_cost import PackedCost
from rlx_cortexm.narrow import run_bytes, suffix
from rlx_cortexm.packing import BLOCK
from rlx_cortexm.tactic import CoreTactic, Tactic
from rlx_cortexm.weighted import WeightedLayer, more_scaling, rows_of

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_cortexm.core import CortexCore
    from rlx_cortexm.weighted import MatrixRows


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for rows of inputs times weights; none for other nodes."""
    matrix_rows = rows_of(node)
    if matrix_rows is None:
        return ()
    layer = _layer(node, WeightedLayer.of(node), matrix_rows)
    return (Candidate.of(layer, "dense"),)


def packed_candidates(node: Node, core: CortexCore) -> tuple[Candidate, ...]:
    """Return the same for packed weights; none for int8."""
    matrix_rows, weighted = rows_of(node), WeightedLayer.narrow_of(node)
    if matrix_rows is None or weighted is None:
        return ()
    layer = _layer(node, weighted, matrix_rows)
    outputs, inputs = len(weighted.weights), weighted.weights.size // len(weighted.weights)
    cost = PackedCost.of(weighted, core).instructions(1, inputs, outputs)
    counted_layer = replace(layer, instructions=round(matrix_rows.rows * cost))
    return (Candidate.of(counted_layer, f"dense, {weighted.bits}-bit weights"),)


def _layer(node: Node, weighted: WeightedLayer, matrix_rows: MatrixRows) -> LoweredLayer:
    """Return the layer, with its instructions for weights of bytes."""
    outputs = len(weighted.weights)
    inputs = weighted.weights.size // outputs
    constants = {
        **weighted.constants,
        "rows": matrix_rows.rows,
        "inputs": inputs,
        "outputs": outputs,
        "blocked": outputs - outputs % BLOCK,
        "loops": nest((matrix_rows.rows,), (inputs,), (outputs,)),
        "narrow": suffix(weighted.bits),
        "single": run_bytes(inputs, weighted.bits),
    }
    packed = weighted.packed(weighted.weights.reshape(outputs, 1, inputs))
    note = (
        f"{weighted.bits}-bit weights of {outputs} channels by {inputs} inputs, four channels"
        " interleaved"
    )
    support = (*dot_products(outputs, suffix(weighted.bits)), *weighted.support)
    size = CodeSize(inlined=dot_size(support))
    return LoweredLayer(
        Kernel.of(matrix_rows.kind, "dense/kernel", constants, support, size),
        operands=node.operands[:1],
        tables=weighted.tables(packed, note),
        arguments=weighted.arguments,
        macs=matrix_rows.rows * outputs * inputs,
        instructions=matrix_rows.rows * instructions(1, inputs, outputs),
        weight_bits=weighted.bits,
        packed_bytes=outputs * inputs - len(packed),
    )


SUMMARY: Final = "`dense`: row by row, four output channels at a time."
DENSE: Final = Tactic(candidates, SUMMARY, portable=1.8, baseline=2.35, scaling=more_scaling)
DENSE_PACKED: Final = CoreTactic(packed_candidates, SUMMARY)
