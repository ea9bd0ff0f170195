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
from rlx_cortexm.narrow import WHOLE_BITS, can_pack, pack_words, suffix
from rlx_cortexm.narrow import note as bits_note
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
        bits: Stored bits of a weight.
    """

    rows: int
    inputs: int
    outputs: int
    unrolled: int
    bits: int = WHOLE_BITS

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
        return QUAD * BLOCK * self.quads * self.groups * self.bits // WHOLE_BITS

    @property
    def fields(self) -> int:
        """Quads whose weights are stored in the same words."""
        return WHOLE_BITS // self.bits

    @property
    def multiply(self) -> str:
        """The function that multiplies a row (see ``blocks.c.j2``)."""
        return f"quads_{self.unrolled}{suffix(self.bits)}"

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
    cuts = [
        Quads(rows, inputs, outputs, unrolled, bits)
        for bits in _stored_bits(node, weighted)
        for unrolled in UNROLLED
        if unrolled % (WHOLE_BITS // bits) == 0
    ]
    fewest = {bits: min(c.quads for c in cuts if c.bits == bits) for bits in {c.bits for c in cuts}}
    return tuple(
        _candidate(node, scaled_layer, cut) for cut in cuts if cut.quads <= fewest[cut.bits]
    )


def _stored_bits(node: Node, weighted: WeightedLayer) -> list[int]:
    """Return the bits in which weights may be stored."""
    bits = node.operands[1].type.dtype.bits
    return [WHOLE_BITS, bits] if can_pack(weighted.weights, bits) else [WHOLE_BITS]


def _candidate(node: Node, weighted: WeightedLayer, quads: Quads) -> Candidate:
    return Candidate(
        name=f"quads, {quads.unrolled} unrolled{bits_note(quads.bits)}",
        kernel=_kernel(weighted, quads),
        lower=partial(lower, node, weighted, quads),
        instructions=instructions(quads, weighted),
        table_bytes=quads.weights_bytes + weighted.channel_bytes,
        scratch_bytes=quads.scratch_bytes,
    )


def lower(node: Node, weighted: WeightedLayer, quads: Quads) -> LoweredLayer:
    """Return the layer."""
    rows = (quads.rows,) if quads.rows > 1 else ()
    note = (
        f"weights of {quads.outputs} channels by {quads.inputs} inputs, four channels interleaved"
    )
    if quads.bits < WHOLE_BITS:
        note = f"{quads.bits}-bit {note}"
    return LoweredLayer(
        _kernel(weighted, quads),
        operands=node.operands[:1],
        tables=weighted.tables(_packed(weighted, quads), note),
        arguments=(*weighted.arguments, *rows, quads.inputs, quads.outputs, quads.quads),
        scratch_bytes=quads.scratch_bytes,
        macs=quads.rows * weighted.weights.size,
        instructions=instructions(quads, weighted),
        weight_bits=quads.bits,
        packed_bytes=quads.weights_bytes * (quads.fields - 1),
    )


def _kernel(weighted: WeightedLayer, quads: Quads) -> Kernel:
    constants: dict[str, Hashable] = {
        **weighted.constants,
        "multiply": quads.multiply,
        "unrolled": quads.unrolled,
        "bits": quads.bits,
        "rows": quads.rows > 1,
        "rest": quads.inputs % QUAD != 0,
        "filled": QUAD * quads.quads - quads.inputs >= QUAD,
        "over": quads.outputs % BLOCK != 0,
    }
    support = ("unpack1_2", "quad", f"quad_i{quads.bits}", quads.multiply, *weighted.support)
    size = CodeSize(0.7, shared=((quads.multiply, QUAD_BYTES[quads.bits] * quads.unrolled),))
    return Kernel.of("dense", "dense_quads/kernel", constants, support, size)


def _packed(weighted: WeightedLayer, quads: Quads) -> Array:
    """Return the weights by groups of four channels, then quads, then channels."""
    by_channel = weighted.weights.reshape(quads.outputs, quads.inputs)
    filled = np.pad(by_channel, ((0, 0), (0, QUAD * quads.quads - quads.inputs)))
    first = [min(o, quads.outputs - BLOCK) for o in range(0, quads.outputs, BLOCK)]
    word = QUAD * quads.fields
    groups = [filled[o : o + BLOCK].reshape(BLOCK, -1, word).swapaxes(0, 1) for o in first]
    whole = np.concatenate([group.reshape(-1, word) for group in groups])
    return whole.reshape(-1) if quads.bits == WHOLE_BITS else pack_words(whole, quads.bits)


QUAD_BYTES: Final = {8: 76, 4: 104, 2: 109}
"""Bytes of machine code per unrolled quad, by the bits of a weight."""

MULTIPLY: Final = {8: 18, 4: 25.5, 2: 27.25}
"""Instructions to multiply a quad of values with those of four channels, by bits of a weight."""

NARROW: Final = 10
"""Additional instructions per group with packed weights: sums are scaled back."""

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
        MULTIPLY[quads.bits] * quads.quads
        + NARROW * (quads.bits < WHOLE_BITS)
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
