"""Activation functions: elementwise ops."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ops.nn.base import NnOp

if TYPE_CHECKING:
    from rlx.ir import TensorType
    from rlx.ops.expression import Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class NnActivation(NnOp):
    """Base of activations. Operand: ``x`` floating-point [*]. Result: the same type."""

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the operand holds floating-point values."""
        self.check_float(*operands)

    def expand(self, *operands: Expression) -> Expression:
        """Return the function of the operand."""
        (x,) = operands
        return self.function(x)

    @abstractmethod
    def function(self, x: Expression) -> Expression:
        """Return the function of ``x``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NnRelu(NnActivation):
    """``y = max(x, 0)``."""

    name: ClassVar[str] = "nn.relu"

    def function(self, x: Expression) -> Expression:
        """Return max(x, 0)."""
        return x.maximum(0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnClamp(NnActivation):
    """``y = min(max(x, low), high)``: ReLU6 is ``low=0, high=6``.

    Attributes:
        low: Smallest result, or None for no bound.
        high: Largest result, or None for no bound.
    """

    name: ClassVar[str] = "nn.clamp"
    low: float | None = None
    high: float | None = None

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the bounds are in order."""
        NnActivation.check(self, *operands)
        if self.low is not None and self.high is not None and not self.low <= self.high:
            raise self.refuse(f"low must not exceed high, got {self.low} and {self.high}")

    def function(self, x: Expression) -> Expression:
        """Return x within the bounds."""
        raised = x if self.low is None else x.maximum(self.low)
        return raised if self.high is None else raised.minimum(self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnLeakyRelu(NnActivation):
    """``y = x`` where ``x >= 0``, else ``slope * x``.

    Attributes:
        slope: Factor of negative values.
    """

    name: ClassVar[str] = "nn.leaky_relu"
    slope: float = 0.01

    def function(self, x: Expression) -> Expression:
        """Return x, or less of it."""
        return x.where(x >= 0.0, x * self.slope)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnPrelu(NnOp):
    """``y = x`` where ``x >= 0``, else ``slope * x`` with a learned slope.

    Operands: ``x`` floating-point [*], ``slope`` that broadcasts with it. Result: of the
    broadcast shape.
    Result: the type of ``x``, broadcast.
    """

    name: ClassVar[str] = "nn.prelu"
    operand_count: ClassVar[int | tuple[int, int | None]] = 2

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless both hold floating-point values."""
        self.check_float(*operands)

    def expand(self, *operands: Expression) -> Expression:
        """Return x, or less of it."""
        x, slope = operands
        return x.where(x >= 0.0, x * slope)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnElu(NnActivation):
    """``y = x`` where ``x >= 0``, else ``alpha * (e^x - 1)``.

    Attributes:
        alpha: Minus the limit to the left.

    Source: Clevert et al., "Fast and accurate deep network learning by exponential linear units".
    """

    name: ClassVar[str] = "nn.elu"
    alpha: float = 1.0

    def function(self, x: Expression) -> Expression:
        """Return x, or a falling exponential."""
        return x.where(x >= 0.0, x.minimum(0.0).expm1() * self.alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnSelu(NnActivation):
    """``y = scale * x`` where ``x >= 0``, else ``scale * alpha * (e^x - 1)``.

    Attributes:
        alpha: Minus the limit to the left, before scaling.
        scale: Factor of the whole.

    Source: Klambauer et al., "Self-normalizing neural networks".
    """

    name: ClassVar[str] = "nn.selu"
    alpha: float = 1.6732632423543772
    scale: float = 1.0507009873554805

    def function(self, x: Expression) -> Expression:
        """Return a scaled exponential linear unit."""
        return x.where(x >= 0.0, x.minimum(0.0).expm1() * self.alpha) * self.scale


@dataclass(frozen=True, slots=True, kw_only=True)
class NnGelu(NnActivation):
    """Gaussian error linear unit, ``y = x * P(X <= x)`` for a standard normal X.

    Exact ``y = x / 2 * (1 + erf(x / sqrt(2)))``, approximate
    ``y = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))``.

    Attributes:
        approximate: Whether to use the tanh form.

    Source: Hendrycks and Gimpel, "Gaussian error linear units".
    """

    name: ClassVar[str] = "nn.gelu"
    approximate: bool = False

    def function(self, x: Expression) -> Expression:
        """Return the exact or the approximate form."""
        if self.approximate:
            inner = (x + x * x * x * 0.044715) * math.sqrt(2.0 / math.pi)
            return x * 0.5 * (inner.tanh() + 1.0)
        return x * 0.5 * ((x * math.sqrt(0.5)).erf() + 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnSilu(NnActivation):
    """``y = x * sigmoid(x)``, also called swish."""

    name: ClassVar[str] = "nn.silu"

    def function(self, x: Expression) -> Expression:
        """Return x times its sigmoid."""
        return x * x.sigmoid()


@dataclass(frozen=True, slots=True, kw_only=True)
class NnSoftplus(NnActivation):
    """``y = log(1 + e^x)``, without overflow."""

    name: ClassVar[str] = "nn.softplus"

    def function(self, x: Expression) -> Expression:
        """Return the smooth ramp."""
        return x.maximum(0.0) + (-abs(x)).exp().log1p()


@dataclass(frozen=True, slots=True, kw_only=True)
class NnSoftsign(NnActivation):
    """``y = x / (1 + |x|)``."""

    name: ClassVar[str] = "nn.softsign"

    def function(self, x: Expression) -> Expression:
        """Return the smooth sign."""
        return x / (abs(x) + 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnMish(NnActivation):
    """``y = x * tanh(softplus(x))``.

    Source: Misra, "Mish: a self regularized non-monotonic activation function".
    """

    name: ClassVar[str] = "nn.mish"

    def function(self, x: Expression) -> Expression:
        """Return x times the tanh of its softplus."""
        return x * x.apply(NnSoftplus()).tanh()


@dataclass(frozen=True, slots=True, kw_only=True)
class NnHardSigmoid(NnActivation):
    """``y = min(max(alpha * x + beta, 0), 1)``.

    Attributes:
        alpha: Slope; 1/6 in MobileNetV3, 0.2 in ONNX.
        beta: Value at 0.
    """

    name: ClassVar[str] = "nn.hard_sigmoid"
    alpha: float = 1.0 / 6.0
    beta: float = 0.5

    def function(self, x: Expression) -> Expression:
        """Return the ramp from 0 to 1."""
        return (x * self.alpha + self.beta).maximum(0.0).minimum(1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnHardSwish(NnActivation):
    """``y = x * min(max(x / 6 + 1/2, 0), 1)``.

    Source: Howard et al., "Searching for MobileNetV3".
    """

    name: ClassVar[str] = "nn.hard_swish"

    def function(self, x: Expression) -> Expression:
        """Return x times a ramp."""
        return x * x.apply(NnHardSigmoid())
