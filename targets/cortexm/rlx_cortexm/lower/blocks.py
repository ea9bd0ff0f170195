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

from rlx_cortexm.candidate import Candidate
from rlx_cortexm.layer import Kernel, Layer
from rlx_cortexm.lower.image import Image
from rlx_cortexm.lower.weighted import Weighted
from rlx_cortexm.narrow import WHOLE
from rlx_cortexm.packing import QUAD

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
    """

    image: Image
    codes: int
    unrolled: int
    panel: int

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
        weights = CHANNELS * self.channel
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
    own = weighted.level() if weighted.turns_positive else weighted.folded()
    return tuple(_candidate(node, own, blocks) for blocks in _cuts(image))


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


def _candidate(node: Node, weighted: Weighted, blocks: Blocks) -> Candidate:
    return Candidate(
        name=f"blocks of {blocks.unrolled} steps, {blocks.panel} groups",
        kernel=_kernel(node, weighted, blocks),
        lower=partial(lower, node, weighted, blocks),
        instructions=instructions(blocks, weighted),
        table_bytes=weighted.weights.shape[0] * blocks.row + weighted.channel_bytes,
        scratch_bytes=blocks.scratch_bytes,
    )


def lower(node: Node, weighted: Weighted, blocks: Blocks) -> Layer:
    """Return the layer."""
    image = blocks.image
    sizes = (image.windows, blocks.codes, image.out_c, blocks.panel) if blocks.is_dense else ()
    by_channel = weighted.weights.reshape(image.out_c, -1)
    filled = np.pad(by_channel, ((0, 0), (0, blocks.row - blocks.codes)))
    return Layer(
        _kernel(node, weighted, blocks),
        operands=node.operands[:1],
        tables=weighted.tables(filled.reshape(-1), _note(blocks)),
        arguments=(*weighted.arguments, *sizes),
        scratch_bytes=blocks.scratch_bytes,
        macs=image.windows * weighted.weights.size,
        instructions=instructions(blocks, weighted),
        weight_bits=weighted.bits,
    )


def _note(blocks: Blocks) -> str:
    filled = ", filled up with zeros" if blocks.codes % OCTET else ""
    return f"weights of {blocks.image.out_c} channels by {blocks.codes} codes{filled}"


def _common(weighted: Weighted, blocks: Blocks) -> dict[str, Hashable]:
    """Return what both templates need."""
    return {
        **weighted.constants,
        "multiply": blocks.multiply,
        "unrolled": blocks.unrolled,
        "over": blocks.image.windows % WINDOWS != 0,
        "odd": blocks.image.out_c % CHANNELS != 0,
    }


def _kernel(node: Node, weighted: Weighted, blocks: Blocks) -> Kernel:
    return _pointwise(weighted, blocks) if blocks.is_dense else _windows(node, weighted, blocks)


def _pointwise(weighted: Weighted, blocks: Blocks) -> Kernel:
    """Return the kernel for pixels; its sizes are arguments, so that layers can share it."""
    constants = {**_common(weighted, blocks), "rest": blocks.codes % QUAD != 0}
    support = ("unpack2", "unpack3", "step", blocks.multiply, *weighted.support)
    return Kernel.of("pointwise", "pointwise_blocks_s8", constants, support)


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
    support = ("unpack1_6", "unpack2", "step", blocks.multiply, *weighted.support)
    return Kernel.of("conv2d", "conv2d_blocks_s8", constants, support)


STEP: Final = 8
PASS: Final = 3
"""Behind the steps that are written out, if they run more than once."""

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

OVER: Final = 5
"""Of a block more, where the last windows overlap others."""

PANEL: Final = 40
PAIR: Final = 33
"""Of a panel and two channels, without their weights."""

WEIGHTS: Final = 7
"""Unpack four weights of two channels."""

GROUP: Final = 7
REST: Final = 14
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
    weights = PAIR + WEIGHTS * blocks.row // QUAD
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
