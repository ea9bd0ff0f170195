"""Pooling layers."""

from __future__ import annotations

from abc import abstractmethod
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _NnPool(NnOp):
    """Base of pooling layers. Operand: an image in the order of ``layout``."""

    window: SpatialWindow
    layout: Layout = Layout.CHANNELS_LAST

    @abstractmethod
    def pool(self) -> Op:
        """Return the op that pools with the channels last."""

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the window fits the image."""
        (x,) = operands
        try:
            self.pool().infer(self.layout.type_to_last(x))
        except ShapeError as e:
            raise self.refuse(e.message) from None

    def expand(self, *operands: Expression) -> Expression:
        """Return the pooled image."""
        (x,) = operands
        return self.layout.from_last(self.layout.to_last(x).apply(self.pool()))


@dataclass(frozen=True, slots=True, kw_only=True)
class NnMaxPool(_NnPool):
    """Maximum of each window; padding is never chosen.

    Operand: ``x`` numeric. Result: an image of the same number of channels.

    Attributes:
        window: Kernel, stride, dilation and padding.
        layout: Order of the image's axes.
    """

    name: ClassVar[str] = "nn.max_pool"

    def pool(self) -> Op:
        """Return ``real.max_pool``."""
        return real.RealMaxPool(window=self.window)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnAveragePool(_NnPool):
    """Mean of each window.

    Operand: ``x`` floating-point. Result: an image of the same number of channels.

    Attributes:
        window: Kernel, stride, dilation and padding.
        layout: Order of the image's axes.
        count_padding: Whether padding counts as zeros; else the mean is over the image only.
    """

    name: ClassVar[str] = "nn.average_pool"
    count_padding: bool = False

    def pool(self) -> Op:
        """Return ``real.average_pool``."""
        return real.RealAveragePool(window=self.window, count_padding=self.count_padding)
