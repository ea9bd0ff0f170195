"""Convolutions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Along, Op, TensorType, Traits
from rlx.ops.real.common import check_number, narrow, widen
from rlx.ops.real.window import SpatialWindow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array
    from rlx.ir.op import Evaluator
    from rlx.ops.real.common import Numbers

_MIN_CHANNELS_PER_PRODUCT = 16
"""Input channels from which a product for each tap pays: below, its overhead dominates."""


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
    traits: ClassVar[Traits] = Traits(along=Along.IMAGE)
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
                f" got {self.groups}"
            )
        if inner * self.groups != channels:
            raise self.refuse(f"weights {w} with {self.groups} groups do not fit input {x}")
        return (TensorType((x.shape[0], *out, outputs), x.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the convolution."""
        _, w = operands
        with np.errstate(all="ignore"):
            return self._with(w)(*operands)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return the convolution with known weights in the order of the products."""
        w = constants[1]
        return self.evaluate if w is None else self._with(w)

    def _with(self, w: Array) -> Evaluator:
        """Return the convolution with weights ``w``, ignoring the second operand."""
        weights = np.ascontiguousarray(np.moveaxis(widen(w), 0, -1))
        form = self._convolve_groups
        if self.groups == 1:
            form = self._whole
        elif w.shape[-1] == 1:
            form = self._depthwise

        def evaluate(*operands: Array) -> tuple[Array, ...]:
            x = operands[0]
            padded = widen(self.window.pad(x, 0))
            return (narrow(form(padded, weights), x.dtype),)

        return evaluate

    def _whole(self, padded: Numbers, weights: Numbers) -> Numbers:
        """Return the convolution in one group; ``weights`` are [kernel..., C, O]."""
        return convolve(self.window, padded, weights)

    def _depthwise(self, padded: Numbers, weights: Numbers) -> Numbers:
        """Return the convolution of one input channel for each group."""
        outputs = weights.shape[-1]
        kernels = weights.reshape(*self.window.kernel, self.groups, outputs // self.groups)
        total: Numbers = np.zeros((), padded.dtype)
        for tap, view in self.window.taps(padded):
            total = total + view[..., None] * kernels[tap]
        result: Numbers = total.reshape(*total.shape[:-2], outputs)
        return result

    def _convolve_groups(self, padded: Numbers, weights: Numbers) -> Numbers:
        """Return the convolution group by group."""
        images = np.split(padded, self.groups, axis=-1)
        kernels = np.split(weights, self.groups, axis=-1)
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
    if channels < _MIN_CHANNELS_PER_PRODUCT and math.prod(window.kernel) > 1:
        columns: Numbers = np.concatenate([view for _, view in taps], axis=-1)
        flat: Numbers = np.matmul(columns, weights.reshape(math.prod(weights.shape[:-1]), outputs))
        return flat
    products = (np.matmul(view, weights[tap]) for tap, view in taps)
    total: Numbers = next(products)
    for product in products:
        np.add(total, product, out=total)
    return total
