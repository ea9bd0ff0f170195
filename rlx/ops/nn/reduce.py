"""Statistics over axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ops.nn.base import NnOp
from rlx.ops.shapes import normalize_axes

if TYPE_CHECKING:
    from rlx.ir import TensorType
    from rlx.ops.expression import Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class NnVariance(NnOp):
    """Mean of the squared distance from the mean: ``y = mean((x - mean(x))^2)``.

    Operand: ``x`` floating-point [*]. Result: reduced axes kept as 1 or dropped.

    Attributes:
        axes: Axes that are reduced; negative ones count from the end.
        keep_dims: Whether reduced axes stay as dimensions of 1.
    """

    name: ClassVar[str] = "nn.variance"
    axes: tuple[int, ...]
    keep_dims: bool = False

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the operand holds floats and has the axes."""
        self.check_float(*operands)
        normalize_axes(self, self.axes, operands[0].rank)

    def expand(self, *operands: Expression) -> Expression:
        """Return the variance."""
        (x,) = operands
        centred = x - x.mean(*self.axes, keep_dims=True)
        return (centred * centred).mean(*self.axes, keep_dims=self.keep_dims)
