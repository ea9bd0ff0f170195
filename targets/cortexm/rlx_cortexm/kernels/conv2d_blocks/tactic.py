"""Convolutions in register blocks: two output channels by three windows at a time.

The values of a panel of windows are unpacked to 16 bits once, three windows side by side, then the
weights of two channels at a time, one SMLAD multiplies two values, and each loaded word is
used two or three times: 8 instructions for 12 products. ``templates/cortexm/blocks.c.j2`` holds
that block, ``pointwise.c.j2`` and ``kernel.c.j2`` the loops around it.

Tests: tests/targets/cortexm/test_forced.py
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx_c.candidate import Candidate, counted
from rlx_c.layer import CodeSize, ConstantTable, Kernel, LoweredLayer
from rlx_cortexm.image import WindowedImage
from rlx_cortexm.kernels.conv2d_blocks.blocks import CHANNELS, WINDOWS, Blocks, is_dense
from rlx_cortexm.kernels.conv2d_blocks.cost import instructions
from rlx_cortexm.narrow import WHOLE_BITS, pack_words, suffix
from rlx_cortexm.narrow import note as bits_note
from rlx_cortexm.packing import QUAD
from rlx_cortexm.tactic import Tactic
from rlx_cortexm.weighted import WeightedLayer

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from rlx.ir import Node
    from rlx.ops.q import QConv2d

UNROLLED_STEPS: Final = (4, 8, 16, 32)
"""Numbers of steps that may be unrolled; a step is two values of each window."""

MAX_READY_STEPS: Final = 16
"""Maximum steps of windows whose weights may be stored ready to multiply, in twice the flash."""

PANEL_GROUPS: Final = (2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48)
"""Groups of three windows that a panel may hold."""


def pixels(node: Node) -> tuple[Candidate, ...]:
    """Return the ways to compute a convolution of single pixels in blocks; none for others."""
    return _candidates(node) if is_dense(WindowedImage.of(node)) else ()


def windows(node: Node) -> tuple[Candidate, ...]:
    """Return the ways to compute any other convolution in blocks."""
    return () if is_dense(WindowedImage.of(node)) else _candidates(node)


def _candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the ways to compute a convolution in blocks; none if its shape does not fit."""
    op, image = cast("QConv2d", node.op), WindowedImage.of(node)
    if op.groups != 1 or image.windows < WINDOWS or image.out_c < CHANNELS:
        return ()
    weighted = WeightedLayer.of(node)
    pays = weighted.pays_level
    scaled_layer = weighted.level() if pays else weighted.folded()
    ready = weighted.level_in_16_bits() if pays else scaled_layer
    whole = [
        _candidate(node, ready if blocks.ready else scaled_layer, blocks)
        for blocks in _cuts(image, WHOLE_BITS)
    ]
    bits = node.operands[1].type.dtype.bits
    narrow_layer = weighted.for_larger_sums(WHOLE_BITS - bits) if bits < WHOLE_BITS else None
    if narrow_layer is None:
        return tuple(whole)
    return (*whole, *(_candidate(node, narrow_layer, blocks) for blocks in _cuts(image, bits)))


def _cuts(image: WindowedImage, bits: int) -> Iterator[Blocks]:
    """Yield every way to cut a convolution that may pay, with weights stored in ``bits``."""
    inputs = image.window.taps * image.in_c
    steps = -(-inputs // QUAD) * 2
    exact = (steps,) if steps <= max(UNROLLED_STEPS) and steps not in UNROLLED_STEPS else ()
    for unrolled in (*UNROLLED_STEPS, *exact):
        # More steps than there are would multiply zeros.
        if unrolled > min(UNROLLED_STEPS) and steps <= unrolled // 2:
            continue
        groups = Blocks(image, inputs, unrolled, 1).groups
        for panel in sorted({min(panel, groups) for panel in PANEL_GROUPS}):
            blocks = Blocks(image, inputs, unrolled, panel, bits=bits)
            # The mark after the weights of several passes must stay.
            if blocks.passes == 1 or blocks.row <= blocks.depth:
                yield blocks
            if unrolled == steps <= MAX_READY_STEPS and bits == WHOLE_BITS:
                yield Blocks(image, inputs, unrolled, panel, ready=True)


def _candidate(node: Node, weighted: WeightedLayer, blocks: Blocks) -> Candidate:
    steps, groups = counted(blocks.unrolled, "step"), counted(blocks.panel, "group")
    return Candidate(
        name=f"{_way(blocks)} of {steps}, {groups}{bits_note(blocks.bits)}",
        kernel=_kernel(node, weighted, blocks),
        lower=partial(lower, node, weighted, blocks),
        instructions=instructions(blocks, weighted),
        table_bytes=weights_bytes(blocks) + weighted.channel_bytes,
        scratch_bytes=blocks.scratch_bytes,
    )


def _way(blocks: Blocks) -> str:
    return "ready blocks" if blocks.ready else "blocks"


def weights_bytes(blocks: Blocks) -> int:
    """Return the bytes of weights in flash."""
    pairs = -(-blocks.image.out_c // CHANNELS)
    if blocks.ready:
        return 2 * pairs * CHANNELS * blocks.depth
    return blocks.image.out_c * blocks.row_bytes


def lower(node: Node, weighted: WeightedLayer, blocks: Blocks) -> LoweredLayer:
    """Return the layer."""
    image = blocks.image
    sizes = (image.windows, blocks.inputs, image.out_c, blocks.panel) if blocks.is_dense else ()
    return LoweredLayer(
        _kernel(node, weighted, blocks),
        operands=node.operands[:1],
        tables=(_weights(weighted, blocks), weighted.tables(weighted.weights, "")[1]),
        arguments=(*weighted.arguments, *sizes),
        scratch_bytes=blocks.scratch_bytes,
        macs=image.windows * weighted.weights.size,
        instructions=instructions(blocks, weighted),
        weight_bits=blocks.bits,
        packed_bytes=image.out_c * (blocks.row - blocks.row_bytes),
    )


def _weights(weighted: WeightedLayer, blocks: Blocks) -> ConstantTable:
    """Return the table of weights."""
    outputs = blocks.image.out_c
    by_channel = weighted.weights.reshape(outputs, -1).astype(np.int64)
    if not blocks.ready:
        filled = np.pad(by_channel, ((0, 0), (0, blocks.row - blocks.inputs)))
        ending = ", padded with zeros" if blocks.row > blocks.inputs else ""
        note = f"weights of {outputs} channels by {blocks.inputs} inputs{ending}"
        if blocks.bits < WHOLE_BITS:
            packed = pack_words(filled, blocks.bits)
            return ConstantTable("weights", "int8_t", packed, f"{blocks.bits}-bit {note}")
        return ConstantTable("weights", "int8_t", filled.reshape(-1), note)
    scaled = by_channel * weighted.factors[:, np.newaxis]
    filled = np.pad(scaled, ((0, 0), (0, blocks.depth - blocks.inputs)))
    # Values 0 and 2 of a quad are multiplied together, then 1 and 3.
    steps = filled.reshape(outputs, -1, 2, 2).swapaxes(2, 3).reshape(outputs, -1, 2)
    first = [min(o, outputs - CHANNELS) for o in range(0, outputs, CHANNELS)]
    pairs = np.concatenate([np.stack([steps[o], steps[o + 1]], axis=1).reshape(-1) for o in first])
    note = f"weights of {outputs} channels by {blocks.inputs} inputs, pre-scaled"
    return ConstantTable("weights", "int16_t", pairs, note)


def _common(weighted: WeightedLayer, blocks: Blocks) -> dict[str, Hashable]:
    """Return the constants that both templates need."""
    return {
        **weighted.constants,
        "multiply": blocks.multiply,
        "ready": blocks.ready,
        "bits": blocks.bits,
        "narrow": suffix(blocks.bits),
        "upper": WHOLE_BITS - blocks.bits,
        "unrolled": blocks.unrolled,
        "over": blocks.image.windows % WINDOWS != 0,
        "odd": blocks.image.out_c % CHANNELS != 0,
    }


def _kernel(node: Node, weighted: WeightedLayer, blocks: Blocks) -> Kernel:
    return _pointwise(weighted, blocks) if blocks.is_dense else _windows(node, weighted, blocks)


def _pointwise(weighted: WeightedLayer, blocks: Blocks) -> Kernel:
    """Return the kernel for pixels; its sizes are arguments: layers can share it."""
    constants = {**_common(weighted, blocks), "rest": blocks.inputs % QUAD != 0}
    support = (*_unpack2(blocks), "unpack3", "step", blocks.multiply, *weighted.support)
    return Kernel.of("pointwise", "conv2d_blocks/pointwise", constants, support, _size(blocks))


def _windows(node: Node, weighted: WeightedLayer, blocks: Blocks) -> Kernel:
    """Return the kernel for any windows."""
    image = blocks.image
    constants = {
        **_common(weighted, blocks),
        **image.constants,
        "inside": image.inside,
        "interior": image.interior,
        "in_rows": blocks.in_rows,
        "in_taps": blocks.in_taps,
        "windows": image.windows,
        "inputs": blocks.inputs,
        "depth": blocks.depth,
        "panel": blocks.panel,
        "channel": blocks.channel,
        "patch_bytes": blocks.patch_bytes,
        "x_zero_point": cast("QConv2d", node.op).x_zero_point,
    }
    support = (*_unpack2(blocks), "unpack1_6", "step", blocks.multiply, *weighted.support)
    return Kernel.of("conv2d", "conv2d_blocks/kernel", constants, support, _size(blocks))


def _size(blocks: Blocks) -> CodeSize:
    return CodeSize(inlined=STEP_BYTES * blocks.unrolled)


STEP_BYTES: Final = 28
"""Bytes of machine code per unrolled step."""


def _unpack2(blocks: Blocks) -> tuple[str, ...]:
    """Return the function that unpacks weights, if one does."""
    return () if blocks.ready else (f"unpack2{suffix(blocks.bits)}",)


SUMMARY: Final = (
    "`blocks of S steps, G groups`: three windows by two output channels at a time; the "
    "inputs of G groups of three windows are unpacked to 16 bits once, for all channels; S "
    "steps of two inputs are unrolled. `ready blocks`: weights are stored with 16 bits."
)
POINTWISE_BLOCKS: Final = Tactic(pixels, SUMMARY, portable=3.8, baseline=2.4)
BLOCKS: Final = Tactic(windows, SUMMARY, portable=3.5, baseline=2.4)
