"""Reading and writing by index. Negative indices count from the end."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Op, TensorType, Traits
from rlx.ops.real.common import (
    check_index,
    check_number,
    check_same,
    check_unquantized,
    narrow,
    widen,
)
from rlx.ops.shapes import normalize_axis

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class RealGather(Op):
    """Slices of a tensor by their index along one axis.

    ``y[a..., i..., b...] = x[a..., indices[i...], b...]``

    Operands: ``x`` [A..., N, B...], ``indices`` integers [I...]. Result: [A..., I..., B...].

    Attributes:
        axis: The axis of N; negative counts from the end.
    """

    name: ClassVar[str] = "real.gather"
    traits: ClassVar[Traits] = Traits()
    operand_count: ClassVar[int | tuple[int, int | None]] = 2
    axis: int = 0

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's type with the indices' shape in place of the axis."""
        x, indices = operands
        check_index(self, indices)
        axis = normalize_axis(self, self.axis, x.rank)
        return (x.with_shape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the slices.

        Raises:
            IndexError: An index is outside the axis.
        """
        x, indices = operands
        return (np.asarray(np.take(x, indices.astype(np.int64), axis=self.axis)),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealTakeAlong(Op):
    """Elements by their index along one axis, each place with its own index.

    ``y[a..., i, b...] = x[a..., indices[a..., i, b...], b...]``

    Operands: ``x`` [A..., N, B...], ``indices`` integers [A..., K, B...]. Result: the indices'
    shape with the element type of ``x``.

    Attributes:
        axis: The axis of N and K; negative counts from the end.
    """

    name: ClassVar[str] = "real.take_along"
    traits: ClassVar[Traits] = Traits()
    operand_count: ClassVar[int | tuple[int, int | None]] = 2
    axis: int

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the type of ``x`` with the indices' shape."""
        x, indices = operands
        check_index(self, indices)
        axis = normalize_axis(self, self.axis, x.rank)
        if (*x.shape[:axis], *x.shape[axis + 1 :]) != (
            *indices.shape[:axis], *indices.shape[axis + 1 :],
        ):  # fmt: skip
            raise self.refuse(
                f"indices {indices} do not fit {x} in the dimensions other than axis {axis}"
            )
        return (x.with_shape(indices.shape),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the elements.

        Raises:
            IndexError: An index is outside the axis.
        """
        x, indices = operands
        return (np.take_along_axis(x, indices.astype(np.int64), axis=self.axis),)


class Scatter(enum.Enum):
    """Result for an element that an update meets. The value is its name in printed IR."""

    REPLACE = "replace"
    ADD = "add"
    MULTIPLY = "multiply"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"


MERGE: Mapping[Scatter, np.ufunc] = {
    Scatter.ADD: np.add,
    Scatter.MULTIPLY: np.multiply,
    Scatter.MINIMUM: np.minimum,
    Scatter.MAXIMUM: np.maximum,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RealScatter(Op):
    """Slices written into a tensor at their index along one axis.

    ``y = x``, then ``y[a..., indices[i...], b...] = updates[a..., i..., b...]`` for every ``i`` in
    row-major order: of repeated indices the last one stays. With another ``merge`` the update is
    added to the element, multiplied with it, or compared; with ADD the op is the adjoint of
    ``real.gather``.

    Operands: ``x`` [A..., N, B...], numbers unless updates replace them, ``indices`` integers
    [I...], ``updates`` [A..., I..., B...] of the element type of ``x``. Result: the type of ``x``.

    Attributes:
        axis: The axis of N; negative counts from the end.
        merge: Result for an element that an update meets.
    """

    name: ClassVar[str] = "real.scatter"
    traits: ClassVar[Traits] = Traits()
    operand_count: ClassVar[int | tuple[int, int | None]] = 3
    axis: int = 0
    merge: Scatter = Scatter.REPLACE

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the type of ``x``."""
        x, indices, updates = operands
        if self.merge is not Scatter.REPLACE:
            check_number(self, x)
        check_unquantized(self, x, updates)
        check_index(self, indices)
        check_same(self, x, updates)
        axis = normalize_axis(self, self.axis, x.rank)
        expected = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
        if updates.shape != expected:
            raise self.refuse(f"updates must be {x.with_shape(expected)}, got {updates}")
        return (x,)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the tensor with the updates.

        Raises:
            IndexError: An index is outside the axis.
        """
        x, indices, updates = operands
        axis = self.axis % x.ndim
        # Narrow floats add in float32 and are rounded once.
        total = widen(x).copy()
        front = np.moveaxis(total, axis, 0)
        rows = np.moveaxis(widen(updates), range(axis, axis + indices.ndim), range(indices.ndim))
        rows = rows.reshape(indices.size, *front.shape[1:])
        positions = np.arange(len(front))[indices.astype(np.int64).reshape(-1)]
        if self.merge is Scatter.REPLACE:
            # NumPy leaves open which of several updates stays: write the last one only.
            _, from_end = np.unique(positions[::-1], return_index=True)
            last = len(positions) - 1 - from_end
            front[positions[last]] = rows[last]
        else:
            with np.errstate(all="ignore"):
                MERGE[self.merge].at(front, positions, rows)
        return (narrow(total, x.dtype),)
