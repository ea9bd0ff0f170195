"""Softmax and its kin, without overflow."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ops.nn.base import NnOp
from rlx.ops.shapes import normalize_axis

if TYPE_CHECKING:
    from rlx.ir import TensorType
    from rlx.ops.expression import Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class _AlongAxis(NnOp):
    """Base of ops along an axis. Operand: ``x`` floating-point [*]."""

    axis: int = -1

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the operand holds floats and has the axis."""
        self.check_float(*operands)
        normalize_axis(self, self.axis, operands[0].rank)

    def expand(self, *operands: Expression) -> Expression:
        """Return the function of the operand and its maxima."""
        (x,) = operands
        return self.of_shifted(x - x.max(self.axis, keep_dims=True), x)

    @abstractmethod
    def of_shifted(self, shifted: Expression, x: Expression) -> Expression:
        """Return the result, given ``x`` minus its maximum along the axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NnSoftmax(_AlongAxis):
    """``y = e^x / sum of e^x`` along an axis. Result: the operand's type.

    Attributes:
        axis: The axis; negative counts from the end.
    """

    name: ClassVar[str] = "nn.softmax"

    def of_shifted(self, shifted: Expression, x: Expression) -> Expression:
        """Return the shares."""
        exponentials = shifted.exp()
        return exponentials / exponentials.sum(self.axis, keep_dims=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnLogSoftmax(_AlongAxis):
    """``y = x - log(sum of e^x)`` along an axis. Result: the operand's type.

    Attributes:
        axis: The axis; negative counts from the end.
    """

    name: ClassVar[str] = "nn.log_softmax"

    def of_shifted(self, shifted: Expression, x: Expression) -> Expression:
        """Return the logarithms of the shares."""
        return shifted - shifted.exp().sum(self.axis, keep_dims=True).log()


@dataclass(frozen=True, slots=True, kw_only=True)
class NnLogSumExp(_AlongAxis):
    """``y = log(sum of e^x)`` along an axis. Result: without that axis.

    Attributes:
        axis: The axis; negative counts from the end.
    """

    name: ClassVar[str] = "nn.log_sum_exp"

    def of_shifted(self, shifted: Expression, x: Expression) -> Expression:
        """Return the logarithm of the sum."""
        return shifted.exp().sum(self.axis).log() + x.max(self.axis)
