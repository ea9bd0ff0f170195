"""Rows of inputs times weights, four output channels at a time, any number of bits.

Tests: tests/targets/cortexm/test_forced.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, Kernel, LoweredLayer
from rlx_c.nest import nest
from rlx_cortexm.kernels.dense.dot import dot_products, dot_size, instructions
from rlx_cortexm.narrow import run_bytes
from rlx_cortexm.packing import BLOCK
from rlx_cortexm.tactic import Tactic
from rlx_cortexm.weighted import WeightedLayer, rows_of

if TYPE_CHECKING:
    from rlx.ir import Node


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for rows of inputs times weights; none for other nodes."""
    matrix_rows = rows_of(node)
    if matrix_rows is None:
        return ()
    weighted = WeightedLayer.of(node)
    outputs = len(weighted.weights)
    inputs = weighted.weights.size // outputs
    constants = {
        **weighted.constants,
        "rows": matrix_rows.rows,
        "inputs": inputs,
        "outputs": outputs,
        "blocked": outputs - outputs % BLOCK,
        "loops": nest((matrix_rows.rows,), (inputs,), (outputs,)),
        "narrow": weighted.narrow,
        "single": run_bytes(inputs, weighted.bits),
    }
    packed = weighted.packed(weighted.weights.reshape(outputs, 1, inputs))
    note = (
        f"{weighted.bits}-bit weights of {outputs} channels by {inputs} inputs, four channels"
        " interleaved"
    )
    support = (*dot_products(outputs, weighted.narrow), *weighted.support)
    size = CodeSize(inlined=dot_size(support))
    layer = LoweredLayer(
        Kernel.of(matrix_rows.kind, "dense/kernel", constants, support, size),
        operands=node.operands[:1],
        tables=weighted.tables(packed, note),
        arguments=weighted.arguments,
        macs=matrix_rows.rows * outputs * inputs,
        instructions=matrix_rows.rows * instructions(1, inputs, outputs),
        weight_bits=weighted.bits,
        packed_bytes=outputs * inputs - len(packed),
    )
    return (Candidate.of(layer, "dense"),)


DENSE: Final = Tactic(
    candidates, "`dense`: row by row, four output channels at a time.", portable=1.8, baseline=2.35
)
