"""Weights of -1, 0 and 1 without multiplications: lists of the inputs to add and to subtract.

Zeros cost nothing, other weights less than four instructions on any core. Products cost about
three without DSP extension and little more than one with it: there lists pay if most weights are
zero.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, LoweredLayer
from rlx_c.nest import nest
from rlx_cortexm.narrow import WHOLE_BITS
from rlx_cortexm.tactic import Tactic
from rlx_cortexm.weighted import REQUANTIZE, WeightedLayer, more_per_sum, rows_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import Array, Node
    from rlx_cortexm.core import CortexCore

MAX_SEGMENT_INPUTS: Final = 255
"""Inputs that the one-byte indices of a list can address; also the most entries of a list."""

ENTRY: Final = 3.75
"""Instructions for an entry of a list."""

LIST: Final = 25
"""Instructions per list."""


SUM_PLAIN: Final = 9
SUM_BASELINE: Final = 97
"""Minimum of the additional instructions per sum without DSP extension, and with the baseline
instructions only, which have no 64-bit products."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for rows of inputs times ternary weights; none for others."""
    matrix_rows = rows_of(node)
    if matrix_rows is None:
        return ()
    weighted = WeightedLayer.of(node)
    weights = weighted.weights.reshape(len(weighted.weights), -1)
    if np.abs(weights.astype(np.int16)).max(initial=0) > 1:
        return ()
    layer = _layer(node, weighted, weights, matrix_rows.rows, matrix_rows.kind)
    # The table holds lists, not weights.
    return (replace(Candidate.of(layer, "ternary lists"), byte_weights=0),)


def _layer(
    node: Node, weighted: WeightedLayer, weights: Array, rows: int, kind: str
) -> LoweredLayer:
    """Return the layer."""
    outputs, inputs = weights.shape
    segments = -(-inputs // MAX_SEGMENT_INPUTS)
    constants = {
        **weighted.constants,
        "rows": rows,
        "inputs": inputs,
        "outputs": outputs,
        "segment": MAX_SEGMENT_INPUTS,
        "segments": segments,
        "loops": nest((rows,), (inputs,), (outputs,)),
    }
    entries = int(np.count_nonzero(weights))
    each = int(entries * ENTRY) + outputs * (2 * segments * LIST + REQUANTIZE)
    note = f"lists of the inputs, of {inputs}, that {outputs} channels add and subtract"
    return LoweredLayer(
        Kernel.of(kind, "dense_ternary/kernel", constants, ("ternary", *weighted.support)),
        operands=node.operands[:1],
        tables=weighted.tables(lists(weights), note),
        arguments=weighted.arguments,
        macs=rows * outputs * inputs,
        instructions=rows * each,
        weight_bits=WHOLE_BITS,
    )


def lists(weights: Array) -> npt.NDArray[np.int8]:
    """Return weights [O, K] of -1, 0, 1 as bytes.

    For each channel, for each segment of values: the number of ones, their places in the segment,
    then the same of the minus ones.
    """
    stream: list[int] = []
    for channel in weights:
        for start in range(0, len(channel), MAX_SEGMENT_INPUTS):
            part = channel[start : start + MAX_SEGMENT_INPUTS]
            for sign in (1, -1):
                positions = np.flatnonzero(part == sign).tolist()
                stream += [len(positions), *positions]
    return np.array(stream, np.uint8).view(np.int8)


def _scaling(node: Node, core: CortexCore) -> int:
    """Return the instructions to scale all sums beyond those of the usual function on an M4."""
    more = more_per_sum(node)
    if not core.mainline:
        more = max(more, SUM_BASELINE)
    elif not core.pairs:
        more = max(more, SUM_PLAIN)
    return more * math.prod(node.types[0].static_shape)


TERNARY: Final = Tactic(
    candidates,
    "`ternary lists`: for weights of -1, 0 and 1: lists of the inputs to add and to subtract.",
    scaling=_scaling,
)
