"""Geometry that convolutions and pools share.

Tests: tests/targets/cortexm/kernels/depthwise_planes/test_planes.py
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

from rlx.ir import once_per_node
from rlx_c.nest import StridedLoop, nest

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Node
    from rlx.ops.q import QAveragePool2d, QConv2d, QMaxPool2d, Window


class Tap(NamedTuple):
    """Offsets of one tap of a depthwise window: in the input, and in the weights."""

    x: int
    w: int


@dataclass(frozen=True)
class WindowedImage:
    """Sizes of input and result, and the window that slides over the input."""

    batch: int
    in_h: int
    in_w: int
    in_c: int
    out_h: int
    out_w: int
    out_c: int
    window: Window

    @staticmethod
    @once_per_node
    def of(node: Node) -> WindowedImage:
        """Read the geometry of a convolution or pool."""
        op = cast("QConv2d | QAveragePool2d | QMaxPool2d", node.op)
        batch, in_h, in_w, in_c = node.operands[0].type.static_shape
        _, out_h, out_w, out_c = node.types[0].static_shape
        return WindowedImage(batch, in_h, in_w, in_c, out_h, out_w, out_c, op.window)

    @property
    def constants(self) -> dict[str, Hashable]:
        """The geometry as templates see it."""
        (kernel_h, kernel_w), (stride_h, stride_w) = self.window.kernel, self.window.stride
        (dilation_h, dilation_w), ((top, _), (left, _)) = self.window.dilation, self.window.padding
        return {
            "batch": self.batch,
            "in_h": self.in_h, "in_w": self.in_w, "in_c": self.in_c,
            "out_h": self.out_h, "out_w": self.out_w, "out_c": self.out_c,
            "kernel_h": kernel_h, "kernel_w": kernel_w,
            "stride_h": stride_h, "stride_w": stride_w,
            "dilation_h": dilation_h, "dilation_w": dilation_w,
            "pad_h": top, "pad_w": left,
        }  # fmt: skip

    @property
    def windows(self) -> int:
        """Number of windows, batch included."""
        return self.batch * self.out_h * self.out_w

    @property
    def loops(self) -> tuple[StridedLoop, ...]:
        """Loops over the batch for input and result."""
        return nest(
            (self.batch,),
            (self.in_h * self.in_w * self.in_c,),
            (self.out_h * self.out_w * self.out_c,),
        )

    @property
    def taps(self) -> tuple[Tap, ...]:
        """The taps of a depthwise window, row by row."""
        (kernel_h, kernel_w), (dilation_h, dilation_w) = self.window.kernel, self.window.dilation
        return tuple(
            Tap(
                (ky * dilation_h * self.in_w + kx * dilation_w) * self.in_c,
                (ky * kernel_w + kx) * self.out_c,
            )
            for ky in range(kernel_h)
            for kx in range(kernel_w)
        )

    @cached_property
    def interior(self) -> tuple[int, int, int, int]:
        """Rows ``[y0, y1)`` and columns ``[x0, x1)`` of windows inside the image."""
        rows, columns = self.window.taps_inside((self.in_h, self.in_w))
        return (*_full(rows, self.window.kernel[0]), *_full(columns, self.window.kernel[1]))

    @property
    def inside(self) -> str:
        """Windows inside the image: ``all``, ``some`` or ``none``."""
        y0, y1, x0, x1 = self.interior
        count = (y1 - y0) * (x1 - x0)
        return "all" if count == self.out_h * self.out_w else "some" if count else "none"


def _full(counts: tuple[int, ...], taps: int) -> tuple[int, int]:
    """Return the range of entries that equal ``taps``; they are consecutive."""
    places = [i for i, count in enumerate(counts) if count == taps]
    return (places[0], places[-1] + 1) if places else (0, 0)
