"""Convolutions and dense layers as one matrix, from which every implementation of them starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rlx.ops.numerics.products import magnitudes

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import Array
    from rlx.ops.numerics.fixed_point import Int64, Rescale
    from rlx.ops.q.conv import QConv2d
    from rlx.ops.q.linear import QDense


@dataclass(frozen=True, eq=False)
class Linear:
    """``y = clamp(rescale(weights @ x + bias) + zero_point, low, high)`` for a window or row ``x``.

    Of a grouped convolution, each output's row holds the weights of its own group.

    Attributes:
        weights: int8[O, K], in the order of the op's weights.
        unfolded_bias: int64[O], added to sums of ``(x - x_zero_point) * w``.
        x_zero_point: Zero point of the input.
        rescale: One factor, or one for each of O.
        zero_point: Zero point of the result.
        low: Minimum of the result.
        high: Maximum of the result.
    """

    weights: npt.NDArray[np.int8]
    unfolded_bias: Int64
    x_zero_point: int
    rescale: Rescale
    zero_point: int
    low: int
    high: int

    @staticmethod
    def of(op: QConv2d | QDense, weights: Array, bias: Array) -> Linear:
        """Return the view of an op with these constant operands.

        Args:
            op: The op.
            weights: int8, int4 or int2, output channels first.
            bias: int32[O].
        """
        rows = weights.reshape(len(weights), -1).astype(np.int8)
        wide = bias.astype(np.int64)
        return Linear(rows, wide, op.x_zero_point, op.rescale, op.zero_point, op.low, op.high)

    @cached_property
    def bias(self) -> Int64:
        """int64[O], added to sums of ``x * w``: ``sum((x - z) w) = sum(x w) - z sum(w)``."""
        return self.bias_of(self.weights)

    def bias_of(self, weights: npt.NDArray[np.integer], outputs: slice = slice(None)) -> Int64:
        """Return the bias with the zero point folded in, int64[O], where only some terms count.

        Args:
            weights: The weights [O, terms] that are multiplied; terms in the padding are not.
            outputs: The outputs that they are of.
        """
        sums = weights.sum(axis=1, dtype=np.int64)
        folded: Int64 = self.unfolded_bias[outputs] - self.x_zero_point * sums
        return folded

    @cached_property
    def magnitudes(self) -> Int64:
        """Sum of the weights' magnitudes of each output, int64[O]."""
        return magnitudes(self.weights)

    def bounds(self, *, folded: bool = True) -> Int64:
        """Return bounds on the magnitude of each partial sum of each output, int64[O].

        Args:
            folded: Whether the zero point is in the bias, or taken off each input value.
        """
        if folded:
            return accumulator_bounds(self.magnitudes, self.bias)
        return accumulator_bounds(self.magnitudes, self.unfolded_bias, 255)


def accumulator_bounds(magnitudes: Int64, bias: Array, reach: int = 128) -> Int64:
    """Return a bound on every ``|bias + sum(x * w)|``, in any order of summation, int64[O].

    Args:
        magnitudes: Sum of the weights' magnitudes of each output, int64[O].
        bias: Of each output, integers [O].
        reach: Maximum of ``|x|``.
    """
    bounds: Int64 = np.abs(bias.astype(np.int64)) + reach * magnitudes
    return bounds
