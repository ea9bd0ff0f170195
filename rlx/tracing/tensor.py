"""Traced tensors: values of a graph under construction, with operators and methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Never, Self, cast

from rlx.ir import DType
from rlx.ops import real
from rlx.ops.expression import Expression
from rlx.ops.real import Comparison
from rlx.ops.real.cast import integer_range
from rlx.support.errors import ShapeError
from rlx.tracing.arrays import array_like, as_dtype
from rlx.tracing.index_arrays import indices_along, split_index
from rlx.tracing.layers import Layers
from rlx.tracing.numpy_calls import call_function, call_ufunc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt

    from rlx.ir import Dim, Op, Value
    from rlx.ops.expression import Operand
    from rlx.ops.indexing import Index
    from rlx.tracing.arrays import DTypeLike
    from rlx.tracing.graph import Graph
    from rlx.tracing.index_arrays import Indices


class Tensor(Layers):
    """A value that is recorded, not computed.

    Operators and methods append ops to the graph it belongs to. Operands may be tensors of the
    same graph, Python numbers and NumPy arrays; the latter two become constants of the tensor's
    element type. Shapes broadcast as in NumPy.

    Attributes:
        builder: The graph under construction.
        value: The value in that graph.
    """

    __slots__ = ("builder",)

    def __init__(self, builder: Graph, value: Value) -> None:
        Expression.__init__(self, builder.graph, value)
        self.builder = builder

    def wrap(self, value: Value) -> Self:
        """Return another value of the same graph as a tensor."""
        return type(self)(self.builder, value)

    def apply_all(self, op: Op, *operands: Expression) -> tuple[Self, ...]:
        """Return every result of ``op`` on this tensor and others."""
        builder = self.builder.innermost
        node = builder.append(op, self, *operands)
        return tuple(type(self)(builder, v) for v in node.results)

    def lift(self, other: Operand) -> Self:
        """Return ``other`` as a tensor; numbers and arrays become constants of this element type.

        Raises:
            TypeError: It cannot be one, or does not fit the element type.
        """
        builder = self.builder.innermost
        if isinstance(other, Expression):
            return type(self)(builder, builder.taken(other).value)
        return type(self)(builder, builder.constant(array_like(other, self.type)).value)

    def where(self, condition: Expression | npt.NDArray[np.bool_], other: Operand) -> Self:
        """Return this tensor where ``condition`` holds, ``other`` elsewhere."""
        if not isinstance(condition, Expression):
            condition = self.builder.innermost.constant(condition)
        return self.lift(condition).apply(real.RealWhere(), self, self.lift(other))

    def __repr__(self) -> str:
        return f"<{self.value.node.label}: {self.type}>"

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self!r} has no value while the graph is built;"
            " use where() or rlx.if_() instead of if"
        )

    def __len__(self) -> int:
        size = self.shape[0] if self.ndim else None
        if not isinstance(size, int):
            raise TypeError(f"{self!r} has no length")
        return size

    def __iter__(self) -> Never:
        raise TypeError(
            f"cannot iterate over {self!r}, which has no value while the graph is built;"
            " write x[0], x[1] or x.split(), or rlx.scan() for steps"
        )

    def _number(self) -> Never:
        raise TypeError(
            f"{self!r} has no value while the graph is built; rlx.run(graph, data) computes it"
        )

    __float__ = __int__ = __index__ = __complex__ = _number

    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        return self.equal(other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return self.not_equal(other)  # type: ignore[arg-type]

    def __hash__(self) -> int:
        return hash(self.value)

    def __array_ufunc__(  # type: ignore[override]
        self,
        ufunc: np.ufunc,
        method: str,
        *inputs: Any,  # noqa: ANN401
        **kwargs: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401 - as NumPy declares it
        """Append the ops of a ufunc of NumPy, such as ``np.exp(x)`` or ``array + x``."""
        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Any,  # noqa: ANN401
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:  # noqa: ANN401 - as NumPy declares it
        """Append the ops of another function of NumPy, such as ``np.where(c, x, y)``."""
        del types
        return call_function(function, args, kwargs)

    def __array__(self, *_: Any, **__: Any) -> Never:  # noqa: ANN401 - as NumPy calls it
        self._number()

    def __getitem__(self, index: Index | Expression | Indices) -> Self:
        if isinstance(index, Expression):
            return self.gather(index)
        split = split_index(index)
        if split is None:
            return Layers.__getitem__(self, cast("Index", index))
        rest, axis, indices = split
        whole = Layers.__getitem__(self, rest)
        axis += whole.ndim if axis < 0 else 0
        numbers = indices_along(indices, whole.type, axis)
        return whole.gather(self.wrap(self.builder.innermost.constant(numbers).value), axis)

    def __matmul__(self, other: Operand) -> Self:
        """Return the matrix product; a vector is a row on the left, a column on the right."""
        right = self.lift(other)
        if not (self.ndim and right.ndim):
            raise ShapeError(
                f"a product needs axes: {self.type} @ {right.type}", hint="multiply by x * y"
            )
        left = self.expand_dims(0) if self.ndim == 1 else self
        column = right.expand_dims(1) if right.ndim == 1 else right
        product = Layers.__matmul__(left, column)
        if right.ndim == 1:
            product = product.squeeze(-1)
        return product.squeeze(-1 if right.ndim == 1 else -2) if self.ndim == 1 else product

    def __floordiv__(self, other: Operand) -> Self:
        """Return the quotient of integers, rounded down."""
        right = self.lift(other)
        if not self.dtype.is_integer:
            raise TypeError(f"// needs integers, got {self.type}; write (x / y).floor()")
        quotient = self / right
        if not integer_range(self.dtype)[0]:
            return quotient
        below = (self % right).not_equal(0) & ((self < 0) ^ (right < 0))
        return quotient - below.cast(self.dtype)

    def __rfloordiv__(self, other: Operand) -> Self:
        return self.lift(other) // self

    def __and__(self, other: Operand) -> Self:
        return self._bitwise(real.RealMinimum(), real.RealBitAnd(), other)

    def __or__(self, other: Operand) -> Self:
        return self._bitwise(real.RealMaximum(), real.RealBitOr(), other)

    def __xor__(self, other: Operand) -> Self:
        differ = real.RealCompare(relation=Comparison.NOT_EQUAL)
        return self._bitwise(differ, real.RealBitXor(), other)

    def __invert__(self) -> Self:
        if self.dtype.is_integer:
            low, high = integer_range(self.dtype)
            return self ^ (-1 if low else high)
        return self ^ True

    def __lshift__(self, other: Operand) -> Self:
        return self.apply(real.RealShiftLeft(), self.lift(other))

    def __rshift__(self, other: Operand) -> Self:
        return self.apply(real.RealShiftRight(), self.lift(other))

    def __rlshift__(self, other: Operand) -> Self:
        return self.lift(other) << self

    def __rrshift__(self, other: Operand) -> Self:
        return self.lift(other) >> self

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def _bitwise(self, of_booleans: Op, of_integers: Op, other: Operand) -> Self:
        """Return a function of two tensors of booleans, or of the bits of integers."""
        if self.dtype is DType.BOOL:
            return self.apply(of_booleans, self.lift(other))
        if self.dtype.is_integer:
            return self.apply(of_integers, self.lift(other))
        raise TypeError(f"&, |, ^ and ~ need tensors of booleans or integers, got {self.type}")

    def __pow__(self, other: Operand) -> Self:
        """Return the power; squares are products, so that integers have them too."""
        if isinstance(other, int | float) and other == 2:
            return self * self
        return Layers.__pow__(self, other)

    def matmul(self, other: Operand) -> Self:
        """Return the matrix product over the last two axes, as ``@`` does."""
        return self @ other

    mm = matmul

    def cast(self, dtype: DTypeLike) -> Self:
        """Return the same values in another element type."""
        return Layers.cast(self, as_dtype(dtype))

    def transpose(self, *axes: int) -> Self:
        """Return the axes in another order; without arguments in reverse order."""
        return Layers.transpose(self, *axes)

    permute = transpose

    @property
    def T(self) -> Self:  # noqa: N802 - as NumPy calls it
        """The axes in reverse order."""
        return self.transpose()

    def t(self) -> Self:
        """Return the last two axes swapped."""
        return self.mT

    def unsqueeze(self, axis: int) -> Self:
        """Return the tensor with a dimension of 1 inserted before ``axis``."""
        return self.expand_dims(axis)

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Self:
        """Return the tensor without an axis or axes of dimension 1; None for all such axes.

        Raises:
            ValueError: One has another dimension.
        """
        if axis is None:
            return self.reshape(*(size for size in self.shape if size != 1))
        axes = (axis,) if isinstance(axis, int) else axis
        for i in axes:
            if not -self.ndim <= i < self.ndim or self.shape[i] != 1:
                raise ValueError(f"axis {i} of {self.type} is not of dimension 1")
        removed = {i % self.ndim for i in axes}
        return self.reshape(*(size for i, size in enumerate(self.shape) if i not in removed))

    def narrow(self, axis: int, start: int | Dim, length: int | Dim) -> Self:
        """Return ``length`` slices along ``axis``, from ``start`` on."""
        whole = (slice(None),) * (axis % self.ndim)
        return self[(*whole, slice(start, start + length))]

    def pad(self, before: tuple[int, ...], after: tuple[int, ...], value: float = 0.0) -> Self:
        """Return the tensor with a constant added around it."""
        return self.apply(real.RealPad(before=before, after=after, value=value))

    def expand(self, *shape: int | Dim) -> Self:
        """Return the tensor repeated to ``shape``."""
        return self.broadcast_to(*shape)

    def sin(self) -> Self:
        """Return the sine."""
        return self.apply(real.RealSin())

    def cos(self) -> Self:
        """Return the cosine."""
        return self.apply(real.RealCos())

    def tan(self) -> Self:
        """Return the tangent."""
        return self.apply(real.RealTan())

    def atan(self) -> Self:
        """Return the arc tangent."""
        return self.apply(real.RealAtan())

    def floor(self) -> Self:
        """Return the largest integers not above."""
        return self.apply(real.RealFloor())

    def ceil(self) -> Self:
        """Return the smallest integers not below."""
        return self.apply(real.RealCeil())

    def round(self) -> Self:
        """Return the nearest integers, ties to even."""
        return self.apply(real.RealRound())

    def sign(self) -> Self:
        """Return -1, 0 or 1."""
        return self.apply(real.RealSign())


def _name_methods(owner: type, *bases: type) -> None:
    """Let Python's messages about a call name the class that users know."""
    for base in bases:
        for name, function in vars(base).items():
            if callable(function) and not name.startswith("_"):
                function.__qualname__ = f"{owner.__name__}.{name}"


_name_methods(Tensor, Expression, Layers)
