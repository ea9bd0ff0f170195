"""How many instructions a kernel takes: models fitted to counts on a Cortex-M4.

Counted with GCC 12 at -O2 under QEMU (``-icount shift=6``) on the MLPerf Tiny networks; for a whole
network of these the sum is right within some 10 %. A choice between kernels compares them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx_cortexm.packing import BLOCK, QUAD

if TYPE_CHECKING:
    from rlx.ops.q import QAdd
    from rlx_cortexm.image import Image
    from rlx_cortexm.scaling import Scaling

ADD = 45
"""Of an element: both operands scaled, the sum scaled."""

CLAMP = 7
"""Of an element."""

LOOKUP = 5
"""Of an element: one look-up."""

MUL = 13
"""Of an element."""

CENTRED_TAP = 11
"""Of a tap of a large depthwise window, the zero point taken off each code."""

MOVE = 5
"""Of a byte of a window that is copied."""

REQUANTIZE = 14
"""Of a code that is computed from a sum: scale, clamp, store."""

SUM = 5
"""Of an element of a sum: both operands looked up, added, stored."""

SUM_SCALED = 2
SUM_CLAMPED = 3
SUM_NEGATIVE = 4
SUM_ANY = 14
"""Scale a sum by another function."""

SUM_UNROLLED = 1.25
SUM_LOOP = 4.5
SUM_RUN = 8
SUM_LAYER = 25

PORTABLE: Final[dict[str, float]] = {
    "add/kernel": 0.8,
    "add_table/kernel": 1.4,
    "conv2d_blocks/kernel": 3.5,
    "conv2d/kernel": 1.7,
    "conv2d_winograd/kernel": 3.8,
    "dense_quads/kernel": 2.5,
    "dense/kernel": 1.8,
    "depthwise_planes/kernel": 2.3,
    "depthwise/kernel": 1.3,
    "conv2d_blocks/pointwise": 3.8,
}
"""Instructions of a template's portable path on a core without DSP extension, for each of those on
a Cortex-M4: counted on a Cortex-M3."""

_QUAD = 24
_QUAD_TAIL = 13
_SHORT_RUN = 17
_MANY_TAPS = 12
_WRITTEN = 2
_SINGLE = 6
_RUN = 10
_LANES = 10
_LANES_OUTSIDE = 17
_TAP_OUTSIDE = 15
_WINDOW = 30


def window(rows: int, length: int, outputs: int) -> int:
    """Return what all ``outputs`` of a window of ``rows`` runs of ``length`` codes take."""
    block = rows * (length // QUAD * _QUAD + length % QUAD * _QUAD_TAIL + _RUN * (rows > 1))
    single = rows * (length * _SINGLE + _RUN)
    blocks, singles = divmod(outputs, BLOCK)
    return blocks * (block + BLOCK * REQUANTIZE) + singles * (single + REQUANTIZE)


def copied_windows(image: Image, in_place: str) -> int:
    """Return what it takes to copy all windows of a convolution that are not read in place."""
    y0, y1, x0, x1 = image.interior
    inner = image.batch * (y1 - y0) * (x1 - x0)
    kernel_h, kernel_w = image.window.kernel
    outside = (image.windows - inner) * kernel_h * (kernel_w * image.in_c * MOVE + _RUN)
    return outside + (inner * kernel_h * _SHORT_RUN if in_place == "none" else 0)


def table_sum(size: int, run: int, tables: int, op: QAdd, scaling: Scaling) -> int:
    """Return what a sum of ``size`` elements takes, ``run`` of them after each other."""
    clamps = (op.low > -128) + (op.high < 127)
    scale = SUM_SCALED + SUM_CLAMPED * clamps + SUM_NEGATIVE * (op.low < op.zero_point)
    element = SUM + abs(tables - 1) + (scale if scaling.is_level else SUM_ANY)
    loop = SUM_UNROLLED if run % 4 == 0 else SUM_LOOP
    begin = SUM_RUN / run if run > 1 else 0
    return round(size * (element + loop + begin)) + SUM_LAYER


def lanes_pool(image: Image, *, written: bool) -> int:
    """Return what an average pool takes that sums four channels side by side."""
    kernel_h, kernel_w = image.window.kernel
    row = 3 * kernel_w + 4 if written else 6 * kernel_w + 8
    quads = -(-image.out_c // BLOCK)
    return image.windows * (quads * (kernel_h * row + 88) + 20) + 30


def depthwise(image: Image, blocked: int) -> int:
    """Return what a depthwise layer takes that computes ``blocked`` channels four at a time."""
    taps, singles = image.window.taps, image.out_c - blocked
    y0, y1, x0, x1 = image.interior
    inner = (y1 - y0) * (x1 - x0)
    outer = image.out_h * image.out_w - inner
    codes = image.windows * (image.out_c * REQUANTIZE + _WINDOW)
    within = blocked // BLOCK * taps * _LANES + singles * taps * 3
    without = blocked // BLOCK * taps * _LANES_OUTSIDE + singles * taps * _SINGLE
    return codes + image.batch * (inner * within + outer * (without + taps * _TAP_OUTSIDE))


def mean(terms: int, results: int) -> int:
    """Return what means of ``terms`` codes in all take."""
    return round(4 * terms + 12.4 * results)


def argmax(codes: int, *, inner: bool) -> int:
    """Return what it takes to find greatest codes, side by side or with others between them."""
    return (10 if inner else 8) * codes


def softmax(rows: int, classes: int) -> int:
    """Return what rows of classes take; less if many of them are unlikely."""
    return rows * (130 + 40 * classes)


def copies(runs: int, length: int) -> float:
    """Return what it takes to copy runs of codes with the C library, or single ones without."""
    return runs * (4.6 if length == 1 else 14 + 0.5 * length)


def pool(image: Image, rows: float, taps: float, *, greatest: bool) -> int:
    """Return what a pool takes, code by code.

    Args:
        image: Its geometry.
        rows: Rows of taps of a window that lie inside, on average.
        taps: Taps of a window that lie inside, on average.
        greatest: Whether the greatest code is wanted, not the mean.
    """
    kernel_h, kernel_w = image.window.kernel
    if image.inside != "all":
        code = 24 + 12.5 * rows + (1.2 if taps < _MANY_TAPS else 4.5) * taps
    elif kernel_h <= _WRITTEN and kernel_w <= _WRITTEN:
        code = 11.4 + taps + 22.6 / image.out_c
    elif kernel_w <= _WRITTEN:
        code = 13.5 + 10.5 * rows
    else:
        code = 23.6 + 3.9 * rows + 5.88 * taps if greatest else 34 + 3.6 * rows + 4 * taps
    return round(image.windows * image.out_c * code)
