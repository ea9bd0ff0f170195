"""Normalization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ops.nn.base import NnOp
from rlx.ops.shapes import normalize_axes, normalize_axis

if TYPE_CHECKING:
    from rlx.ir import Op, TensorType
    from rlx.ops.expression import Expression


def _standardize(x: Expression, axes: tuple[int, ...], epsilon: float) -> Expression:
    """Return ``x`` less its mean, over the square root of its variance, over ``axes``."""
    centred = x - x.mean(*axes, keep_dims=True)
    variance = (centred * centred).mean(*axes, keep_dims=True)
    return centred * (variance + epsilon).rsqrt()


def _check_channels(op: Op, x: TensorType, axis: int, *vectors: TensorType) -> None:
    """Raise ShapeError unless each of ``vectors`` has one element for each index of ``axis``."""
    wanted = x.with_shape((x.shape[axis],))
    for vector in vectors:
        if vector != wanted:
            raise op.refuse(f"expected {wanted} for each channel, got {vector}")


def _along(vector: Expression, x: Expression, axis: int) -> Expression:
    """Return ``vector`` shaped so that it broadcasts along ``axis`` of ``x``."""
    return vector.reshape(*vector.shape, *(1,) * (x.ndim - axis - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class NnLayerNorm(NnOp):
    """Standardization over the last axes, then scale and shift.

    ``y = (x - mean(x)) / sqrt(variance(x) + epsilon) * gamma + beta``

    Operands: ``x`` floating-point [..., D...], ``gamma`` [D...], ``beta`` [D...] (may be left out).
    The shape of ``gamma`` determines the axes. Result: the type of ``x``.

    Attributes:
        epsilon: Added to the variance.

    Source: Ba et al., "Layer normalization".
    """

    name: ClassVar[str] = "nn.layer_norm"
    operand_count: ClassVar[int | tuple[int, int | None]] = (2, 3)
    epsilon: float = 1e-5

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless gamma and beta have the shape of the last axes."""
        self.check_float(*operands)
        _check_last(self, *operands)

    def expand(self, *operands: Expression) -> Expression:
        """Return the normalized tensor."""
        x, gamma, *beta = operands
        axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
        scaled = _standardize(x, axes, self.epsilon) * gamma
        return scaled + beta[0] if beta else scaled


def _check_last(op: Op, x: TensorType, *vectors: TensorType) -> None:
    """Raise ShapeError unless each of ``vectors`` has the shape of the last axes of ``x``."""
    gamma = vectors[0]
    wanted = x.shape[max(x.rank - gamma.rank, 0) :]
    if not 1 <= gamma.rank <= x.rank or any(v.shape != wanted for v in vectors):
        raise op.refuse(
            f"{', '.join(map(str, vectors))} must have the shape of the last axes of {x}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NnRmsNorm(NnOp):
    """Division by the root mean square over the last axes, then scale.

    ``y = x / sqrt(mean(x^2) + epsilon) * gamma``

    Operands: ``x`` floating-point [..., D...], ``gamma`` [D...], whose shape determines the axes.
    Result: the type of ``x``.

    Attributes:
        epsilon: Added to the mean square.

    Source: Zhang and Sennrich, "Root mean square layer normalization".
    """

    name: ClassVar[str] = "nn.rms_norm"
    operand_count: ClassVar[int | tuple[int, int | None]] = 2
    epsilon: float = 1e-6

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless gamma has the shape of the last axes."""
        self.check_float(*operands)
        _check_last(self, *operands)

    def expand(self, *operands: Expression) -> Expression:
        """Return the normalized tensor."""
        x, gamma = operands
        axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
        mean_square = (x * x).mean(*axes, keep_dims=True)
        return x * (mean_square + self.epsilon).rsqrt() * gamma


@dataclass(frozen=True, slots=True, kw_only=True)
class NnBatchNorm(NnOp):
    """Standardization of each channel by statistics gathered in training.

    ``y = (x - mean) / sqrt(variance + epsilon) * gamma + beta``, computed as ``x * a + b``.

    Operands: ``x`` floating-point [*], ``gamma``, ``beta``, ``mean``, ``variance`` [C]. Result:
    the type of ``x``.

    Attributes:
        axis: The axis of C; 1 for channels first, -1 for channels last.
        epsilon: Added to the variance.

    Source: Ioffe and Szegedy, "Batch normalization".
    """

    name: ClassVar[str] = "nn.batch_norm"
    operand_count: ClassVar[int | tuple[int, int | None]] = 5
    axis: int = -1
    epsilon: float = 1e-5

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless there is one value for each channel."""
        self.check_float(*operands)
        x, *vectors = operands
        _check_channels(self, x, normalize_axis(self, self.axis, x.rank), *vectors)

    def expand(self, *operands: Expression) -> Expression:
        """Return the normalized tensor."""
        x, gamma, beta, mean, variance = operands
        axis = self.axis % x.ndim
        factor = gamma * (variance + self.epsilon).rsqrt()
        offset = beta - mean * factor
        return x * _along(factor, x, axis) + _along(offset, x, axis)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnGroupNorm(NnOp):
    """Standardization over groups of channels and all spatial axes, then scale and shift.

    Operands: ``x`` floating-point [N, ...] with C channels, ``gamma`` [C], ``beta`` [C]. Result:
    the type of ``x``. Instance norm is ``groups == C``. All dimensions but N are integers.

    Attributes:
        groups: Number of groups, divides C.
        axis: The axis of C; 1 for channels first, -1 for channels last.
        epsilon: Added to the variance.

    Source: Wu and He, "Group normalization".
    """

    name: ClassVar[str] = "nn.group_norm"
    operand_count: ClassVar[int | tuple[int, int | None]] = 3
    groups: int
    axis: int = -1
    epsilon: float = 1e-5

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the groups divide the channels."""
        self.check_float(*operands)
        x, *vectors = operands
        axis = normalize_axis(self, self.axis, x.rank)
        channels = x.shape[axis]
        if axis == 0 or not isinstance(channels, int):
            raise self.refuse(f"axis {self.axis} of {x} cannot hold channels")
        if self.groups < 1 or channels % self.groups:
            raise self.refuse(f"groups must divide {channels} channels, got {self.groups}")
        _check_channels(self, x, axis, *vectors)

    def expand(self, *operands: Expression) -> Expression:
        """Return the normalized tensor."""
        x, gamma, beta = operands
        axis = self.axis % x.ndim
        front, back = x.shape[:axis], x.shape[axis + 1 :]
        grouped = x.reshape(*front, self.groups, -1, *back)
        axes = tuple(a for a in range(1, grouped.ndim) if a != axis)
        normal = _standardize(grouped, axes, self.epsilon).reshape(*x.shape)
        return normal * _along(gamma, x, axis) + _along(beta, x, axis)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnL2Norm(NnOp):
    """Division by the Euclidean length over axes: ``y = x / sqrt(max(sum(x^2), epsilon))``.

    Operand: ``x`` floating-point [*]. Result: the same type.

    Attributes:
        axes: Axes over which the length is taken; negative ones count from the end.
        epsilon: Minimum of the squared length that is divided by.
    """

    name: ClassVar[str] = "nn.l2_norm"
    axes: tuple[int, ...] = (-1,)
    epsilon: float = 1e-12

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the operand holds floats and has the axes."""
        self.check_float(*operands)
        normalize_axes(self, self.axes, operands[0].rank)

    def expand(self, *operands: Expression) -> Expression:
        """Return the tensor of length 1."""
        (x,) = operands
        square = (x * x).sum(*self.axes, keep_dims=True)
        return x * square.maximum(self.epsilon).rsqrt()
