"""Reductions and scans along axes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rlx.ir import Along, DType, Op, TensorType, Traits
from rlx.ops.real.common import check_float, check_number, check_unquantized, narrow, widen
from rlx.ops.shapes import normalize_axes, normalize_axis

if TYPE_CHECKING:
    from rlx.ir import Array
    from rlx.ops.real.common import Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class RealReduce(Op):
    """Base of reductions.

    Operand: ``x`` numeric [*]. Result: the same element type, reduced axes kept as 1 or dropped.
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
        """Raise ShapeError unless the element type fits; any numeric type does by default."""
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
        """Raise ShapeError unless ``x`` holds floating-point values."""
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
    """Base of maximum and minimum: booleans too."""

    def check(self, x: TensorType) -> None:
        """Raise ShapeError unless ``x`` holds numbers or booleans."""
        if x.dtype is not DType.BOOL:
            check_number(self, x)


def ends_of(x: Numbers) -> tuple[Any, Any]:
    """Return the smallest and the largest element that the type of ``x`` has."""
    if x.dtype.kind == "f":
        return -np.inf, np.inf
    if x.dtype.kind == "b":
        return False, True
    info = np.iinfo(x.dtype)
    return info.min, info.max


@dataclass(frozen=True, slots=True, kw_only=True)
class RealReduceMax(_RealExtreme):
    """Maximum over axes; NaN if one is NaN. Of booleans: whether any is true.

    Of no elements: the smallest value of the element type (minus infinity).

    Attributes:
        axes: Axes that are reduced; negative ones count from the end.
        keep_dims: Whether reduced axes stay as dimensions of 1.
    """

    name: ClassVar[str] = "real.reduce_max"

    def reduce(self, x: Numbers) -> Numbers:
        """Return the maxima."""
        smallest, _ = ends_of(x)
        result: Numbers = np.max(x, axis=self.axes, keepdims=self.keep_dims, initial=smallest)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class RealReduceMin(_RealExtreme):
    """Minimum over axes; NaN if one is NaN. Of booleans: whether all are true.

    Of no elements: the largest value of the element type (infinity).

    Attributes:
        axes: Axes that are reduced; negative ones count from the end.
        keep_dims: Whether reduced axes stay as dimensions of 1.
    """

    name: ClassVar[str] = "real.reduce_min"

    def reduce(self, x: Numbers) -> Numbers:
        """Return the minima."""
        _, largest = ends_of(x)
        result: Numbers = np.min(x, axis=self.axes, keepdims=self.keep_dims, initial=largest)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice(Op):
    """Base of the indices of extremes. Operand: ``x`` numeric [*]. Result: i32."""

    traits: ClassVar[Traits] = Traits(along=Along.AXIS)
    axis: int = -1
    last: bool = False

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return i32 of the shape without the axis."""
        (x,) = operands
        check_number(self, x)
        axis = normalize_axis(self, self.axis, x.rank)
        if x.shape[axis] == 0:
            raise self.refuse(f"axis {axis} of {x} is empty")
        return (TensorType((*x.shape[:axis], *x.shape[axis + 1 :]), DType.I32),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the indices."""
        x = widen(operands[0])
        if not self.last:
            return (np.asarray(self.choose(x), np.int32),)
        found = self.choose(np.flip(x, self.axis))
        return (np.asarray(x.shape[self.axis] - 1 - found, np.int32),)

    @abstractmethod
    def choose(self, x: Numbers) -> Numbers:
        """Return the index of the first extreme along the axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealArgmax(_Choice):
    """Index of the maximum along an axis.

    Attributes:
        axis: The axis; negative counts from the end.
        last: Whether the last one is chosen where several are equal, else the first one.
    """

    name: ClassVar[str] = "real.argmax"

    def choose(self, x: Numbers) -> Numbers:
        """Return the index of the first maximum."""
        return np.asarray(np.argmax(x, axis=self.axis))


@dataclass(frozen=True, slots=True, kw_only=True)
class RealArgmin(_Choice):
    """Index of the minimum along an axis.

    Attributes:
        axis: The axis; negative counts from the end.
        last: Whether the last one is chosen where several are equal, else the first one.
    """

    name: ClassVar[str] = "real.argmin"

    def choose(self, x: Numbers) -> Numbers:
        """Return the index of the first minimum."""
        return np.asarray(np.argmin(x, axis=self.axis))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scan(Op):
    """Base of running sums and products. Operand: ``x`` numeric [*]. Result: the same type."""

    traits: ClassVar[Traits] = Traits(along=Along.AXIS)
    neutral: ClassVar[int]
    axis: int
    exclusive: bool = False

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's type."""
        (x,) = operands
        check_number(self, x)
        normalize_axis(self, self.axis, x.rank)
        return (x,)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the running sums or products."""
        (x,) = operands
        moved = np.moveaxis(widen(x), self.axis, -1)
        if self.exclusive:
            first = np.full_like(moved[..., :1], self.neutral)
            moved = np.concatenate([first, moved[..., :-1]], axis=-1)
        with np.errstate(all="ignore"):
            return (narrow(np.moveaxis(self.scan(moved), -1, self.axis), x.dtype),)

    @staticmethod
    @abstractmethod
    def scan(x: Numbers) -> Numbers:
        """Return the running results along the last axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealCumsum(_Scan):
    """Running sum along an axis; integers wrap.

    ``y[i] = sum over j <= i of x[j]``, or over ``j < i`` when exclusive.

    Attributes:
        axis: The axis; negative counts from the end.
        exclusive: Whether the element itself is left out.
    """

    name: ClassVar[str] = "real.cumsum"
    neutral: ClassVar[int] = 0

    @staticmethod
    def scan(x: Numbers) -> Numbers:
        """Return the running sums."""
        return np.cumsum(x, axis=-1, dtype=x.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealCumprod(_Scan):
    """Running product along an axis; integers wrap.

    ``y[i] = product over j <= i of x[j]``, or over ``j < i`` when exclusive.

    Attributes:
        axis: The axis; negative counts from the end.
        exclusive: Whether the element itself is left out.
    """

    name: ClassVar[str] = "real.cumprod"
    neutral: ClassVar[int] = 1

    @staticmethod
    def scan(x: Numbers) -> Numbers:
        """Return the running products."""
        return np.cumprod(x, axis=-1, dtype=x.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealTopK(Op):
    """The largest elements along an axis, in descending order, and their indices.

    Of equal elements the one with the lower index comes first.

    Operand: ``x`` numeric [A..., N, B...]. Results: values [A..., count, B...], indices i32 of that
    shape.

    Attributes:
        count: Number of them, at most N.
        axis: The axis of N; negative counts from the end.
        smallest: Whether the smallest elements are chosen, in ascending order.
    """

    name: ClassVar[str] = "real.top_k"
    traits: ClassVar[Traits] = Traits(along=Along.AXIS)
    count: int
    axis: int = -1
    smallest: bool = False

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the types of values and indices."""
        (x,) = operands
        check_number(self, x)
        axis = normalize_axis(self, self.axis, x.rank)
        size = x.shape[axis]
        if not isinstance(size, int) or not 1 <= self.count <= size:
            raise self.refuse(
                f"expected a count in [1, dimension of axis {axis}], got {self.count} of {x}"
            )
        shape = (*x.shape[:axis], self.count, *x.shape[axis + 1 :])
        return (x.with_shape(shape), TensorType(shape, DType.I32))

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return values and indices."""
        (x,) = operands
        values = np.moveaxis(widen(x), self.axis, -1)
        if self.smallest:
            order = np.argsort(values, axis=-1, kind="stable")
        else:
            # A stable rising sort of the reversed axis, read backwards, puts lower indices first.
            rising = np.argsort(values[..., ::-1], axis=-1, kind="stable")
            order = (values.shape[-1] - 1 - rising)[..., ::-1]
        indices = np.moveaxis(order[..., : self.count], -1, self.axis)
        return np.take_along_axis(x, indices, axis=self.axis), indices.astype(np.int32)
