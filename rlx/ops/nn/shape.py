"""Layers that only move elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import Dim
from rlx.ir.dims import is_negative, product
from rlx.ops.nn.base import NnOp
from rlx.ops.nn.layout import Layout
from rlx.ops.shapes import normalize_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import TensorType
    from rlx.ops.expression import Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class NnFlatten(NnOp):
    """The axes from ``axis`` on joined into one.

    Operand: ``x`` [A..., B...]. Result: [A..., product of B].

    Attributes:
        axis: First axis that is joined.
    """

    name: ClassVar[str] = "nn.flatten"
    axis: int = 1

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the axis exists."""
        (x,) = operands
        if not -x.rank <= self.axis <= x.rank:
            raise self.refuse(f"axis {self.axis} is outside a tensor of {x.rank} dimensions")

    def expand(self, *operands: Expression) -> Expression:
        """Return the flat tensor."""
        (x,) = operands
        return x.reshape(*x.shape[: self.axis], product(x.shape[self.axis :]))


@dataclass(frozen=True, slots=True, kw_only=True)
class NnSplit(NnOp):
    """Parts of a tensor along an axis: one result for each size.

    Operand: ``x`` [*]. Results: consecutive parts.

    Attributes:
        sizes: Dimension of each part along the axis; they add up to the operand's.
        axis: The axis; negative counts from the end.
    """

    name: ClassVar[str] = "nn.split"
    sizes: tuple[int | Dim, ...]
    axis: int = 0

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the sizes add up."""
        (x,) = operands
        axis = normalize_axis(self, self.axis, x.rank)
        if not self.sizes or any(map(is_negative, self.sizes)) or sum(self.sizes) != x.shape[axis]:
            sizes = ", ".join(map(str, self.sizes))
            raise self.refuse(f"sizes [{sizes}] do not add up to axis {axis} of {x}")

    def expand(self, *operands: Expression) -> Sequence[Expression]:
        """Return the parts."""
        (x,) = operands
        whole = (slice(None),) * (self.axis % x.ndim)
        ends = [sum(self.sizes[: i + 1]) for i in range(len(self.sizes))]
        return [
            x[(*whole, slice(end - size, end))] for size, end in zip(self.sizes, ends, strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class NnTile(NnOp):
    """A tensor repeated along its axes, copy after copy.

    Operand: ``x`` [*]. Result: each dimension times its repeats.

    Attributes:
        repeats: Copies along each axis, at least 1.
    """

    name: ClassVar[str] = "nn.tile"
    repeats: tuple[int, ...]

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless there are repeats for each axis."""
        (x,) = operands
        if len(self.repeats) != x.rank or min(self.repeats, default=1) < 1:
            raise self.refuse(f"expected {x.rank} repeats of at least 1, got {self.repeats}")

    def expand(self, *operands: Expression) -> Expression:
        """Return the repeated tensor."""
        (x,) = operands
        axes = list(zip(self.repeats, x.shape, strict=True))
        # An axis of one copy stays unchanged: tensors have few axes.
        paired = [n for repeat, size in axes for n in ((1, size) if repeat > 1 else (size,))]
        spread = [n for repeat, size in axes for n in ((repeat, size) if repeat > 1 else (size,))]
        sizes = [repeat * size for repeat, size in axes]
        return x.reshape(*paired).broadcast_to(*spread).reshape(*sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnDepthToSpace(NnOp):
    """Channels moved into squares of the image.

    Operand: ``x`` with C channels, C divisible by ``block^2``. Result: height and width times
    ``block``, C / ``block^2`` channels.

    Attributes:
        block: Side of the squares.
        column_row_depth: Whether the square's index is the slow part of the channel (DCR, as in
            TensorFlow), or the channel is (CRD, as PyTorch's pixel shuffle).
        layout: Order of the image's axes.

    Source: ONNX ``DepthToSpace``.
    """

    name: ClassVar[str] = "nn.depth_to_space"
    block: int
    column_row_depth: bool = False
    layout: Layout = Layout.CHANNELS_LAST

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the channels divide."""
        _, _, channels = _image_size(self, self.layout.type_to_last(operands[0]))
        if self.block < 1 or channels % (self.block * self.block):
            raise self.refuse(f"{channels} channels do not make squares of side {self.block}")

    def expand(self, *operands: Expression) -> Expression:
        """Return the larger image."""
        x = self.layout.to_last(operands[0])
        batch = x.shape[0]
        height, width, channels = _image_size(self, x.type)
        side, depth = self.block, channels // (self.block * self.block)
        if self.column_row_depth:
            parts = x.reshape(batch, height, width, depth, side, side)
            transposed = parts.transpose(0, 1, 4, 2, 5, 3)
        else:
            parts = x.reshape(batch, height, width, side, side, depth)
            transposed = parts.transpose(0, 1, 3, 2, 4, 5)
        return self.layout.from_last(transposed.reshape(batch, height * side, width * side, depth))


@dataclass(frozen=True, slots=True, kw_only=True)
class NnSpaceToDepth(NnOp):
    """Squares of the image moved into channels; undoes ``nn.depth_to_space``.

    Operand: ``x`` whose height and width ``block`` divides. Result: C * ``block^2`` channels, the
    square's index being the slow part.

    Attributes:
        block: Side of the squares.
        layout: Order of the image's axes.

    Source: ONNX ``SpaceToDepth``.
    """

    name: ClassVar[str] = "nn.space_to_depth"
    block: int
    layout: Layout = Layout.CHANNELS_LAST

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the squares cover the image."""
        height, width, _ = _image_size(self, self.layout.type_to_last(operands[0]))
        if self.block < 1 or height % self.block or width % self.block:
            raise self.refuse(f"squares of side {self.block} do not cover {operands[0]}")

    def expand(self, *operands: Expression) -> Expression:
        """Return the deeper image."""
        x = self.layout.to_last(operands[0])
        batch = x.shape[0]
        height, width, channels = _image_size(self, x.type)
        side = self.block
        parts = x.reshape(batch, height // side, side, width // side, side, channels)
        transposed = parts.transpose(0, 1, 3, 2, 4, 5)
        deep = transposed.reshape(batch, height // side, width // side, side * side * channels)
        return self.layout.from_last(deep)


def _image_size(op: NnOp, image: TensorType) -> tuple[int, int, int]:
    """Return height, width and channels of ``image``.

    Raises:
        ShapeError: It does not have two spatial axes, or has a symbol other than the batch.
    """
    numbers = tuple(n for n in image.shape[1:] if isinstance(n, int))
    if image.rank != 4 or len(numbers) != 3:
        raise op.refuse(f"input must be an image of two spatial axes, got {image}")
    return numbers[0], numbers[1], numbers[2]
