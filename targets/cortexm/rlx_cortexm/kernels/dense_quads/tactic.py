"""Dense layers on values that are unpacked once: four output channels at a time.

A row of inputs is unpacked to 16 bits, then multiplied with quads of four channels' weights: 18
instructions for 16 products. ``templates/cortexm/blocks.c.j2`` holds that block,
``kernel.c.j2`` the loops around it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, Kernel, LoweredLayer
from rlx_cortexm.packing import BLOCK, QUAD
from rlx_cortexm.tactic import Tactic
from rlx_cortexm.weighted import WeightedLayer

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Array, Node

UNROLLED: Final = (1, 2, 4, 8)
"""Quads that may be unrolled."""


@dataclass(frozen=True, slots=True)
class Quads:
    """A dense layer cut into quads.

    Attributes:
        rows: Rows of values.
        inputs: Values of a row.
        outputs: Channels.
        unrolled: Quads of the unrolled loop body.
    """

    rows: int
    inputs: int
    outputs: int
    unrolled: int

    @property
    def quads(self) -> int:
        """Quads of a row, filled up."""
        return -(-self.inputs // (QUAD * self.unrolled)) * self.unrolled

    @property
    def groups(self) -> int:
        """Groups of four channels; the last may overlap the one before."""
        return -(-self.outputs // BLOCK)

    @property
    def weights_bytes(self) -> int:
        """Bytes of weights, filled up."""
        return QUAD * BLOCK * self.quads * self.groups

    @property
    def scratch_bytes(self) -> int:
        """Scratch memory for a row of 16 bits and the mark after it."""
        return 2 * QUAD * self.quads + 4


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the ways to compute a dense layer in quads; none if it does not fit."""
    rows = math.prod(node.operands[0].type.static_shape[:-1])
    weighted = WeightedLayer.of(node)
    outputs, inputs = weighted.weights.reshape(len(weighted.weights), -1).shape
    if outputs < BLOCK:
        return ()
    scaled_layer = weighted.level() if weighted.pays_level else weighted.folded()
    fewest = min(Quads(rows, inputs, outputs, u).quads for u in UNROLLED)
    cuts = [Quads(rows, inputs, outputs, u) for u in UNROLLED]
    return tuple(_candidate(node, scaled_layer, quads) for quads in cuts if quads.quads <= fewest)


def _candidate(node: Node, weighted: WeightedLayer, quads: Quads) -> Candidate:
    return Candidate(
        name=f"quads, {quads.unrolled} unrolled",
        kernel=_kernel(weighted, quads),
        lower=partial(lower, node, weighted, quads),
        instructions=instructions(quads, weighted),
        table_bytes=quads.weights_bytes + weighted.channel_bytes,
        scratch_bytes=quads.scratch_bytes,
        byte_weights=quads.weights_bytes,
    )


def lower(node: Node, weighted: WeightedLayer, quads: Quads) -> LoweredLayer:
    """Return the layer."""
    rows = (quads.rows,) if quads.rows > 1 else ()
    note = (
        f"weights of {quads.outputs} channels by {quads.inputs} inputs, four channels interleaved"
    )
    return LoweredLayer(
        _kernel(weighted, quads),
        operands=node.operands[:1],
        tables=weighted.tables(_packed(weighted, quads), note),
        arguments=(*weighted.arguments, *rows, quads.inputs, quads.outputs, quads.quads),
        scratch_bytes=quads.scratch_bytes,
        macs=quads.rows * weighted.weights.size,
        instructions=instructions(quads, weighted),
        weight_bits=weighted.bits,
    )


def _kernel(weighted: WeightedLayer, quads: Quads) -> Kernel:
    constants: dict[str, Hashable] = {
        **weighted.constants,
        "unrolled": quads.unrolled,
        "rows": quads.rows > 1,
        "rest": quads.inputs % QUAD != 0,
        "filled": QUAD * quads.quads - quads.inputs >= QUAD,
        "over": quads.outputs % BLOCK != 0,
    }
    multiply = f"quads_{quads.unrolled}"
    support = ("unpack1_2", "quad", multiply, *weighted.support)
    size = CodeSize(0.7, shared=((multiply, QUAD_BYTES * quads.unrolled),))
    return Kernel.of("dense", "dense_quads/kernel", constants, support, size)


def _packed(weighted: WeightedLayer, quads: Quads) -> Array:
    """Return the weights by groups of four channels, then quads, then channels."""
    by_channel = weighted.weights.reshape(quads.outputs, quads.inputs)
    filled = np.pad(by_channel, ((0, 0), (0, QUAD * quads.quads - quads.inputs)))
    first = [min(o, quads.outputs - BLOCK) for o in range(0, quads.outputs, BLOCK)]
    groups = [filled[o : o + BLOCK].reshape(BLOCK, -1, QUAD).swapaxes(0, 1) for o in first]
    return np.concatenate([group.reshape(-1) for group in groups])


QUAD_BYTES: Final = 76
"""Bytes of machine code per unrolled quad."""

MULTIPLY: Final = 18
"""Instructions to multiply a quad of values with those of four channels."""

PASS: Final = 3
"""Instructions per pass over the unrolled quads."""

GROUP: Final = {
    "requantize_folded": 56,
    "requantize_wide": 68,
    "requantize_high": 52,
    "requantize_power_even": 60,
    "requantize_power_odd": 60,
    "requantize_single": 75,
    "requantize_even": 95,
    "requantize_odd": 95,
    "requantize_float32": 90,
    "requantize_float32_wide": 1000,
}
GROUP_LEVEL: Final = 44
"""Instructions to begin, scale and store the sums of four channels, by the scaling function."""

CHANNEL_FACTORS: Final = 4.5
"""Instructions per channel with factors of its own."""

ROW: Final = 62
LAYER: Final = 40
UNPACKED: Final = 7


def instructions(quads: Quads, weighted: WeightedLayer) -> int:
    """Return the layer's approximate instructions: fitted to counts, GCC 12 at -O2."""
    passes = quads.quads // quads.unrolled
    function = weighted.scaling.function
    group = (
        MULTIPLY * quads.quads
        + PASS * passes
        + GROUP.get(function, GROUP_LEVEL)
        + CHANNEL_FACTORS * BLOCK * weighted.scaling.per_channel
    )
    row = quads.groups * group + UNPACKED * quads.quads + ROW
    return round(quads.rows * row) + LAYER


QUADS: Final = Tactic(
    candidates,
    "`quads, N unrolled`: a row is unpacked to 16 bits once, then four output channels are "
    "computed at a time; the loop over four inputs is unrolled N times.",
    portable=2.5,
    baseline=1.8,
)
