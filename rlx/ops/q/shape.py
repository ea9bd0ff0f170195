"""Ops that move values without computing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Op, TensorType, Traits
from rlx.ops.q.common import check_activation, check_pad_value
from rlx.ops.shapes import normalize_axis

if TYPE_CHECKING:
    from rlx.ir import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class QReshape(Op):
    """The same values in row-major order under another shape.

    Operand: ``x`` int8[*] or int16[*]. Result: the same type with ``shape``.

    Attributes:
        shape: Dimensions of the result; as many elements as the operand.
    """

    name: ClassVar[str] = "q.reshape"
    traits: ClassVar[Traits] = Traits(moves_only=True)
    shape: tuple[int, ...]

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's type with the new shape."""
        (x,) = operands
        check_activation(self, "input", x)
        if min(self.shape, default=1) < 1 or math.prod(self.shape) != x.size:
            raise self.refuse(f"{x} does not have the elements of shape {list(self.shape)}")
        return (x.with_shape(self.shape),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the reshaped values."""
        (x,) = operands
        return (x.reshape(self.shape),)


@dataclass(frozen=True, slots=True, kw_only=True)
class QConcat(Op):
    """Tensors of one scale joined along an axis.

    Operands: one or more tensors of int8, or of int16, equal in every other dimension. Result: the
    same element type.

    Attributes:
        axis: Axis along which they are joined; negative counts from the end.
    """

    name: ClassVar[str] = "q.concat"
    traits: ClassVar[Traits] = Traits(moves_only=True)
    operand_count: ClassVar[int | tuple[int, int | None]] = (1, None)
    axis: int

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the joined type with the first operand's quantization."""
        first = operands[0]
        axis = normalize_axis(self, self.axis, first.rank)
        total = 0
        for x in operands:
            check_activation(self, "every operand", x, rank=first.rank)
            if x.dtype is not first.dtype:
                raise self.refuse(f"operands must have one element type, got {first} and {x}")
            rest = (*x.shape[:axis], *x.shape[axis + 1 :])
            if rest != (*first.shape[:axis], *first.shape[axis + 1 :]):
                raise self.refuse(f"{x} does not join {first} along axis {axis}")
            if x.quant is not None and first.quant is not None and x.quant != first.quant:
                raise self.refuse(f"operands must share one quantization, got {first} and {x}")
            total += x.static_shape[axis]
        return (first.with_shape((*first.shape[:axis], total, *first.shape[axis + 1 :])),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the joined values."""
        return (np.concatenate(operands, axis=self.axis),)


@dataclass(frozen=True, slots=True, kw_only=True)
class QTranspose(Op):
    """Axes in another order.

    Operand: ``x`` int8[*] or int16[*]. Result: the same element type, with dimension ``axes[i]``
    of ``x`` at place ``i``.

    Attributes:
        axes: A permutation of the operand's axes.
    """

    name: ClassVar[str] = "q.transpose"
    traits: ClassVar[Traits] = Traits(moves_only=True)
    axes: tuple[int, ...]

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's type with permuted dimensions."""
        (x,) = operands
        check_activation(self, "input", x)
        if sorted(self.axes) != list(range(x.rank)):
            raise self.refuse(f"axes {self.axes} are not a permutation of {x.rank} axes")
        return (x.with_shape(tuple(x.shape[a] for a in self.axes)),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the permuted values."""
        (x,) = operands
        return (np.asarray(x.transpose(self.axes), order="C"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class QSlice(Op):
    """Elements ``start, start + step, ... < stop`` of each axis.

    Operand: ``x`` int8[*] or int16[*]. Result: the same element type and quantization.

    Attributes:
        start: First index of each axis, in [0, dimension).
        stop: End index of each axis (not included), in (start, dimension].
        step: Positive step of each axis.
    """

    name: ClassVar[str] = "q.slice"
    traits: ClassVar[Traits] = Traits(moves_only=True)
    start: tuple[int, ...]
    stop: tuple[int, ...]
    step: tuple[int, ...]

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the type of the part."""
        (x,) = operands
        check_activation(self, "input", x)
        if not len(self.start) == len(self.stop) == len(self.step) == x.rank:
            raise self.refuse(f"start, stop and step need {x.rank} entries each")
        bounds = zip(self.start, self.stop, self.step, x.static_shape, strict=True)
        for axis, (start, stop, step, size) in enumerate(bounds):
            if not (0 <= start < stop <= size and step >= 1):
                raise self.refuse(f"[{start}:{stop}:{step}] does not fit axis {axis} of {x}")
        steps = zip(self.start, self.stop, self.step, strict=True)
        return (x.with_shape(tuple(len(range(*s)) for s in steps)),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the values of the slice."""
        (x,) = operands
        steps = zip(self.start, self.stop, self.step, strict=True)
        return (np.asarray(x[tuple(slice(*s) for s in steps)], order="C"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class QPad(Op):
    """A constant value added around the tensor.

    Operand: ``x`` int8[*] or int16[*]. Result: the same element type and quantization.

    Attributes:
        before: Elements added before each axis.
        after: Elements added after each axis.
        value: The value added, normally the zero point.
    """

    name: ClassVar[str] = "q.pad"
    traits: ClassVar[Traits] = Traits(channelwise=True)
    before: tuple[int, ...]
    after: tuple[int, ...]
    value: int

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the grown type."""
        (x,) = operands
        check_activation(self, "input", x)
        check_pad_value(self, self.value, x.dtype)
        if not len(self.before) == len(self.after) == x.rank:
            raise self.refuse(f"before and after need {x.rank} entries each")
        if min((*self.before, *self.after), default=0) < 0:
            raise self.refuse(f"padding must not be negative, got {self.before} and {self.after}")
        sizes = zip(self.before, x.static_shape, self.after, strict=True)
        return (TensorType(tuple(b + n + a for b, n, a in sizes), x.dtype, x.quant),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the padded values."""
        (x,) = operands
        widths = list(zip(self.before, self.after, strict=True))
        # NumPy has no empty list of widths.
        return (np.pad(x, widths, constant_values=self.value) if widths else x.copy(),)
