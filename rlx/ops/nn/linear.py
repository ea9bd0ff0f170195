"""Layers that multiply by weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ir.dims import product
from rlx.ops.nn.base import NnOp

if TYPE_CHECKING:
    from rlx.ir import TensorType
    from rlx.ops.expression import Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class NnLinear(NnOp):
    """Fully connected layer: ``y[..., n] = sum over k of x[..., k] * w[n, k] + bias[n]``.

    Operands: ``x`` floating-point [..., K], ``w`` [N, K], ``bias`` [N] (may be left out).
    Result: [..., N].
    """

    name: ClassVar[str] = "nn.linear"
    operand_count: ClassVar[int | tuple[int, int | None]] = (2, 3)

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless weights and bias fit."""
        self.check_float(*operands)
        x, w, *bias = operands
        if x.rank < 1 or w.rank != 2 or x.shape[-1] != w.shape[1]:
            raise self.refuse(f"weights must be [N, {x.shape[-1] if x.rank else 'K'}], got {w}")
        if bias and bias[0].shape != w.shape[:1]:
            raise self.refuse(f"bias must be {w.with_shape(w.shape[:1])}, got {bias[0]}")

    def expand(self, *operands: Expression) -> Expression:
        """Return the layer's result."""
        x, w, *bias = operands
        row = x.expand_dims(0) if x.ndim == 1 else x
        y = (row @ w.mT).reshape(*x.shape[:-1], w.shape[0])
        return y + bias[0] if bias else y


@dataclass(frozen=True, slots=True, kw_only=True)
class NnDot(NnOp):
    """General product of two tensors: batch axes side by side, contracted axes summed over.

    Operands: ``x``, ``y`` of one element type. Result: batch axes, the other axes of ``x``, the
    other axes of ``y``.

    Attributes:
        x_contract: Axes of ``x`` that are summed over.
        y_contract: The partner of each in ``y``.
        x_batch: Axes of ``x`` that run along with those of ``y``.
        y_batch: The partner of each in ``y``.
    """

    name: ClassVar[str] = "nn.dot"
    operand_count: ClassVar[int | tuple[int, int | None]] = 2
    x_contract: tuple[int, ...]
    y_contract: tuple[int, ...]
    x_batch: tuple[int, ...] = ()
    y_batch: tuple[int, ...] = ()

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the axes pair up."""
        x, y = operands
        pairs = (
            ("contracted", self.x_contract, self.y_contract),
            ("batch", self.x_batch, self.y_batch),
        )
        for type_, axes in (
            (x, self.x_contract + self.x_batch), (y, self.y_contract + self.y_batch),
        ):  # fmt: skip
            if len(set(axes)) != len(axes) or any(not 0 <= a < type_.rank for a in axes):
                raise self.refuse(f"axes {axes} do not fit {type_}")
        for what, mine, theirs in pairs:
            if [x.shape[a] for a in mine] != [y.shape[a] for a in theirs]:
                raise self.refuse(f"{what} axes {mine} of {x} and {theirs} of {y} differ")

    def expand(self, *operands: Expression) -> Expression:
        """Return the product through one batched matrix product."""
        x, y = operands
        x_free = _others(x, self.x_contract + self.x_batch)
        y_free = _others(y, self.y_contract + self.y_batch)
        batch = tuple(x.shape[a] for a in self.x_batch)
        rows = tuple(x.shape[a] for a in x_free)
        columns = tuple(y.shape[a] for a in y_free)
        inner = product(x.shape[a] for a in self.x_contract)
        left = x.transpose(*self.x_batch, *x_free, *self.x_contract)
        right = y.transpose(*self.y_batch, *self.y_contract, *y_free)
        matrix = left.reshape(*batch, product(rows), inner)
        result = matrix @ right.reshape(*batch, inner, product(columns))
        return result.reshape(*batch, *rows, *columns)


def _others(x: Expression, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes of ``x`` that are not in ``axes``."""
    return tuple(a for a in range(x.ndim) if a not in axes)
