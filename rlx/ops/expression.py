"""Values with operators, so that formulas over a graph read like formulas.

``Expression`` appends ``real.*`` ops to a graph. Model-level ops spell their decomposition with
it, and the traced tensors of ``rlx.tracing`` are expressions too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from rlx.ops import real
from rlx.ops.indexing import Index, indexing_ops, known_shape
from rlx.ops.real import Comparison
from rlx.ops.real.cast import integer_range
from rlx.ops.reductions import keeps_dimensions, reduced_axes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from rlx.ir import Array, Dim, DType, Graph, Op, Shape, TensorType, Value
    from rlx.ops.reductions import AxisLike

Operand: TypeAlias = "Expression | bool | int | float | npt.NDArray[Any]"
"""Operand of an operator. Arrays only where the graph is a user's (``rlx.tracing``)."""


def scalar(number: object, like: TensorType) -> Array:
    """Return ``number`` as an array of rank 0 with the element type of ``like``.

    Raises:
        TypeError: It is not a number, or does not fit the element type.
    """
    value = number.item() if isinstance(number, np.generic) else number
    if not isinstance(value, bool | int | float):
        raise TypeError(f"an operand must be a tensor or a number, got {value!r}")
    dtype = like.dtype
    if dtype.is_integer:
        low, high = integer_range(dtype)
        fits = isinstance(value, int) and low <= value <= high
    else:
        fits = dtype.is_float or isinstance(value, bool)
    if not fits:
        raise TypeError(f"{value!r} does not fit a tensor {like}; cast the tensor first")
    return np.array(value, dtype.numpy)


class Expression:
    """A value of a graph, with arithmetic.

    Python numbers on either side of an operator become constants of the other side's element
    type. Shapes broadcast as in NumPy.
    """

    __slots__ = ("graph", "value")
    # So that NumPy leaves `array + expression` to this class.
    __array_ufunc__ = None

    def __init__(self, graph: Graph, value: Value) -> None:
        self.graph = graph
        self.value = value

    @property
    def type(self) -> TensorType:
        """Shape, element type and quantization."""
        return self.value.type

    @property
    def shape(self) -> Shape:
        """Dimensions: integers or symbols."""
        return self.type.shape

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.type.rank

    def apply(self, op: Op, *operands: Expression) -> Self:
        """Return the only result of ``op`` on this value and others."""
        (result,) = self.apply_all(op, *operands)
        return result

    def apply_all(self, op: Op, *operands: Expression) -> tuple[Self, ...]:
        """Return every result of ``op`` on this value and others."""
        node = self.graph.append(op, self.value, *(o.value for o in operands))
        return tuple(self.wrap(v) for v in node.results)

    def wrap(self, value: Value) -> Self:
        """Return another value of the same graph as an expression."""
        return type(self)(self.graph, value)

    def lift(self, other: Operand) -> Self:
        """Return ``other`` as an expression; a number becomes a constant of this element type.

        Raises:
            TypeError: The number does not fit the element type.
        """
        if isinstance(other, Expression):
            return self.wrap(other.value)
        return self.wrap(self.graph.constant(scalar(other, self.type)))

    def __add__(self, other: Operand) -> Self:
        return self.apply(real.RealAdd(), self.lift(other))

    def __radd__(self, other: Operand) -> Self:
        return self.lift(other) + self

    def __sub__(self, other: Operand) -> Self:
        return self.apply(real.RealSub(), self.lift(other))

    def __rsub__(self, other: Operand) -> Self:
        return self.lift(other) - self

    def __mul__(self, other: Operand) -> Self:
        return self.apply(real.RealMul(), self.lift(other))

    def __rmul__(self, other: Operand) -> Self:
        return self.lift(other) * self

    def __truediv__(self, other: Operand) -> Self:
        return self.apply(real.RealDiv(), self.lift(other))

    def __rtruediv__(self, other: Operand) -> Self:
        return self.lift(other) / self

    def __mod__(self, other: Operand) -> Self:
        return self.apply(real.RealRemainder(), self.lift(other))

    def __rmod__(self, other: Operand) -> Self:
        return self.lift(other) % self

    def __pow__(self, other: Operand) -> Self:
        return self.apply(real.RealPow(), self.lift(other))

    def __rpow__(self, other: Operand) -> Self:
        return self.lift(other) ** self

    def __matmul__(self, other: Operand) -> Self:
        return self.apply(real.RealMatmul(), self.lift(other))

    def __rmatmul__(self, other: Operand) -> Self:
        return self.lift(other) @ self

    def __neg__(self) -> Self:
        return self.apply(real.RealNeg())

    def __abs__(self) -> Self:
        return self.apply(real.RealAbs())

    def __lt__(self, other: Operand) -> Self:  # type: ignore[misc]
        return self._compare(Comparison.LESS, other)

    def __le__(self, other: Operand) -> Self:  # type: ignore[misc]
        return self._compare(Comparison.LESS_EQUAL, other)

    def __gt__(self, other: Operand) -> Self:  # type: ignore[misc]
        return self._compare(Comparison.GREATER, other)

    def __ge__(self, other: Operand) -> Self:  # type: ignore[misc]
        return self._compare(Comparison.GREATER_EQUAL, other)

    def equal(self, other: Operand) -> Self:
        """Return booleans: True where both are equal."""
        return self._compare(Comparison.EQUAL, other)

    def not_equal(self, other: Operand) -> Self:
        """Return booleans: True where both differ."""
        return self._compare(Comparison.NOT_EQUAL, other)

    def _compare(self, relation: Comparison, other: Operand) -> Self:
        return self.apply(real.RealCompare(relation=relation), self.lift(other))

    def maximum(self, other: Operand) -> Self:
        """Return the greater of each pair."""
        return self.apply(real.RealMaximum(), self.lift(other))

    def minimum(self, other: Operand) -> Self:
        """Return the smaller of each pair."""
        return self.apply(real.RealMinimum(), self.lift(other))

    def where(self, condition: Expression, other: Operand) -> Self:
        """Return this value where ``condition`` holds, ``other`` elsewhere."""
        return self.wrap(condition.value).apply(real.RealWhere(), self, self.lift(other))

    def cast(self, dtype: DType) -> Self:
        """Return the same values in another element type."""
        return self if dtype is self.dtype else self.apply(real.RealCast(dtype=dtype))

    def reshape(self, *shape: int | Dim) -> Self:
        """Return the same elements in another shape; one dimension may be -1, which is inferred.

        Raises:
            ShapeError: The shape does not hold the elements.
        """
        wanted = known_shape(self.shape, shape)
        return self if wanted == self.shape else self.apply(real.RealReshape(shape=wanted))

    def transpose(self, *axes: int) -> Self:
        """Return the axes in another order; without arguments in reverse order."""
        order = tuple(a % self.ndim if self.ndim else a for a in axes)
        return self.apply(real.RealTranspose(axes=order or tuple(range(self.ndim))[::-1]))

    @property
    def mT(self) -> Self:  # noqa: N802 - as the array API calls it
        """The last two axes swapped.

        Raises:
            ValueError: There are fewer than two.
        """
        if self.ndim < 2:
            raise ValueError(f"two axes are swapped, but {self.type} has {self.ndim}")
        *lead, rows, columns = range(self.ndim)
        return self.transpose(*lead, columns, rows)

    def expand_dims(self, axis: int) -> Self:
        """Return the value with a dimension of 1 inserted before ``axis``."""
        place = axis % (self.ndim + 1)
        return self.reshape(*self.shape[:place], 1, *self.shape[place:])

    def broadcast_to(self, *shape: int | Dim) -> Self:
        """Return the value repeated to ``shape``."""
        return self if shape == self.shape else self.apply(real.RealBroadcastTo(shape=shape))

    def sum(
        self,
        *axes: AxisLike,
        axis: AxisLike = None,
        keep_dims: bool | None = None,
        keepdims: bool | None = None,
    ) -> Self:
        """Return the sum over ``axes``, or NumPy's ``axis``; over all without either."""
        return self._reduced(real.RealReduceSum, axes, axis, keep_dims, keepdims)

    def mean(
        self,
        *axes: AxisLike,
        axis: AxisLike = None,
        keep_dims: bool | None = None,
        keepdims: bool | None = None,
    ) -> Self:
        """Return the mean over ``axes``, or NumPy's ``axis``; over all without either."""
        return self._reduced(real.RealReduceMean, axes, axis, keep_dims, keepdims)

    def max(
        self,
        *axes: AxisLike,
        axis: AxisLike = None,
        keep_dims: bool | None = None,
        keepdims: bool | None = None,
    ) -> Self:
        """Return the maximum over ``axes``, or NumPy's ``axis``; over all without either."""
        return self._reduced(real.RealReduceMax, axes, axis, keep_dims, keepdims)

    def min(
        self,
        *axes: AxisLike,
        axis: AxisLike = None,
        keep_dims: bool | None = None,
        keepdims: bool | None = None,
    ) -> Self:
        """Return the minimum over ``axes``, or NumPy's ``axis``; over all without either."""
        return self._reduced(real.RealReduceMin, axes, axis, keep_dims, keepdims)

    def prod(
        self,
        *axes: AxisLike,
        axis: AxisLike = None,
        keep_dims: bool | None = None,
        keepdims: bool | None = None,
    ) -> Self:
        """Return the product over ``axes``, or NumPy's ``axis``; over all without either."""
        return self._reduced(real.RealReduceProd, axes, axis, keep_dims, keepdims)

    def _reduced(
        self,
        reduction: Callable[..., Op],
        axes: Sequence[AxisLike],
        axis: AxisLike,
        keep_dims: bool | None,
        keepdims: bool | None,
    ) -> Self:
        """Return the value reduced by an op that has the attributes ``axes`` and ``keep_dims``."""
        places = reduced_axes(axes, axis, self.ndim)
        return self.apply(reduction(axes=places, keep_dims=keeps_dimensions(keep_dims, keepdims)))

    def gather(self, indices: Expression, axis: int = 0) -> Self:
        """Return slices by their index along ``axis``."""
        return self.apply(real.RealGather(axis=axis), indices)

    def concat(self, *parts: Expression, axis: int) -> Self:
        """Return this value and ``parts`` joined along ``axis``."""
        return self.apply(real.RealConcat(axis=axis), *parts)

    def exp(self) -> Self:
        """Return the exponential."""
        return self.apply(real.RealExp())

    def expm1(self) -> Self:
        """Return the exponential less 1."""
        return self.apply(real.RealExpm1())

    def log(self) -> Self:
        """Return the natural logarithm."""
        return self.apply(real.RealLog())

    def log1p(self) -> Self:
        """Return the natural logarithm of 1 plus the value."""
        return self.apply(real.RealLog1p())

    def sqrt(self) -> Self:
        """Return the square root."""
        return self.apply(real.RealSqrt())

    def rsqrt(self) -> Self:
        """Return the reciprocal of the square root."""
        return self.apply(real.RealRsqrt())

    def erf(self) -> Self:
        """Return the error function."""
        return self.apply(real.RealErf())

    def tanh(self) -> Self:
        """Return the hyperbolic tangent."""
        return self.apply(real.RealTanh())

    def sigmoid(self) -> Self:
        """Return the logistic function."""
        return self.apply(real.RealSigmoid())

    def __getitem__(self, index: Index) -> Self:
        result = self
        for op in indexing_ops(self.type, index):
            result = result.apply(op)
        return result
