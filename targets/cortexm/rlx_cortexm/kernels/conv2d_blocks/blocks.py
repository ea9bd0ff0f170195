"""A convolution cut into register blocks.

Tests: tests/targets/cortexm/test_forced.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlx_cortexm.narrow import WHOLE_BITS, word_values
from rlx_cortexm.packing import QUAD

if TYPE_CHECKING:
    from rlx_cortexm.image import WindowedImage

WINDOWS: Final = 3
"""Windows of a block."""

CHANNELS: Final = 2
"""Output channels of a block."""

OCTET: Final = 8
"""Weights of a channel in two words."""


def is_dense(image: WindowedImage) -> bool:
    """Whether windows are single pixels that follow each other."""
    window = image.window
    return window.taps == 1 and window.stride == (1, 1) and not window.is_padded


@dataclass(frozen=True, slots=True)
class Blocks:
    """A convolution cut into blocks.

    Attributes:
        image: Its geometry.
        inputs: Values of a window.
        unrolled: Steps of the unrolled loop body.
        panel: Groups of three windows in a panel.
        ready: Weights are stored in the multiplied form: 16 bits, already scaled.
        bits: Stored bits of a weight that is not ready.
    """

    image: WindowedImage
    inputs: int
    unrolled: int
    panel: int
    ready: bool = False
    bits: int = WHOLE_BITS

    @property
    def is_dense(self) -> bool:
        """Whether windows are single pixels that follow each other."""
        return is_dense(self.image)

    @property
    def quads(self) -> int:
        """Words of four values that hold a window."""
        return -(-self.inputs // QUAD)

    @property
    def row(self) -> int:
        """Weights of a channel, filled up to those that are unpacked together."""
        return -(-self.inputs // self.together) * self.together

    @property
    def together(self) -> int:
        """Weights of a channel that are unpacked together: two words of bytes, else one word."""
        return OCTET if self.bits == WHOLE_BITS else word_values(self.bits)

    @property
    def row_bytes(self) -> int:
        """Bytes of a channel's weights in flash, if they are not ready."""
        return self.row * self.bits // WHOLE_BITS

    @property
    def passes(self) -> int:
        """Iterations of the unrolled steps for a block."""
        return -(-2 * self.quads // self.unrolled)

    @property
    def depth(self) -> int:
        """Values of a window, padded to whole passes."""
        return 2 * self.unrolled * self.passes

    @property
    def channel(self) -> int:
        """Weights of a channel where they are unpacked: filled up, and whole groups."""
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
        """Whether the rows of taps of a window inside the image are unpacked in place."""
        run = self.image.window.kernel[1] * self.image.in_c
        return run % QUAD == 0 and self.image.window.dilation[1] == 1

    @property
    def in_taps(self) -> bool:
        """Whether single taps are unpacked where they are."""
        return self.image.in_c % QUAD == 0

    @property
    def patch_bytes(self) -> int:
        """Scratch memory for values that are not unpacked in place."""
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
