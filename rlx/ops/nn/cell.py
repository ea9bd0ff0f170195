"""Activations inside recurrent cells.

Tests: tests/unit/ops/nn/test_recurrent.py
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlx.ops.nn.activation import NnElu, NnHardSigmoid, NnLeakyRelu, NnSoftplus, NnSoftsign

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rlx.ops.expression import Expression


class CellFunction(enum.Enum):
    """Function that a recurrent cell applies to the elements of a gate or of its state.

    ``AFFINE``: ``alpha * x + beta``. ``ELU``: ``x`` where ``x >= 0``, else ``alpha * (e^x - 1)``.
    ``HARD_SIGMOID``: ``alpha * x + beta`` within 0 and 1. ``LEAKY_RELU``: ``x`` where ``x >= 0``,
    else ``alpha * x``. ``RELU``: ``max(x, 0)``. ``SCALED_TANH``: ``alpha * tanh(beta * x)``.
    ``SIGMOID``: ``1 / (1 + e^-x)``. ``SOFTPLUS``: ``log(1 + e^x)``. ``SOFTSIGN``:
    ``x / (1 + |x|)``. ``TANH``: ``tanh(x)``. ``THRESHOLDED_RELU``: ``x`` where ``x > alpha``,
    else 0.
    """

    AFFINE = "affine"
    ELU = "elu"
    HARD_SIGMOID = "hard_sigmoid"
    LEAKY_RELU = "leaky_relu"
    RELU = "relu"
    SCALED_TANH = "scaled_tanh"
    SIGMOID = "sigmoid"
    SOFTPLUS = "softplus"
    SOFTSIGN = "softsign"
    TANH = "tanh"
    THRESHOLDED_RELU = "thresholded_relu"


@dataclass(frozen=True, slots=True)
class CellActivation:
    """Activation of a recurrent cell.

    Attributes:
        function: The function.
        alpha: Its first parameter; unused by functions without one.
        beta: Its second parameter; unused by functions without one.
    """

    function: CellFunction
    alpha: float = 0.0
    beta: float = 0.0

    def apply(self, x: Expression) -> Expression:
        """Return the function of ``x``, in tensor algebra."""
        return _FORMULAS[self.function](x, self.alpha, self.beta)


_FORMULAS: Final[Mapping[CellFunction, Callable[[Expression, float, float], Expression]]] = {
    CellFunction.AFFINE: lambda x, alpha, beta: x * alpha + beta,
    CellFunction.ELU: lambda x, alpha, _: NnElu(alpha=alpha).function(x),
    CellFunction.HARD_SIGMOID: lambda x, alpha, beta: NnHardSigmoid(
        alpha=alpha, beta=beta
    ).function(x),
    CellFunction.LEAKY_RELU: lambda x, alpha, _: NnLeakyRelu(slope=alpha).function(x),
    CellFunction.RELU: lambda x, *_: x.maximum(0.0),
    CellFunction.SCALED_TANH: lambda x, alpha, beta: (x * beta).tanh() * alpha,
    CellFunction.SIGMOID: lambda x, *_: x.sigmoid(),
    CellFunction.SOFTPLUS: lambda x, *_: NnSoftplus().function(x),
    CellFunction.SOFTSIGN: lambda x, *_: NnSoftsign().function(x),
    CellFunction.TANH: lambda x, *_: x.tanh(),
    CellFunction.THRESHOLDED_RELU: lambda x, alpha, _: x.where(x > alpha, 0.0),
}

SIGMOID: Final = CellActivation(CellFunction.SIGMOID)
"""The usual activation of gates."""

TANH: Final = CellActivation(CellFunction.TANH)
"""The usual activation of states."""
