"""Convolution layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ops import real
from rlx.ops.nn.base import NnOp
from rlx.ops.nn.layout import Layout
from rlx.ops.real import SpatialWindow
from rlx.support.errors import ShapeError

if TYPE_CHECKING:
    from rlx.ir import Op, TensorType
    from rlx.ops.expression import Expression


def _check_bias(op: Op, outputs: object, operands: tuple[TensorType, ...]) -> None:
    """Raise ShapeError unless a third operand has one element for each output channel."""
    for bias in operands[2:]:
        if bias.shape != (outputs,):
            raise op.refuse(f"bias must be {bias.dtype.value}[{outputs}], got {bias}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NnConv(NnOp):
    """Convolution layer over any number of spatial axes, grouped or depthwise.

    Operands: image ``x`` and weights ``w``, floating-point, in the order of ``layout``; ``bias``
    [O] (may be left out). Result: an image of O channels.

    Attributes:
        window: Kernel, stride, dilation and padding.
        groups: Divides the channels of input and output; depthwise is one group for each channel.
        layout: Order of the axes of images and weights.
    """

    name: ClassVar[str] = "nn.conv"
    operand_count: ClassVar[int | tuple[int, int | None]] = (2, 3)
    window: SpatialWindow
    groups: int = 1
    layout: Layout = Layout.CHANNELS_LAST

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless weights and bias fit the image."""
        self.check_float(*operands)
        x, w = (self.layout.type_to_last(t) for t in operands[:2])
        try:
            real.RealConv(window=self.window, groups=self.groups).infer(x, w)
        except ShapeError as e:
            raise self.refuse(e.message) from None
        _check_bias(self, w.shape[0], operands)

    def expand(self, *operands: Expression) -> Expression:
        """Return the convolution with the channels last, and the way there and back."""
        x, w, *bias = operands
        conv = real.RealConv(window=self.window, groups=self.groups)
        y = self.layout.to_last(x).apply(conv, self.layout.to_last(w))
        return self.layout.from_last(y + bias[0] if bias else y)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnConvTranspose(NnOp):
    """Transposed convolution: the adjoint of a convolution of the same window.

    Each input element adds its multiple of the kernel to the output, ``stride`` apart; then
    ``padding`` elements are cut off the ends. Output size along an axis:
    ``(n - 1) * stride + extent - before - after + output_padding``.

    Operands: image ``x`` of C channels, weights ``w`` [C, kernel..., O / groups] (channels last)
    or [C, O / groups, kernel...] (channels first), ``bias`` [O] (may be left out). Result: an
    image of O channels.
    Result: an image of O channels.

    Attributes:
        window: Kernel, stride, dilation, and the padding that is cut off.
        output_padding: Elements added after each spatial axis of the output; empty for none.
        groups: Divides the channels of input and output.
        layout: Order of the axes of images and weights.

    Source: ONNX ``ConvTranspose``; Dumoulin and Visin, "A guide to convolution arithmetic".
    """

    name: ClassVar[str] = "nn.conv_transpose"
    operand_count: ClassVar[int | tuple[int, int | None]] = (2, 3)
    window: SpatialWindow
    output_padding: tuple[int, ...] = ()
    groups: int = 1
    layout: Layout = Layout.CHANNELS_LAST

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless weights and bias fit the image."""
        self.check_float(*operands)
        x, w = (self.layout.type_to_last(t) for t in operands[:2])
        channels, size = SpatialWindow((1,) * self.window.rank).check(self, x)
        kernel = w.shape[1:-1]
        if w.rank != x.rank or kernel != self.window.kernel:
            raise self.refuse(f"kernel {self.window.kernel} differs from that of weights {w}")
        if self.groups < 1 or channels % self.groups or w.shape[0] != channels:
            raise self.refuse(f"weights {w} with {self.groups} groups do not fit input {x}")
        self._check_size(size)
        outputs = w.static_shape[-1] * self.groups
        _check_bias(self, outputs, operands)

    def _check_size(self, size: tuple[int, ...]) -> None:
        """Raise ShapeError unless something of the output is left along each axis."""
        window, more = self.window, self.output_padding or (0,) * self.window.rank
        if len(more) != window.rank:
            raise self.refuse(f"output padding needs {window.rank} entries, got {more}")
        for n, stride, extent, cut, extra in zip(
            size, window.stride, window.extent, window.padding, more, strict=True
        ):
            if (n - 1) * stride + extent - sum(cut) + extra < 1:
                raise self.refuse(f"padding {window.padding} leaves nothing of the output")

    def expand(self, *operands: Expression) -> Expression:
        """Return a convolution of the stretched image with the kernel turned around."""
        x, w, *bias = operands
        image, kernels = self.layout.to_last(x), self.layout.to_last(w)
        spread = self._spread(image)
        window = SpatialWindow(self.window.kernel, dilation=self.window.dilation)
        y = spread.apply(
            real.RealConv(window=window, groups=self.groups), self._flip_kernels(kernels)
        )
        return self.layout.from_last(y + bias[0] if bias else y)

    def _spread(self, image: Expression) -> Expression:
        """Return the image with gaps of the stride and the border that the kernel reaches."""
        extra = self.output_padding or (0,) * self.window.rank
        before, after = [], []
        for extent, (low, high), more in zip(
            self.window.extent, self.window.padding, extra, strict=True
        ):
            before.append(extent - 1 - low)
            after.append(extent - 1 - high + more)
        grown = image.apply(
            real.RealPad(
                before=(0, *(max(n, 0) for n in before), 0),
                after=(0, *(max(n, 0) for n in after), 0),
                interior=(0, *(s - 1 for s in self.window.stride), 0),
            )
        )
        # More padding than the kernel reaches cuts into the image itself.
        slices = (
            slice(max(-b, 0), -max(-a, 0) or None) for b, a in zip(before, after, strict=True)
        )
        return grown[(slice(None), *slices, slice(None))]

    def _flip_kernels(self, kernels: Expression) -> Expression:
        """Return [C, kernel..., O / groups] as [O, kernel..., C / groups], turned around."""
        rank = self.window.rank
        channels, *kernel, outputs = (n for n in kernels.shape if isinstance(n, int))
        inner = channels // self.groups
        turned = kernels.apply(real.RealReverse(axes=tuple(range(1, rank + 1))))
        split = turned.reshape(self.groups, inner, *kernel, outputs)
        moved = split.transpose(0, rank + 2, *range(2, rank + 2), 1)
        return moved.reshape(self.groups * outputs, *kernel, inner)
