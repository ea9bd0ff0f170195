"""Ops that move elements without computing. They support all element types, also quantized ones.

Dimensions may be symbols; an attribute that names a symbol gets its size when the graph is bound
(``rlx.passes.transforms.bind``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Along, Dim, DType, Op, Shape, TensorType, Traits
from rlx.ir.dims import is_negative, minimum
from rlx.ops.real.common import check_unquantized
from rlx.ops.shapes import has_elements_of, normalize_axes, normalize_axis, steps_between

if TYPE_CHECKING:
    from rlx.ir import Array


def check_one_scale(op: Op, x: TensorType) -> None:
    """Raise ShapeError if ``x`` holds quantized values with a scale for each index of an axis."""
    if x.quant is not None and x.quant.axis is not None:
        raise op.refuse(
            f"{x} holds quantized values with a scale for each index of axis {x.quant.axis}",
            hint="dequantize it first (real.dequantize)",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RealReshape(Op):
    """The same elements in row-major order under another shape.

    Operand: ``x`` [*]. Result: [shape].

    Attributes:
        shape: Dimensions of the result; as many elements as the operand, for all values of its
            symbols.
    """

    name: ClassVar[str] = "real.reshape"
    traits: ClassVar[Traits] = Traits(moves_only=True)
    shape: Shape

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's type with the new shape."""
        (x,) = operands
        check_one_scale(self, x)
        if any(map(is_negative, self.shape)):
            raise self.refuse(f"dimensions must not be negative, got {_text(self.shape)}")
        if not has_elements_of(x.shape, self.shape):
            raise self.refuse(f"{x} does not have the elements of shape {_text(self.shape)}")
        return (x.with_shape(self.shape),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the reshaped array; at most one symbol may be open and is inferred."""
        (x,) = operands
        return (x.reshape([n if isinstance(n, int) else -1 for n in self.shape]),)


def _text(shape: Shape) -> str:
    return f"[{', '.join(map(str, shape))}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class RealTranspose(Op):
    """Axes in another order.

    Operand: ``x`` [*]. Result: dimension ``axes[i]`` of ``x`` at place ``i``.

    Attributes:
        axes: A permutation of the operand's axes.
    """

    name: ClassVar[str] = "real.transpose"
    traits: ClassVar[Traits] = Traits(moves_only=True)
    axes: tuple[int, ...]

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's type with permuted dimensions."""
        (x,) = operands
        if sorted(self.axes) != list(range(x.rank)):
            raise self.refuse(f"axes {self.axes} are not a permutation of {x.rank} axes")
        quant = x.quant
        if quant is not None and quant.axis is not None:
            quant = replace(quant, axis=self.axes.index(quant.axis % x.rank))
        return (x.with_shape(tuple(x.shape[a] for a in self.axes)).with_quant(quant),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return a view with permuted axes."""
        (x,) = operands
        return (x.transpose(self.axes),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealBroadcastTo(Op):
    """A tensor repeated along new axes in front and along axes of 1, as NumPy broadcasts.

    Operand: ``x`` [*]. Result: [shape].

    Attributes:
        shape: Dimensions of the result.
    """

    name: ClassVar[str] = "real.broadcast_to"
    traits: ClassVar[Traits] = Traits(moves_only=True)
    shape: Shape

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's type with the new shape."""
        (x,) = operands
        check_one_scale(self, x)
        aligned = self.shape[len(self.shape) - x.rank :] if x.rank <= len(self.shape) else ()
        fits = len(aligned) == x.rank and all(
            n in (1, wanted) for n, wanted in zip(x.shape, aligned, strict=True)
        )
        if not fits:
            raise self.refuse(f"{x} does not broadcast to {_text(self.shape)}")
        return (x.with_shape(self.shape),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return a read-only view of the new shape.

        Raises:
            ValueError: A symbol is not bound yet.
        """
        (x,) = operands
        return (np.broadcast_to(x, TensorType(self.shape, DType.of(x)).static_shape),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealSlice(Op):
    """Elements ``start, start + step, ... < stop`` of each axis.

    Operand: ``x`` [*]. Result: the same element type.

    Attributes:
        start: First index of each axis, in [0, dimension].
        stop: End index of each axis (not included), in [start, dimension]; None for its end.
        step: Positive step of each axis.

    Where symbols are involved, bounds that may hold are assumed to hold; binding the symbols checks
    them.
    """

    name: ClassVar[str] = "real.slice"
    traits: ClassVar[Traits] = Traits(moves_only=True)
    start: tuple[int | Dim, ...]
    stop: tuple[int | Dim | None, ...]
    step: tuple[int, ...]

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the type of the part."""
        (x,) = operands
        check_one_scale(self, x)
        if not len(self.start) == len(self.stop) == len(self.step) == x.rank:
            raise self.refuse(f"start, stop and step need {x.rank} entries each")
        return (x.with_shape(tuple(self._size(x, axis) for axis in range(x.rank))),)

    def _size(self, x: TensorType, axis: int) -> int | Dim:
        """Return the dimension of one axis of the part."""
        start, stop, step, size = self.start[axis], self.stop[axis], self.step[axis], x.shape[axis]
        end = size if stop is None else stop
        if step < 1 or any(map(is_negative, (start, end - start, size - end))):
            raise self.refuse(f"[{start}:{stop}:{step}] does not fit axis {axis} of {x}")
        return steps_between(self, start, end, step)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return a view of the part.

        Raises:
            ValueError: A symbol is not bound yet.
        """
        (x,) = operands
        if any(isinstance(n, Dim) for n in (*self.start, *self.stop)):
            raise ValueError(f"{self.name} still has symbolic bounds; bind them first")
        steps = zip(self.start, self.stop, self.step, strict=True)
        return (x[tuple(slice(*s) for s in steps)],)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealConcat(Op):
    """Tensors joined along an axis.

    Operands: one or more tensors of one element type, equal in every other dimension. Result:
    the sum of their dimensions along the axis.
    Result: that element type.

    Attributes:
        axis: Axis along which they are joined; negative counts from the end.
    """

    name: ClassVar[str] = "real.concat"
    traits: ClassVar[Traits] = Traits(moves_only=True)
    operand_count: ClassVar[int | tuple[int, int | None]] = (1, None)
    axis: int

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the joined type."""
        first = operands[0]
        axis = normalize_axis(self, self.axis, first.rank)
        total: int | Dim = 0
        for x in operands:
            check_one_scale(self, x)
            if (x.dtype, x.quant, x.rank, *x.shape[:axis], *x.shape[axis + 1 :]) != (
                first.dtype, first.quant, first.rank, *first.shape[:axis], *first.shape[axis + 1 :],
            ):  # fmt: skip
                raise self.refuse(f"{x} does not join {first} along axis {axis}")
            total += x.shape[axis]
        return (first.with_shape((*first.shape[:axis], total, *first.shape[axis + 1 :])),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the joined array."""
        return (np.concatenate(operands, axis=self.axis),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealPad(Op):
    """A constant added around a tensor and between its elements.

    Operand: ``x`` [*]. Result: along each axis ``before`` constants, the elements with
    ``interior`` constants between neighbours, ``after`` constants.

    Attributes:
        before: Constants before each axis.
        after: Constants after each axis.
        interior: Constants between neighbours of each axis; empty for none.
        value: The constant, an integer for integers.
    """

    name: ClassVar[str] = "real.pad"
    traits: ClassVar[Traits] = Traits()
    before: tuple[int, ...]
    after: tuple[int, ...]
    interior: tuple[int, ...] = ()
    value: float = 0.0

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the grown type."""
        (x,) = operands
        check_unquantized(self, x)
        interior = self.interior or (0,) * x.rank
        if not len(self.before) == len(self.after) == len(interior) == x.rank:
            raise self.refuse(f"before, after and interior need {x.rank} entries each")
        if min((*self.before, *self.after, *interior), default=0) < 0:
            raise self.refuse(
                f"padding must not be negative, got {self.before}, {self.after} and {interior}"
            )
        if not x.dtype.is_float and self.value != math.trunc(self.value):
            raise self.refuse(f"value must be whole for {x}, got {self.value}")
        grown = zip(self.before, x.shape, interior, self.after, strict=True)
        return (x.with_shape(tuple(self._grow(x, *axis) for axis in grown)),)

    def _grow(
        self, x: TensorType, before: int, size: int | Dim, interior: int, after: int
    ) -> int | Dim:
        """Return the dimension of one axis of the result."""
        gaps = max(size - 1, 0) if isinstance(size, int) else size - 1
        fewest = minimum(gaps)
        if interior and (fewest is None or fewest < 0):
            raise self.refuse(
                f"dimension {size} of {x} may be 0, expected at least 1 element to dilate"
            )
        return before + size + interior * gaps + after

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the padded array."""
        (x,) = operands
        interior = self.interior or (0,) * x.ndim
        grown = [
            b + n + i * max(n - 1, 0) + a
            for b, n, i, a in zip(self.before, x.shape, interior, self.after, strict=True)
        ]
        result = np.full(grown, self.value, dtype=x.dtype)
        slices = (
            slice(b, b + n + i * max(n - 1, 0), i + 1)
            for b, n, i in zip(self.before, x.shape, interior, strict=True)
        )
        result[tuple(slices)] = x
        return (result,)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealReverse(Op):
    """Elements in opposite order along axes.

    Operand: ``x`` [*]. Result: the same type.

    Attributes:
        axes: The axes that are turned around; negative ones count from the end.
    """

    name: ClassVar[str] = "real.reverse"
    traits: ClassVar[Traits] = Traits(moves_only=True, along=Along.AXES)
    axes: tuple[int, ...]

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's type."""
        (x,) = operands
        check_one_scale(self, x)
        normalize_axes(self, self.axes, x.rank)
        return (x,)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return a view in opposite order."""
        (x,) = operands
        return (np.flip(x, self.axes),)
