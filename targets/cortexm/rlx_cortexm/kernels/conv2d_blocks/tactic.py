"""Convolutions in register blocks: two output channels by three windows at a time.

The codes of a panel of windows are unpacked to 16 bits once, three windows side by side, then the
weights of two channels at a time, so that one SMLAD multiplies two codes and everything loaded is
used two or three times: 8 instructions for 12 products. ``templates/cortexm/blocks.c.j2`` holds
that block, ``pointwise_blocks_s8`` and ``conv2d_blocks_s8`` the loops around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, Layer, Table
from rlx_cortexm.image import Image
from rlx_cortexm.narrow import WHOLE
from rlx_cortexm.packing import QUAD
from rlx_cortexm.weighted import Weighted

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from rlx.ir import Node
    from rlx.ops.q import QConv2d

WINDOWS: Final = 3
"""Windows of a block."""

CHANNELS: Final = 2
"""Output channels of a block."""

OCTET: Final = 8
"""Weights of a channel that are unpacked together."""

UNROLLED: Final = (4, 8, 16, 32)
"""Steps (of two codes of each window) that may be written out."""

READY: Final = 16
"""Steps of windows whose weights may be stored as they are multiplied: that takes flash twice."""

PANELS: Final = (2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48)
"""Groups of three windows that a panel may hold."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """A convolution cut into blocks.

    Attributes:
        image: Its geometry.
        codes: Of a window.
        unrolled: Steps that are written out.
        panel: Groups of three windows in a panel.
        ready: Weights are stored as they are multiplied: 16 bits, as much larger as they have to.
    """

    image: Image
    codes: int
    unrolled: int
    panel: int
    ready: bool = False

    @property
    def is_dense(self) -> bool:
        """Whether windows are single pixels that follow each other."""
        window = self.image.window
        return window.taps == 1 and window.stride == (1, 1) and not window.is_padded

    @property
    def quads(self) -> int:
        """Words of four codes that hold a window."""
        return -(-self.codes // QUAD)

    @property
    def row(self) -> int:
        """Weights of a channel, filled up to octets."""
        return -(-self.codes // OCTET) * OCTET

    @property
    def passes(self) -> int:
        """How often the steps that are written out run for a block."""
        return -(-2 * self.quads // self.unrolled)

    @property
    def depth(self) -> int:
        """Codes of a window, filled up to whole passes."""
        return 2 * self.unrolled * self.passes

    @property
    def channel(self) -> int:
        """Weights of a channel where they are unpacked: filled up, and whole octets."""
        return max(self.row, self.depth)

    @property
    def groups(self) -> int:
        """Groups of three windows; the last one may overlap the one before."""
        return -(-self.image.windows // WINDOWS)

    @property
    def multiply(self) -> str:
        """The function that multiplies a block (see ``blocks.c.j2``)."""
        return f"multiply_{self.unrolled}" + ("_once" if self.passes == 1 else "")

    @property
    def in_rows(self) -> bool:
        """Whether the rows of taps of a window that lies inside are unpacked where they are."""
        run = self.image.window.kernel[1] * self.image.in_c
        return run % QUAD == 0 and self.image.window.dilation[1] == 1

    @property
    def in_taps(self) -> bool:
        """Whether single taps are unpacked where they are."""
        return self.image.in_c % QUAD == 0

    @property
    def patch_bytes(self) -> int:
        """Scratch memory for codes that are not unpacked where they are."""
        if self.is_dense or (self.in_rows and self.image.inside == "all"):
            return 0
        if self.in_taps:
            return self.image.in_c
        return QUAD * self.quads

    @property
    def scratch_bytes(self) -> int:
        """Scratch memory for a panel, a pair of channels and a patch."""
        mark = 0 if self.passes == 1 else 4
        weights = 0 if self.ready else CHANNELS * self.channel
        return 2 * (WINDOWS * self.panel * self.depth + weights) + mark + self.patch_bytes


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the ways to compute a convolution in blocks; none if its shape does not fit."""
    op, image = cast("QConv2d", node.op), Image.of(node)
    if op.groups != 1 or image.windows < WINDOWS or image.out_c < CHANNELS:
        return ()
    weighted = Weighted.of(node, op)
    if weighted.bits != WHOLE:
        return ()
    # Where negative sums are turned, shifting all channels alike saves nothing.
    positive = weighted.turns_positive
    own = weighted.level() if positive else weighted.folded()
    ready = weighted.level_in_16_bits() if positive else own
    return tuple(
        _candidate(node, ready if blocks.ready else own, blocks) for blocks in _cuts(image)
    )


def _cuts(image: Image) -> Iterator[Blocks]:
    """Yield every way to cut a convolution that may pay."""
    codes = image.window.taps * image.in_c
    steps = -(-codes // QUAD) * 2
    exact = (steps,) if steps <= max(UNROLLED) and steps not in UNROLLED else ()
    for unrolled in (*UNROLLED, *exact):
        # More steps than there are would multiply zeros.
        if unrolled > min(UNROLLED) and steps <= unrolled // 2:
            continue
        groups = Blocks(image, codes, unrolled, 1).groups
        for panel in sorted({min(panel, groups) for panel in PANELS}):
            yield Blocks(image, codes, unrolled, panel)
            if unrolled == steps <= READY:
                yield Blocks(image, codes, unrolled, panel, ready=True)


def _candidate(node: Node, weighted: Weighted, blocks: Blocks) -> Candidate:
    return Candidate(
        name=f"{_way(blocks)} of {blocks.unrolled} steps, {blocks.panel} groups",
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
    return blocks.image.out_c * blocks.row


def lower(node: Node, weighted: Weighted, blocks: Blocks) -> Layer:
    """Return the layer."""
    image = blocks.image
    sizes = (image.windows, blocks.codes, image.out_c, blocks.panel) if blocks.is_dense else ()
    return Layer(
        _kernel(node, weighted, blocks),
        operands=node.operands[:1],
        tables=(_weights(weighted, blocks), weighted.tables(weighted.weights, "")[1]),
        arguments=(*weighted.arguments, *sizes),
        scratch_bytes=blocks.scratch_bytes,
        macs=image.windows * weighted.weights.size,
        instructions=instructions(blocks, weighted),
        weight_bits=weighted.bits,
    )


def _weights(weighted: Weighted, blocks: Blocks) -> Table:
    """Return the table of weights."""
    outputs = blocks.image.out_c
    by_channel = weighted.weights.reshape(outputs, -1).astype(np.int64)
    if not blocks.ready:
        filled = np.pad(by_channel, ((0, 0), (0, blocks.row - blocks.codes)))
        ending = ", filled up with zeros" if blocks.codes % OCTET else ""
        note = f"weights of {outputs} channels by {blocks.codes} codes{ending}"
        return Table("weights", "int8_t", filled.reshape(-1), note)
    scaled = by_channel * weighted.factors[:, np.newaxis]
    filled = np.pad(scaled, ((0, 0), (0, blocks.depth - blocks.codes)))
    # Codes 0 and 2 of a quad are multiplied together, then 1 and 3.
    steps = filled.reshape(outputs, -1, 2, 2).swapaxes(2, 3).reshape(outputs, -1, 2)
    first = [min(o, outputs - CHANNELS) for o in range(0, outputs, CHANNELS)]
    pairs = np.concatenate([np.stack([steps[o], steps[o + 1]], axis=1).reshape(-1) for o in first])
    note = f"weights of {outputs} channels by {blocks.codes} codes, as they are multiplied"
    return Table("weights", "int16_t", pairs, note)


def _common(weighted: Weighted, blocks: Blocks) -> dict[str, Hashable]:
    """Return what both templates need."""
    return {
        **weighted.constants,
        "multiply": blocks.multiply,
        "ready": blocks.ready,
        "unrolled": blocks.unrolled,
        "over": blocks.image.windows % WINDOWS != 0,
        "odd": blocks.image.out_c % CHANNELS != 0,
    }


def _kernel(node: Node, weighted: Weighted, blocks: Blocks) -> Kernel:
    return _pointwise(weighted, blocks) if blocks.is_dense else _windows(node, weighted, blocks)


def _pointwise(weighted: Weighted, blocks: Blocks) -> Kernel:
    """Return the kernel for pixels; its sizes are arguments, so that layers can share it."""
    constants = {**_common(weighted, blocks), "rest": blocks.codes % QUAD != 0}
    support = (*_unpack2(blocks), "unpack3", "step", blocks.multiply, *weighted.support)
    return Kernel.of("pointwise", "conv2d_blocks/pointwise", constants, support)


def _windows(node: Node, weighted: Weighted, blocks: Blocks) -> Kernel:
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
        "codes": blocks.codes,
        "depth": blocks.depth,
        "panel": blocks.panel,
        "channel": blocks.channel,
        "patch_bytes": blocks.patch_bytes,
        "x_zero_point": cast("QConv2d", node.op).x_zero_point,
    }
    support = (*_unpack2(blocks), "unpack1_6", "step", blocks.multiply, *weighted.support)
    return Kernel.of("conv2d", "conv2d_blocks/kernel", constants, support)


STEP: Final = 8
PASS: Final = 3
"""Behind the steps that are written out, if they run more than once."""


def _unpack2(blocks: Blocks) -> tuple[str, ...]:
    """Return the function that unpacks weights, if one does."""
    return () if blocks.ready else ("unpack2",)


LEVEL: Final = 44
"""Begin, scale and store the sums of a block where all channels shift alike."""

BLOCK: Final = {
    "requantize_folded": 50,
    "requantize_narrow": 70,
    "requantize_wide": 190,
    "requantize_single": 130,
}
"""The same by other functions that scale."""

NEGATIVE: Final = 12
"""Of a block more, where halves of negative numbers are turned."""

SHARED: Final = 3
"""Of a block more, where sizes are arguments."""

OVER: Final = 5
"""Of a block more, where the last windows overlap others."""

PANEL: Final = 40
PAIR: Final = 33
"""Of a panel and two channels, without their weights."""

WEIGHTS: Final = 7
"""Unpack four weights of two channels."""

PAIR_READY: Final = 24
SCALED: Final = 10
"""Of a block less, where weights come as much larger as sums have to."""

GROUP: Final = 7
REST: Final = 90
CODES: Final = 13
"""Unpack four codes of three pixels."""

WINDOW: Final = 24
ROW: Final = 3
ROW_COPIED: Final = 16
QUAD_UNPACKED: Final = 9
"""Unpack four codes of a window."""

TAP: Final = 13
BORDER_COPIED: Final = 60
TAP_COPIED: Final = 6
CODE_COPIED: Final = 6


def instructions(blocks: Blocks, weighted: Weighted) -> int:
    """Return about how many instructions the layer takes: fitted to counts, GCC 12 at -O2."""
    image = blocks.image
    pairs = -(-image.out_c // CHANNELS)
    panels = -(-blocks.groups // blocks.panel)
    function = weighted.scaling.function
    negative = function == "requantize_folded" and not weighted.turns_positive
    block = (
        STEP * blocks.unrolled * blocks.passes
        + PASS * blocks.passes * (blocks.passes > 1)
        + BLOCK.get(function, LEVEL)
        + NEGATIVE * negative
        + OVER * (image.windows % WINDOWS != 0)
    )
    weights = PAIR_READY if blocks.ready else PAIR + WEIGHTS * blocks.row // QUAD
    block += SHARED * blocks.is_dense * (not blocks.ready) - SCALED * blocks.ready
    return (
        blocks.groups * pairs * block
        + panels * (PANEL + pairs * weights)
        + (_pixels(blocks) if blocks.is_dense else _windows_unpacked(blocks))
    )


def _pixels(blocks: Blocks) -> int:
    """Return what it takes to unpack all pixels."""
    return blocks.groups * (GROUP + REST * (blocks.codes % QUAD != 0) + CODES * blocks.quads)


def _windows_unpacked(blocks: Blocks) -> int:
    """Return what it takes to unpack all windows."""
    image = blocks.image
    y0, y1, x0, x1 = image.interior
    inside = image.batch * (y1 - y0) * (x1 - x0) if image.window.dilation[1] == 1 else 0
    border = WINDOWS * blocks.groups - inside
    kernel_h = image.window.kernel[0]
    rows = WINDOW + ROW * kernel_h if blocks.in_rows else ROW_COPIED * kernel_h
    taps = image.window.taps * TAP
    if not blocks.in_taps:
        taps = BORDER_COPIED + TAP_COPIED * image.window.taps + CODE_COPIED * blocks.codes
    quads = QUAD_UNPACKED * blocks.quads
    return inside * (rows + quads) + border * (taps + quads)
