"""Dense layers in C."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from rlx.ops.q import QDense
from rlx_cortexm import costs
from rlx_cortexm.layer import Kernel, Layer
from rlx_cortexm.lower.rules import RULES
from rlx_cortexm.lower.weighted import Weighted
from rlx_cortexm.nest import nest
from rlx_cortexm.packing import BLOCK, pack_rows

if TYPE_CHECKING:
    from rlx.ir import Node


@RULES.rule(QDense)
def lower_dense(node: Node) -> Layer:
    """Multiply rows of codes by weights: ``dense_s8.c.j2``."""
    op = cast("QDense", node.op)
    rows = math.prod(node.operands[0].type.static_shape[:-1])
    return dense_layer(node, Weighted.of(node, op), rows)


def dot_products(outputs: int) -> tuple[str, ...]:
    """Return the shared functions that multiply for ``outputs`` channels, four at a time."""
    blocks = ("dot4",) if outputs >= BLOCK else ()
    return (*blocks, "dot1") if outputs % BLOCK else blocks


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
    }
    packed = pack_rows(weighted.weights.reshape(outputs, 1, inputs))
    note = f"weights of {outputs} channels by {inputs} codes, four channels interleaved"
    return Layer(
        Kernel.of(kind, "dense_s8", constants, (*dot_products(outputs), *weighted.support)),
        operands=node.operands[:1],
        tables=weighted.tables(packed, note),
        arguments=weighted.arguments,
        macs=rows * outputs * inputs,
        instructions=rows * costs.window(1, inputs, outputs),
    )
