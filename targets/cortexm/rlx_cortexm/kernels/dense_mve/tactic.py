"""Rows of inputs times weights, with MVE: dense layers and 1x1 convolutions.

Tests: tests/targets/cortexm/test_mve.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, Kernel, LoweredLayer
from rlx_cortexm.mve import factors
from rlx_cortexm.mve.rows import CHANNELS, DOT_BYTES, VectorRows, pack
from rlx_cortexm.narrow import WHOLE_BITS
from rlx_cortexm.tactic import Tactic
from rlx_cortexm.weighted import WeightedLayer

if TYPE_CHECKING:
    from rlx.ir import Node

SIZE: Final = CodeSize(0.5, inlined=DOT_BYTES)

BLOCK: Final = 10
"""Instructions per four channels, for any number of rows."""

PAIR: Final = 13
SINGLE: Final = 5
"""Instructions per pair of rows, per row of four channels, without products and scaling."""

MASKED: Final = 5
"""Additional instructions per pair of rows if there may be fewer channels."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a dense layer, if applicable."""
    rows = math.prod(node.operands[0].type.static_shape[:-1])
    weighted = WeightedLayer.of(node)
    return for_rows(node, weighted, rows, "dense")


def for_rows(node: Node, weighted: WeightedLayer, rows: int, kind: str) -> tuple[Candidate, ...]:
    """Return the candidate for ``rows`` rows of the operand times all weights, if applicable."""
    if not factors.can_scale(weighted.scaling):
        return ()
    run = VectorRows(weighted.weights.size // len(weighted.weights), tail=True)
    layer = _layer(node, weighted, rows, kind, run)
    return (Candidate.of(layer, "mve rows"),)


def _layer(
    node: Node, weighted: WeightedLayer, rows: int, kind: str, run: VectorRows
) -> LoweredLayer:
    """Return the layer."""
    outputs = len(weighted.weights)
    odd = outputs % CHANNELS != 0
    constants = {
        **factors.constants(weighted),
        **run.constants,
        "pairs": rows > 1,
        "single": rows % 2 == 1,
        "odd": odd,
    }
    blocks = -(-outputs // CHANNELS)
    scale = factors.instructions(weighted)
    pairs, singles = divmod(rows, 2)
    by_block = (
        BLOCK
        + pairs * (run.instructions(2) + 2 * scale + PAIR + MASKED * odd)
        + singles * (run.instructions(1) + scale + SINGLE)
    )
    packed = pack(weighted.weights.reshape(outputs, -1))
    note = f"weights of {outputs} channels by {run.inputs} inputs, four channels interleaved"
    return LoweredLayer(
        Kernel.of(kind, "dense_mve/kernel", constants, factors.support(weighted), SIZE),
        operands=node.operands[:1],
        tables=(weighted.table(packed, note), factors.factor_table(weighted)),
        arguments=(*factors.arguments(weighted), *((rows,) if rows > 1 else ()), outputs),
        macs=rows * weighted.weights.size,
        instructions=blocks * by_block,
        weight_bits=WHOLE_BITS,
    )


DENSE_MVE: Final = Tactic(
    candidates,
    "`mve rows`: rows are multiplied 16 inputs at a time with four output channels, with MVE.",
    vectors=True,
)
