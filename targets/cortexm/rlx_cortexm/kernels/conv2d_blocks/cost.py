"""Instructions of a convolution in blocks: fitted to counts, GCC 12 at -O2.

Tests: tests/targets/cortexm/test_forced.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx_cortexm.kernels.conv2d_blocks.blocks import CHANNELS, WINDOWS
from rlx_cortexm.narrow import WHOLE_BITS
from rlx_cortexm.packing import QUAD

if TYPE_CHECKING:
    from rlx_cortexm.kernels.conv2d_blocks.blocks import Blocks
    from rlx_cortexm.weighted import WeightedLayer

STEP: Final = 8
PASS: Final = 3
"""Instructions per step of two values of each window; per pass, with several."""

LEVEL: Final = 44
"""Instructions to begin, scale and store the sums of a block with one shift for all channels."""

FOLDED: Final = "requantize_folded"

BLOCK: Final = {
    FOLDED: 50,
    "requantize_narrow": 70,
    "requantize_wide": 68,
    "requantize_high": 60,
    "requantize_power_even": 72,
    "requantize_power_odd": 72,
    "requantize_single": 130,
    "requantize_even": 160,
    "requantize_odd": 160,
    "requantize_float32": 120,
    "requantize_float32_wide": 2000,
}
"""The same by other functions that scale."""

WIDE_CHANNEL: Final = 53
WIDE_NEGATIVE: Final = 28
"""Additional instructions per block by ``requantize_wide`` with factors for each channel, and if
the lower bound is below the zero point."""

NEGATIVE: Final = 12
"""Additional instructions per block if halves of negative values need a correction."""

PARITY: Final = 8
"""Additional instructions per block if halves are rounded to even or to odd integers."""

SCALED_BACK: Final = 6
"""Additional instructions per block if its sums are kept larger and scaled by other functions."""

SHARED: Final = 3
"""Additional instructions per block if sizes are arguments."""

OVERLAP: Final = 5
"""Additional instructions per block if the last windows overlap others."""

PANEL: Final = 40
PAIR: Final = 33
"""Instructions per panel, and per pair of channels of it without their weights."""

WEIGHTS: Final = {8: 7, 4: 9, 2: 8}
"""Instructions to unpack four weights of two channels, by the bits of a weight."""

PAIR_READY: Final = 24
SCALED: Final = 10
"""Instructions per pair of channels with pre-scaled weights, and per block saved by these."""

GROUP: Final = 7
REST: Final = 90
PIXEL_QUAD: Final = 13
"""Instructions per group, for inputs beyond the last quad, per quad of three pixels unpacked."""

WINDOW: Final = 24
ROW: Final = 3
ROW_COPIED: Final = 16
QUAD_UNPACKED: Final = 9
"""Instructions per window inside, per row of its taps, per copied row, per quad unpacked."""

TAP: Final = 13
BORDER_COPIED: Final = 60
TAP_COPIED: Final = 6
VALUE_COPIED: Final = 6
"""Instructions per tap that is unpacked with a check; per copied window, its taps, its values."""


def instructions(blocks: Blocks, weighted: WeightedLayer) -> int:
    """Return the layer's approximate instructions: fitted to counts, GCC 12 at -O2."""
    image = blocks.image
    pairs = -(-image.out_c // CHANNELS)
    panels = -(-blocks.groups // blocks.panel)
    function = weighted.scaling.function
    negative = function == FOLDED and not weighted.turns_positive
    block = (
        STEP * blocks.unrolled * blocks.passes
        + PASS * blocks.passes * (blocks.passes > 1)
        + BLOCK.get(function, LEVEL)
        + _wide(weighted) * (function == "requantize_wide")
        + NEGATIVE * negative
        + PARITY * (weighted.scaling.is_level and weighted.scaling.to_parity)
        + SCALED_BACK * (blocks.bits < WHOLE_BITS and function in BLOCK and function != FOLDED)
        + OVERLAP * (image.windows % WINDOWS != 0)
    )
    weights = PAIR_READY if blocks.ready else PAIR + WEIGHTS[blocks.bits] * blocks.row // QUAD
    block += SHARED * blocks.is_dense * (not blocks.ready) - SCALED * blocks.ready
    return (
        blocks.groups * pairs * block
        + panels * (PANEL + pairs * weights)
        + (_pixels(blocks) if blocks.is_dense else _windows_unpacked(blocks))
    )


def _wide(weighted: WeightedLayer) -> int:
    """Return the instructions per block that depend on the factors and bounds."""
    return WIDE_CHANNEL * weighted.scaling.per_channel + WIDE_NEGATIVE * (
        not weighted.turns_positive
    )


def _pixels(blocks: Blocks) -> int:
    """Return the instructions to unpack all pixels."""
    return blocks.groups * (GROUP + REST * (blocks.inputs % QUAD != 0) + PIXEL_QUAD * blocks.quads)


def _windows_unpacked(blocks: Blocks) -> int:
    """Return the instructions to unpack all windows."""
    image = blocks.image
    y0, y1, x0, x1 = image.interior
    interior_windows = image.batch * (y1 - y0) * (x1 - x0) if image.window.dilation[1] == 1 else 0
    border = WINDOWS * blocks.groups - interior_windows
    kernel_h = image.window.kernel[0]
    rows = WINDOW + ROW * kernel_h if blocks.in_rows else ROW_COPIED * kernel_h
    taps = image.window.taps * TAP
    if not blocks.in_taps:
        taps = BORDER_COPIED + TAP_COPIED * image.window.taps + VALUE_COPIED * blocks.inputs
    quads = QUAD_UNPACKED * blocks.quads
    return interior_windows * (rows + quads) + border * (taps + quads)
