"""Convolutions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Op, TensorType
from rlx.ops.real.common import check_number, narrow, widen
from rlx.ops.real.window import SpatialWindow

if TYPE_CHECKING:
    from rlx.ir import Array
    from rlx.ops.real.common import Numbers

# Below so many channels a product for each tap is dominated by its overhead.
_FEW_CHANNELS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RealConv(Op):
    """Convolution (cross-correlation) over any number of spatial axes, grouped or depthwise.

    ``y[n, p, o] = sum over taps k and channels c of x[n, p * stride + k * dilation - before, c]
    * w[o, k, c]``, with 0 outside the image.

    Operands: ``x`` [N, spatial..., C], ``w`` [O, kernel..., C / groups] of one element type.
    Result: [N, output size..., O]. Output channel ``o`` reads the input channels of group
    ``o // (O / groups)``; depthwise is ``groups == C``.

    Attributes:
        window: Kernel, stride, dilation and padding; its kernel must be that of ``w``.
        groups: Divides C and O.
    """

    name: ClassVar[str] = "real.conv"
    operand_count: ClassVar[int | tuple[int, int | None]] = 2
    window: SpatialWindow
    groups: int = 1

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the type [N, output size..., O]."""
        x, w = operands
        check_number(self, x, w)
        channels, out = self.window.check(self, x)
        if w.rank != x.rank or not w.is_static:
            raise self.refuse(f"weights {w} do not fit input {x}")
        outputs, *kernel, inner = w.static_shape
        if tuple(kernel) != self.window.kernel:
            raise self.refuse(f"kernel {self.window.kernel} differs from that of weights {w}")
        if self.groups < 1 or channels % self.groups or outputs % self.groups:
            raise self.refuse(
                f"groups must divide {channels} input and {outputs} output channels,"
                f" not {self.groups}"
            )
        if inner * self.groups != channels:
            raise self.refuse(f"weights {w} with {self.groups} groups do not fit input {x}")
        return (TensorType((x.shape[0], *out, outputs), x.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the convolution."""
        x, w = operands
        padded, weights = widen(self.window.pad(x, 0)), widen(w)
        with np.errstate(all="ignore"):
            if self.groups == 1:
                y = convolve(self.window, padded, np.moveaxis(weights, 0, -1))
            elif w.shape[-1] == 1:
                y = self._depthwise(padded, weights)
            else:
                y = self._grouped(padded, weights)
            return (narrow(y, x.dtype),)

    def _depthwise(self, padded: Numbers, weights: Numbers) -> Numbers:
        """Return the convolution of one input channel for each group."""
        multiplier = weights.shape[0] // self.groups
        kernels = np.moveaxis(weights[..., 0], 0, -1).reshape(
            *self.window.kernel, self.groups, multiplier
        )
        total: Numbers = np.zeros((), padded.dtype)
        for tap, view in self.window.taps(padded):
            total = total + view[..., None] * kernels[tap]
        result: Numbers = total.reshape(*total.shape[:-2], weights.shape[0])
        return result

    def _grouped(self, padded: Numbers, weights: Numbers) -> Numbers:
        """Return the convolution group by group."""
        images = np.split(padded, self.groups, axis=-1)
        kernels = np.split(np.moveaxis(weights, 0, -1), self.groups, axis=-1)
        parts = [convolve(self.window, x, w) for x, w in zip(images, kernels, strict=True)]
        return np.concatenate(parts, axis=-1)


def convolve(window: SpatialWindow, padded: Numbers, weights: Numbers) -> Numbers:
    """Return the convolution in one group, through matrix products.

    Args:
        window: The window; its padding is already applied.
        padded: [N, spatial..., C].
        weights: [kernel..., C, O].

    Returns:
        [N, output size..., O].
    """
    channels, outputs = weights.shape[-2:]
    taps = window.taps(padded)
    if channels < _FEW_CHANNELS and math.prod(window.kernel) > 1:
        columns: Numbers = np.concatenate([view for _, view in taps], axis=-1)
        flat: Numbers = np.matmul(columns, weights.reshape(-1, outputs))
        return flat
    products = (np.matmul(view, weights[tap]) for tap, view in taps)
    total: Numbers = next(products)
    for product in products:
        np.add(total, product, out=total)
    return total
