"""Reductions and scans along axes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Along, DType, Op, TensorType, Traits
from rlx.ops.real.common import check_float, check_number, check_unquantized, narrow, widen
from rlx.ops.shapes import normalize_axes, normalize_axis

if TYPE_CHECKING:
    from rlx.ir import Array
    from rlx.ops.real.common import Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class RealReduce(Op):
    """What reductions share.

    Operand: ``x`` numbers [*]. Result: the same element type, reduced axes kept as 1 or dropped.
    """

    traits: ClassVar[Traits] = Traits(along=Along.AXES)
    axes: tuple[int, ...]
    keep_dims: bool = False

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's element type with the reduced shape."""
        (x,) = operands
        self.check(x)
        axes = normalize_axes(self, self.axes, x.rank)
        if self.keep_dims:
            return (x.with_shape(tuple(1 if a in axes else n for a, n in enumerate(x.shape))),)
        return (x.with_shape(tuple(n for a, n in enumerate(x.shape) if a not in axes)),)

    def check(self, x: TensorType) -> None:
        """Raise ShapeError unless the element type fits; any number does by default."""
        check_number(self, x)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the reduced array."""
        (x,) = operands
        with np.errstate(all="ignore"):
            return (narrow(self.reduce(widen(x)), x.dtype),)

    @abstractmethod
    def reduce(self, x: Numbers) -> Numbers:
        """Return the reduction of a float32, float64 or integer array."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealReduceSum(RealReduce):
    """Sum over axes; integers wrap.

    Attributes:
        axes: Axes that are summed over; negative ones count from the end.
        keep_dims: Whether reduced axes stay as dimensions of 1.
    """

    name: ClassVar[str] = "real.reduce_sum"

    def reduce(self, x: Numbers) -> Numbers:
        """Return the sums."""
        return np.sum(x, axis=self.axes, keepdims=self.keep_dims, dtype=x.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealReduceMean(RealReduce):
    """Mean over axes, floating-point only.

    Attributes:
        axes: Axes that are averaged; negative ones count from the end.
        keep_dims: Whether reduced axes stay as dimensions of 1.
    """

    name: ClassVar[str] = "real.reduce_mean"

    def check(self, x: TensorType) -> None:
        """Raise ShapeError unless ``x`` holds floating-point numbers."""
        check_unquantized(self, x)
        check_float(self, x)

    def reduce(self, x: Numbers) -> Numbers:
        """Return the means."""
        return np.mean(x, axis=self.axes, keepdims=self.keep_dims, dtype=x.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealReduceProd(RealReduce):
    """Product over axes; integers wrap.

    Attributes:
        axes: Axes that are multiplied over; negative ones count from the end.
        keep_dims: Whether reduced axes stay as dimensions of 1.
    """

    name: ClassVar[str] = "real.reduce_prod"

    def reduce(self, x: Numbers) -> Numbers:
        """Return the products."""
        result: Numbers = np.prod(x, axis=self.axes, keepdims=self.keep_dims, dtype=x.dtype)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class _RealExtreme(RealReduce):
    """What maximum and minimum share: booleans too, and no empty axes."""

    def check(self, x: TensorType) -> None:
        """Raise ShapeError unless ``x`` holds numbers or booleans, and some along the axes."""
        if x.dtype is not DType.BOOL:
            check_number(self, x)
        for axis in normalize_axes(self, self.axes, x.rank):
            if x.shape[axis] == 0:
                raise self.refuse(f"axis {axis} of {x} is empty")


@dataclass(frozen=True, slots=True, kw_only=True)
class RealReduceMax(_RealExtreme):
    """Maximum over axes; NaN if one is NaN. Of booleans: whether any is true.

    Attributes:
        axes: Axes that are reduced; negative ones count from the end.
        keep_dims: Whether reduced axes stay as dimensions of 1.
    """

    name: ClassVar[str] = "real.reduce_max"

    def reduce(self, x: Numbers) -> Numbers:
        """Return the maxima."""
        result: Numbers = np.max(x, axis=self.axes, keepdims=self.keep_dims)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class RealReduceMin(_RealExtreme):
    """Minimum over axes; NaN if one is NaN. Of booleans: whether all are true.

    Attributes:
        axes: Axes that are reduced; negative ones count from the end.
        keep_dims: Whether reduced axes stay as dimensions of 1.
    """

    name: ClassVar[str] = "real.reduce_min"

    def reduce(self, x: Numbers) -> Numbers:
        """Return the minima."""
        result: Numbers = np.min(x, axis=self.axes, keepdims=self.keep_dims)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice(Op):
    """What the indices of extremes share. Operand: ``x`` numbers [*]. Result: i32."""

    traits: ClassVar[Traits] = Traits(along=Along.AXIS)
    axis: int = -1

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return i32 of the shape without the axis."""
        (x,) = operands
        check_number(self, x)
        axis = normalize_axis(self, self.axis, x.rank)
        if x.shape[axis] == 0:
            raise self.refuse(f"axis {axis} of {x} is empty")
        return (TensorType((*x.shape[:axis], *x.shape[axis + 1 :]), DType.I32),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealArgmax(_Choice):
    """Index of the maximum along an axis; the first one where several are equal.

    Attributes:
        axis: The axis; negative counts from the end.
    """

    name: ClassVar[str] = "real.argmax"

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the indices."""
        (x,) = operands
        return (np.asarray(np.argmax(widen(x), axis=self.axis), np.int32),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealArgmin(_Choice):
    """Index of the minimum along an axis; the first one where several are equal.

    Attributes:
        axis: The axis; negative counts from the end.
    """

    name: ClassVar[str] = "real.argmin"

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the indices."""
        (x,) = operands
        return (np.asarray(np.argmin(widen(x), axis=self.axis), np.int32),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealCumsum(Op):
    """Running sum along an axis; integers wrap.

    ``y[i] = sum over j <= i of x[j]``, or over ``j < i`` when exclusive.

    Operand: ``x`` numbers [*]. Result: the same type.

    Attributes:
        axis: The axis; negative counts from the end.
        exclusive: Whether an element's own number is left out.
    """

    name: ClassVar[str] = "real.cumsum"
    traits: ClassVar[Traits] = Traits(along=Along.AXIS)
    axis: int
    exclusive: bool = False

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's type."""
        (x,) = operands
        check_number(self, x)
        normalize_axis(self, self.axis, x.rank)
        return (x,)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the running sums."""
        (x,) = operands
        moved = np.moveaxis(widen(x), self.axis, -1)
        sums = np.cumsum(moved, axis=-1, dtype=moved.dtype)
        if self.exclusive:
            sums = np.concatenate([np.zeros_like(sums[..., :1]), sums[..., :-1]], axis=-1)
        return (narrow(np.moveaxis(sums, -1, self.axis), x.dtype),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealTopK(Op):
    """The largest numbers along the last axis, in descending order, and their indices.

    Of equal numbers the one with the lower index comes first.

    Operand: ``x`` numbers [..., N]. Results: values [..., count], indices i32[..., count].

    Attributes:
        count: How many, at most N.
    """

    name: ClassVar[str] = "real.top_k"
    traits: ClassVar[Traits] = Traits(along=Along.LAST)
    count: int

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the types of values and indices."""
        (x,) = operands
        check_number(self, x)
        size = x.shape[-1] if x.rank else 0
        if not isinstance(size, int) or not 1 <= self.count <= size:
            raise self.refuse(f"count must lie in [1, last dimension], not {self.count} of {x}")
        shape = (*x.shape[:-1], self.count)
        return (x.with_shape(shape), TensorType(shape, DType.I32))

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return values and indices."""
        (x,) = operands
        # A stable rising sort of the reversed axis, read backwards, puts lower indices first.
        rising = np.argsort(widen(x)[..., ::-1], axis=-1, kind="stable")
        order = (x.shape[-1] - 1 - rising)[..., ::-1][..., : self.count]
        return np.take_along_axis(x, order, axis=-1), order.astype(np.int32)
