"""Instructions of a depthwise convolution on planes: fitted to counts, GCC 12 at -O2.

Tests: tests/targets/cortexm/kernels/depthwise_planes/test_planes.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx_cortexm.kernels.depthwise_planes.planes import OUTPUTS, PLANES

if TYPE_CHECKING:
    from rlx_cortexm.kernels.depthwise_planes.planes import Planes
    from rlx_cortexm.weighted import WeightedLayer

PAIR: Final = 4
"""Instructions per pair of outputs, in addition to its products, for spilled values."""

WORD: Final = 0.85
"""Instructions per pair of outputs and word of weights for which no register is left."""

REGISTERS: Final = 6
PASS: Final = 0.75
LINE: Final = 9
LINE_LOOPED: Final = 15
SINGLE_LINE: Final = -25
CHANNEL: Final = -20
TAP: Final = 5
"""Instructions per channel and per tap to unpack the weights."""

UNPACKED: Final = 15
"""Instructions to unpack two values of four channels."""

LINE_UNPACKED: Final = 28
HALF_UNPACKED: Final = 24
"""Instructions per line of four channels, and per word of it that is filled up."""

QUAD: Final = 87
FILL: Final = 8
LAYER: Final = 640
SCALE_MIN: Final = 3
"""Minimum instructions to scale a sum and store the result."""

CLAMP: Final = 2
NEGATIVE: Final = 4
PARITY: Final = 2
"""Instructions to clamp a result at one end; to round halves of negative values away from zero; to
round all halves to even or odd integers."""


def instructions(planes: Planes, weighted: WeightedLayer | None = None) -> int:
    """Return the layer's approximate instructions: fitted to counts, GCC 12 at -O2.

    Args:
        planes: Planes by which it is computed.
        weighted: Its constants; None: scaling as cheap as can be.
    """
    image, along, across = planes.image, *planes.axes
    strips = image.batch * planes.strips
    looped = planes.pairs > planes.unrolled
    words = len(planes.line.weights) * across.kernel
    line = (
        planes.pairs * (_products(planes, 2) + PAIR + WORD * max(words - REGISTERS, 0))
        + along.outputs % OUTPUTS * _products(planes, 1)
        + along.outputs * (_scale_and_store(weighted) if weighted is not None else SCALE_MIN)
        + looped * (PASS * planes.pairs / planes.unrolled + LINE_LOOPED)
        + LINE
    )
    channel = CHANNEL + TAP * image.window.taps + SINGLE_LINE * (across.outputs == 1)
    return round(
        image.out_c * (image.batch * across.outputs * line + strips * channel)
        + _unpacking(planes)
        + LAYER
    )


def _products(planes: Planes, outputs: int) -> int:
    """Return the instructions to load and multiply the taps of one or two outputs."""
    line, lines = planes.line, planes.axes[1].kernel
    words = line.words(outputs)
    products = [p for own in line.products[:words] for p in own if p.output < outputs]
    return lines * (-(-words // 2) + len(products))


def _scale_and_store(weighted: WeightedLayer) -> int:
    """Return the instructions to scale a sum and store the result."""
    output = weighted.output
    clamps = (output["low"] != -128) + (output["high"] != 127)
    scale = SCALE_MIN + (weighted.scaling.function == "requantize_folded")
    negative = weighted.scaling.rounds_twice and not weighted.turns_positive
    return scale + CLAMP * clamps + NEGATIVE * negative + PARITY * weighted.scaling.to_parity


def _unpacking(planes: Planes) -> int:
    """Return the instructions to unpack all values."""
    image, along = planes.image, planes.axes[0]
    quads = -(-image.out_c // PLANES)
    lead = along.pad % 2
    pairs, left = divmod(planes.pixels - lead, 2)
    unpacked_lines, strips = image.batch * _lines_unpacked(planes), image.batch * planes.strips
    line = UNPACKED * pairs + LINE_UNPACKED + HALF_UNPACKED * (lead + left)
    filled = (strips * planes.lines - unpacked_lines) * PLANES * planes.pitch * FILL
    return quads * (unpacked_lines * line + strips * QUAD) + filled


def _lines_unpacked(planes: Planes) -> int:
    """Return the number of lines of an image unpacked for four channels, some of them again."""
    across = planes.axes[1]
    total = 0
    for first_output in range(0, across.outputs, planes.strip):
        count = min(planes.strip, across.outputs - first_output)
        begin = first_output * across.stride - across.pad
        end = begin + (count - 1) * across.stride + (across.kernel - 1) * across.dilation + 1
        total += max(min(end, across.inputs) - max(begin, 0), 0)
    return total
