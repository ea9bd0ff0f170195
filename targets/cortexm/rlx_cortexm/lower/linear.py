"""Dense layers in C."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from rlx.ops.q import QDense
from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, Layer
from rlx_c.nest import nest
from rlx_cortexm import costs
from rlx_cortexm.kernels.dense_quads import tactic as quads
from rlx_cortexm.kernels.dense_ternary import tactic as ternary
from rlx_cortexm.lower.rules import RULES
from rlx_cortexm.narrow import run_bytes
from rlx_cortexm.packing import BLOCK
from rlx_cortexm.weighted import Weighted

if TYPE_CHECKING:
    from rlx.ir import Node


@RULES.rule(QDense)
def lower_dense(node: Node) -> tuple[Candidate, ...]:
    """Multiply rows of codes by weights: ``dense_quads_s8.c.j2``, ``dense_s8.c.j2``."""
    op = cast("QDense", node.op)
    rows = math.prod(node.operands[0].type.static_shape[:-1])
    weighted = Weighted.of(node, op)
    plain = Candidate.of(dense_layer(node, weighted, rows))
    listed = ternary.candidates(node, weighted, rows, "dense")
    return (*listed, *quads.candidates(node, weighted, rows), plain)


def dot_products(outputs: int, narrow: str = "") -> tuple[str, ...]:
    """Return the shared functions that multiply for ``outputs`` channels, four at a time."""
    blocks = (f"dot4{narrow}",) if outputs >= BLOCK else ()
    return (*blocks, f"dot1{narrow}") if outputs % BLOCK else blocks


def dense_layer(node: Node, weighted: Weighted, rows: int, kind: str = "dense") -> Layer:
    """Return the layer that multiplies ``rows`` rows of the operand by all weights."""
    outputs = len(weighted.weights)
    inputs = weighted.weights.size // outputs
    constants = {
        **weighted.constants,
        "rows": rows,
        "inputs": inputs,
        "outputs": outputs,
        "blocked": outputs - outputs % BLOCK,
        "loops": nest((rows,), (inputs,), (outputs,)),
        "narrow": weighted.narrow,
        "single": run_bytes(inputs, weighted.bits),
    }
    packed = weighted.packed(weighted.weights.reshape(outputs, 1, inputs))
    note = (
        f"{weighted.bits}-bit weights of {outputs} channels by {inputs} codes, four channels"
        " interleaved"
    )
    support = (*dot_products(outputs, weighted.narrow), *weighted.support)
    return Layer(
        Kernel.of(kind, "dense/kernel", constants, support),
        operands=node.operands[:1],
        tables=weighted.tables(packed, note),
        arguments=weighted.arguments,
        macs=rows * outputs * inputs,
        instructions=rows * costs.window(1, inputs, outputs),
        weight_bits=weighted.bits,
        packed_bytes=outputs * inputs - len(packed),
    )
