"""Traced tensors: values of a graph under construction, with operators and methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rlx.ir import DType
from rlx.ops import real
from rlx.ops.expression import Expression
from rlx.ops.real import Comparison
from rlx.ops.real.cast import integer_range
from rlx.tracing.arrays import array_like, as_dtype
from rlx.tracing.layers import Layers

if TYPE_CHECKING:
    from rlx.ir import Dim, Op, Value
    from rlx.ops.expression import Operand
    from rlx.ops.indexing import Index
    from rlx.tracing.arrays import DTypeLike
    from rlx.tracing.graph import Graph


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

    def where(self, condition: Expression, other: Operand) -> Self:
        """Return this tensor where ``condition`` holds, ``other`` elsewhere."""
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

    # Otherwise Python would count upwards through __getitem__.
    __iter__ = None

    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        return self.equal(other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return self.not_equal(other)  # type: ignore[arg-type]

    def __hash__(self) -> int:
        return hash(self.value)

    def __getitem__(self, index: Index | Expression) -> Self:
        if isinstance(index, Expression):
            return self.gather(index)
        return Layers.__getitem__(self, index)

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

    def squeeze(self, axis: int) -> Self:
        """Return the tensor without ``axis``, whose dimension must be 1.

        Raises:
            ValueError: It is not.
        """
        place = axis % self.ndim if -self.ndim <= axis < self.ndim else None
        if place is None or self.shape[place] != 1:
            raise ValueError(f"axis {axis} of {self.type} is not of dimension 1")
        return self.reshape(*self.shape[:place], *self.shape[place + 1 :])

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
