"""Windows, and images that they fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops.q import Window

if TYPE_CHECKING:
    from strategies.case import Maker


def window_and_size(
    make: Maker, *, whole: bool = True, dilated: bool = True
) -> tuple[Window, tuple[int, int]]:
    """Return a window, and the height and width of an image that it fits.

    Args:
        make: Draws.
        whole: Whether padding may be as large as the window, so that some windows see nothing
            but padding. If not, dilated windows are not padded at all: the image could hide
            between their taps.
        dilated: Whether taps may lie apart.
    """
    axes = [_axis(make, whole=whole, dilated=dilated) for _ in range(2)]
    kernel, stride, dilation, padding, size = zip(*axes, strict=True)
    return Window(kernel, stride, dilation, padding), size


def _axis(make: Maker, *, whole: bool, dilated: bool) -> tuple[int, int, int, tuple[int, int], int]:
    """Return kernel, stride, dilation, padding and image size of one axis."""
    size = make.knobs.size
    kernel = make.integer(1, max(1, min(size, 5)))
    stride = make.integer(1, 3)
    dilation = make.integer(1, 2) if dilated else 1
    extent = (kernel - 1) * dilation + 1
    most = extent if whole and make.integer(0, 9) == 9 else extent - 1
    padding = (0, 0)
    if make.pick(False, True) and (whole or dilation == 1):
        padding = (make.integer(0, most), make.integer(0, most))
    least = max(1, extent - sum(padding))
    return kernel, stride, dilation, padding, make.integer(least, least + size)
