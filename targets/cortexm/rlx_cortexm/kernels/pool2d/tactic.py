"""Pools, element by element, and average pools of four channels side by side.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx.ops.q import QMaxPool2d
from rlx.targets.operands import unsupported
from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, Kernel, LoweredLayer
from rlx_c.ports import C_TYPES
from rlx_cortexm.image import WindowedImage
from rlx_cortexm.scaling import INT32_BOUND
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QAveragePool2d

LANES: Final = 4
"""Channels that are summed together."""

MAX_LANES_TAPS: Final = 255
"""Taps whose sum fits 16 bits for any values: 255 * 128 < 2^15."""

MAX_UNROLLED_TAPS: Final = 8
"""Taps of a row that may be unrolled."""

_MIN_COSTLY_TAPS: Final = 12
_COMPILER_UNROLLED_TAPS: Final = 2
"""Taps from which each tap of a clipped window costs more; taps that compilers unroll."""


def average(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate that averages each window over the taps inside.

    Raises:
        UnsupportedOpError: A sum could leave int32.
    """
    x, taps = node.operands[0].type, cast("QAveragePool2d", node.op).window.taps
    # Half the taps are added before the division.
    if taps * (1 << (x.dtype.bits - 1)) + taps // 2 >= INT32_BOUND:
        raise unsupported(node, f"a sum of {taps} int{x.dtype.bits} values does not fit int32")
    return (
        Candidate.of(_pool(node, "avg_pool2d", "pool2d/average", CodeSize(0.45)), "avg pool2d"),
    )


def maximum(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate that computes the maximum of each window."""
    return (Candidate.of(_pool(node, "max_pool2d", "pool2d/max", CodeSize(0.6)), "max pool2d"),)


def lanes(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for four channels side by side, if sums of values fit 16 bits."""
    op = cast("QAveragePool2d", node.op)
    image = WindowedImage.of(node)
    taps = image.window.taps
    if image.inside != "all" or op.window.is_padded or image.in_c < LANES or taps > MAX_LANES_TAPS:
        return ()
    written = image.window.kernel[1] <= MAX_UNROLLED_TAPS
    constants = {
        **image.constants,
        "loops": image.loops,
        "unrolled": written,
        "low": op.low,
        "high": op.high,
    }
    kernel = Kernel.of("avg_pool2d", "pool2d/lanes", constants, ("lanes_sum",), CodeSize(0.7))
    layer = LoweredLayer(
        kernel, operands=node.operands, instructions=_lanes_instructions(image, written=written)
    )
    return (Candidate.of(layer, "avg pool2d lanes"),)


def _pool(node: Node, kind: str, template: str, size: CodeSize) -> LoweredLayer:
    op = cast("QAveragePool2d | QMaxPool2d", node.op)
    image = WindowedImage.of(node)
    constants = {
        **image.constants,
        "loops": image.loops,
        "clipped": image.inside != "all",
        "element": C_TYPES[node.types[0].dtype],
        "low": op.low,
        "high": op.high,
    }
    kernel = Kernel.of(kind, template, constants, size=size)
    instructions = _instructions(image, is_max=isinstance(op, QMaxPool2d))
    return LoweredLayer(kernel, operands=node.operands, instructions=instructions)


def _instructions(image: WindowedImage, *, is_max: bool) -> int:
    """Return the instructions of a pool, element by element."""
    kernel_h, kernel_w = image.window.kernel
    inside_h, inside_w = image.window.taps_inside((image.in_h, image.in_w))
    # Rows and taps of a window inside the image, on average.
    rows, columns = sum(inside_h) / len(inside_h), sum(inside_w) / len(inside_w)
    taps = rows * columns
    if image.inside != "all":
        each = 24 + 12.5 * rows + (1.2 if taps < _MIN_COSTLY_TAPS else 4.5) * taps
    elif kernel_h <= _COMPILER_UNROLLED_TAPS and kernel_w <= _COMPILER_UNROLLED_TAPS:
        each = _unrolled(image.window.taps, is_max=is_max) + 22.6 / image.out_c
    elif is_max and 1 in (kernel_h, kernel_w):
        each = 24.5 + 3.75 * taps
    elif kernel_w <= _COMPILER_UNROLLED_TAPS:
        each = 13.5 + 10.5 * rows
    else:
        each = 23.6 + 3.9 * rows + 5.88 * taps if is_max else 34 + 3.6 * rows + 4 * taps
    return round(image.windows * image.out_c * each)


def _unrolled(taps: int, *, is_max: bool) -> float:
    """Return the instructions for an element of a window without loops."""
    # A window of one tap is a copy: neither comparisons nor a division are left.
    return 4.2 * taps - 1 if is_max or taps == 1 else 7.2 + 1.9 * taps


def _lanes_instructions(image: WindowedImage, *, written: bool) -> int:
    """Return the instructions of an average pool that sums four channels side by side."""
    kernel_h, kernel_w = image.window.kernel
    row = 3 * kernel_w + 4 if written else 6 * kernel_w + 8
    quads = -(-image.out_c // LANES)
    return image.windows * (quads * (kernel_h * row + 88) + 20) + 30


AVERAGE_POOL: Final = Tactic(average, "`avg pool2d`: element by element.", baseline=1.6)
LANES_POOL: Final = Tactic(
    lanes,
    "`avg pool2d lanes`: four channels at a time, two sums of 16 bits in a word.",
    baseline=4,
)
MAX_POOL: Final = Tactic(maximum, "`max pool2d`: element by element.", baseline=1.2)
