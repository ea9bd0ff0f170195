"""Pooling: one value for each window and channel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Along, DType, Op, TensorType, Traits
from rlx.ops.real.cast import integer_range
from rlx.ops.real.common import check_float, check_number, check_unquantized, narrow, widen
from rlx.ops.real.window import SpatialWindow

if TYPE_CHECKING:
    from rlx.ir import Array
    from rlx.ops.real.common import Numbers


def _infer_pool(op: Op, window: SpatialWindow, x: TensorType) -> TensorType:
    """Return the type after pooling; every window must see at least one element of the image."""
    channels, out = window.check(op, x)
    for (before, after), extent in zip(window.padding, window.extent, strict=True):
        if max(before, after) >= extent:
            raise op.refuse(f"padding {window.padding} must be less than the window's {extent}")
    return TensorType((x.shape[0], *out, channels), x.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealMaxPool(Op):
    """Maximum of each window; padding is never chosen.

    Operand: ``x`` numeric [N, spatial..., C]. Result: [N, output size..., C].

    Attributes:
        window: Kernel, stride, dilation and padding.
    """

    name: ClassVar[str] = "real.max_pool"
    traits: ClassVar[Traits] = Traits(along=Along.IMAGE)
    window: SpatialWindow

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the pooled type."""
        (x,) = operands
        check_number(self, x)
        return (_infer_pool(self, self.window, x),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the maxima."""
        (x,) = operands
        dtype = DType.of(x)
        lowest = -math.inf if dtype.is_float else integer_range(dtype)[0]
        views = (view for _, view in self.window.taps(self.window.pad(widen(x), lowest)))
        largest: Numbers = next(views)
        for view in views:
            largest = np.maximum(largest, view)
        return (narrow(largest, x.dtype),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealAveragePool(Op):
    """Mean of each window.

    Operand: ``x`` floating-point [N, spatial..., C]. Result: [N, output size..., C].

    Attributes:
        window: Kernel, stride, dilation and padding.
        count_padding: Whether padding counts as zeros; else the mean is over the image only.
    """

    name: ClassVar[str] = "real.average_pool"
    traits: ClassVar[Traits] = Traits(along=Along.IMAGE)
    window: SpatialWindow
    count_padding: bool = False

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the pooled type."""
        (x,) = operands
        check_unquantized(self, x)
        check_float(self, x)
        return (_infer_pool(self, self.window, x),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the means."""
        (x,) = operands
        total: Numbers = self._sums(widen(x))
        count: Numbers = np.array(math.prod(self.window.kernel), total.dtype)
        if self.window.is_padded and not self.count_padding:
            count = self._sums(np.ones((1, *x.shape[1:-1], 1), total.dtype))
        return (narrow(total / count, x.dtype),)

    def _sums(self, x: Numbers) -> Numbers:
        """Return the sum of each window, padding as zeros."""
        total: Numbers = np.zeros((), x.dtype)
        for _, view in self.window.taps(self.window.pad(x, 0)):
            total = total + view
        return total
