"""Functions of one variable, applied to every element."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Op, TensorType, Traits
from rlx.ops.numerics.special import erf
from rlx.ops.real.common import check_float, check_number, check_unquantized, narrow, widen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array
    from rlx.ir.op import Evaluator
    from rlx.ops.real.common import Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class RealUnary(Op):
    """Base of unary functions. Operand: ``x`` floating-point [*]. Result: the same type.

    Outside a function's domain the result is NaN or infinite, as IEEE 754 says.
    """

    traits: ClassVar[Traits] = Traits(elementwise=True)
    takes_integers: ClassVar[bool] = False

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's type."""
        (x,) = operands
        if self.takes_integers:
            check_number(self, x)
        else:
            check_unquantized(self, x)
            check_float(self, x)
        return (x,)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the function of every element."""
        with np.errstate(all="ignore"):
            return self._compute(*operands)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return ``evaluate`` without its guard against warnings."""
        del constants
        return self._compute

    def _compute(self, *operands: Array) -> tuple[Array, ...]:
        (x,) = operands
        return (narrow(self.function(widen(x)), x.dtype),)

    @staticmethod
    @abstractmethod
    def function(x: Numbers) -> Numbers:
        """Return the function of a float32, float64 or, where supported, integer array."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealNeg(RealUnary):
    """``y = -x``; integers too (they wrap)."""

    name: ClassVar[str] = "real.neg"
    takes_integers: ClassVar[bool] = True

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return -x."""
        return np.negative(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealAbs(RealUnary):
    """``y = |x|``; integers too (the minimum stays negative)."""

    name: ClassVar[str] = "real.abs"
    takes_integers: ClassVar[bool] = True

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the magnitude."""
        return np.abs(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealSign(RealUnary):
    """``y = -1, 0 or 1`` by the sign of ``x``; integers too. NaN stays NaN."""

    name: ClassVar[str] = "real.sign"
    takes_integers: ClassVar[bool] = True

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the sign."""
        return np.sign(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealFloor(RealUnary):
    """Largest integer not above ``x``."""

    name: ClassVar[str] = "real.floor"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Round down."""
        return np.floor(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealCeil(RealUnary):
    """Smallest integer not below ``x``."""

    name: ClassVar[str] = "real.ceil"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Round up."""
        return np.ceil(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealRound(RealUnary):
    """Nearest integer, ties to the even one."""

    name: ClassVar[str] = "real.round"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Round to the nearest."""
        return np.rint(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealExp(RealUnary):
    """``y = e^x``."""

    name: ClassVar[str] = "real.exp"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the exponential."""
        return np.exp(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealExpm1(RealUnary):
    """``y = e^x - 1``, exact near zero."""

    name: ClassVar[str] = "real.expm1"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the exponential less 1."""
        return np.expm1(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealLog(RealUnary):
    """Natural logarithm."""

    name: ClassVar[str] = "real.log"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the logarithm."""
        return np.log(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealLog1p(RealUnary):
    """``y = log(1 + x)``, exact near zero."""

    name: ClassVar[str] = "real.log1p"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the logarithm of 1 + x."""
        return np.log1p(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealSqrt(RealUnary):
    """Square root."""

    name: ClassVar[str] = "real.sqrt"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the square root."""
        return np.sqrt(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealRsqrt(RealUnary):
    """``y = 1 / sqrt(x)``."""

    name: ClassVar[str] = "real.rsqrt"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the reciprocal of the square root."""
        return np.reciprocal(np.sqrt(x))


@dataclass(frozen=True, slots=True, kw_only=True)
class RealErf(RealUnary):
    """Error function, ``y = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x``."""

    name: ClassVar[str] = "real.erf"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the error function."""
        return erf(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealSin(RealUnary):
    """Sine of ``x`` in radians."""

    name: ClassVar[str] = "real.sin"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the sine."""
        return np.sin(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealCos(RealUnary):
    """Cosine of ``x`` in radians."""

    name: ClassVar[str] = "real.cos"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the cosine."""
        return np.cos(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealTan(RealUnary):
    """Tangent of ``x`` in radians."""

    name: ClassVar[str] = "real.tan"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the tangent."""
        return np.tan(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealAsin(RealUnary):
    """Arc sine, in [-pi/2, pi/2]."""

    name: ClassVar[str] = "real.asin"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the arc sine."""
        return np.arcsin(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealAcos(RealUnary):
    """Arc cosine, in [0, pi]."""

    name: ClassVar[str] = "real.acos"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the arc cosine."""
        return np.arccos(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealAtan(RealUnary):
    """Arc tangent, in [-pi/2, pi/2]."""

    name: ClassVar[str] = "real.atan"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the arc tangent."""
        return np.arctan(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealTanh(RealUnary):
    """Hyperbolic tangent."""

    name: ClassVar[str] = "real.tanh"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the hyperbolic tangent."""
        return np.tanh(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealSigmoid(RealUnary):
    """Logistic function ``y = 1 / (1 + e^-x)``, without overflow for any ``x``."""

    name: ClassVar[str] = "real.sigmoid"

    @staticmethod
    def function(x: Numbers) -> Numbers:
        """Return the logistic function, from the exponential of a number that is not positive."""
        small = np.exp(-np.abs(x))
        result: Numbers = np.where(x >= 0, 1, small) / (1 + small)
        return result
