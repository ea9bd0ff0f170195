"""Ranges of the integers that each channel of each value can hold, for all inputs.

Channels are the indices of the last axis; a value of rank 0 has one channel. A range is an
interval; it may be wider than the truth, never narrower. Where both ends meet, the channel is
constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from rlx.ir import Constant, DType, RuleTable
from rlx.ops.numerics.fixed_point import INT32_MAX
from rlx.ops.q import (
    QAveragePool2d,
    QConcat,
    QConv2d,
    QDense,
    QMaxPool2d,
    QPad,
    QReshape,
    QResizeBilinear,
    QResizeNearest,
    QSlice,
    QTranspose,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Array, Graph, Node, TensorType, Value
    from rlx.ops.q import Window

    Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Range:
    """Minimum and maximum of each channel.

    Attributes:
        low: int64[C], the minima.
        high: int64[C], the maxima.
    """

    low: Integers
    high: Integers

    @property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Channels that hold the same integer everywhere."""
        same: npt.NDArray[np.bool_] = self.low == self.high
        return same

    def union(self) -> tuple[int, int]:
        """Return the minimum and maximum over all channels."""
        return int(self.low.min()), int(self.high.max())


RangeRule: TypeAlias = "Callable[[Node, tuple[Range, ...]], Range]"

RANGES: RuleTable[RangeRule] = RuleTable("ranges")
"""Rules for int8 results of ops whose traits do not say enough."""


def channel_ranges(graph: Graph) -> dict[Value, Range]:
    """Return the range of every int8 value of ``graph``."""
    ranges: dict[Value, Range] = {}
    for node in graph.nodes:
        for value in node.results:
            if value.type.dtype is not DType.I8:
                continue
            known = tuple(ranges[o] for o in node.operands if o in ranges)
            if isinstance(node.op, Constant):
                ranges[value] = _of_array(node.op.value)
            elif type(node.op) in RANGES:
                ranges[value] = RANGES[type(node.op)](node, known)
            else:
                ranges[value] = _by_traits(node, known)
    return ranges


def _by_traits(node: Node, ranges: tuple[Range, ...]) -> Range:
    """Return the range of an op's int8 result that its traits imply."""
    traits, type_ = node.op.traits, node.types[0]
    if not ranges or len(ranges) < len(node.operands):
        return _any_int8(type_)
    if traits.moves_only and not traits.elementwise:
        lows, highs = zip(*(r.union() for r in ranges), strict=True)
        return _spread(Range(np.array([min(lows)]), np.array([max(highs)])), _channels(type_))
    if not traits.elementwise:
        return _any_int8(type_)
    wide = [_spread(r, _channels(type_)) if len(r.low) == 1 else r for r in ranges]
    if traits.monotone:
        return _corners(node, wide)
    varying = [r for r in wide if not r.constant.all()]
    return _output_range(node, wide) if len(varying) == 1 else _any_int8(type_)


def _corners(node: Node, ranges: list[Range]) -> Range:
    """Take the extremes over every choice of one end for each operand."""
    corners = [_evaluate(node, *ends) for ends in product(*((r.low, r.high) for r in ranges))]
    return Range(np.min(corners, axis=0), np.max(corners, axis=0))


def _output_range(node: Node, ranges: list[Range]) -> Range:
    """Take the extremes over all int8 values of the one operand that varies."""
    numbers = np.arange(-128, 128)[:, np.newaxis]
    operands = [r.low if r.constant.all() else numbers for r in ranges]
    (x,) = (r for r in ranges if not r.constant.all())
    results = np.broadcast_to(_evaluate(node, *operands), (256, len(x.low)))
    in_range = (x.low <= numbers) & (numbers <= x.high)
    return Range(
        results.min(axis=0, initial=127, where=in_range),
        results.max(axis=0, initial=-128, where=in_range),
    )


def _evaluate(node: Node, *operands: Integers) -> Integers:
    """Return the op's result for operands with one integer for each channel in the last axis."""
    (result,) = node.op.evaluate(*(o.astype(np.int8) for o in operands))
    return result.astype(np.int64)


def _channels(type_: TensorType) -> int:
    return type_.static_shape[-1] if type_.rank else 1


def _any_int8(type_: TensorType) -> Range:
    channels = _channels(type_)
    return Range(np.full(channels, -128), np.full(channels, 127))


def _of_array(array: Array) -> Range:
    rows = array.reshape(-1, array.shape[-1] if array.ndim else 1)
    return Range(rows.min(axis=0).astype(np.int64), rows.max(axis=0).astype(np.int64))


def _spread(range_: Range, channels: int) -> Range:
    """Return the union of all channels for each of ``channels``."""
    low, high = range_.union()
    return Range(np.full(channels, low), np.full(channels, high))


@RANGES.rule(QConv2d)
def conv_range(node: Node, ranges: tuple[Range, ...]) -> Range:
    """Bound the accumulator tap by tap; a tap in the padding adds nothing."""
    assert isinstance(node.op, QConv2d)
    sums = sum_range(node, ranges[0])
    return _any_int8(node.types[0]) if sums is None else _scale_range(node.op, sums.low, sums.high)


def sum_range(node: Node, x: Range) -> Range | None:
    """Return the bounds of each output's accumulator; None if weights or bias are computed.

    Args:
        node: A convolution or dense layer.
        x: Range of its input.
    """
    weights, bias = (operand.constant for operand in node.operands[1:])
    if weights is None or bias is None:
        return None
    op, wide = node.op, weights.astype(np.int64)
    if isinstance(op, QConv2d):
        return _window_sums(node, x, wide, bias)
    assert isinstance(op, QDense)
    products = wide * (x.low - op.x_zero_point), wide * (x.high - op.x_zero_point)
    return Range(np.minimum(*products).sum(axis=1) + bias, np.maximum(*products).sum(axis=1) + bias)


def _window_sums(node: Node, x: Range, weights: Integers, bias: Array) -> Range:
    op = node.op
    assert isinstance(op, QConv2d)
    low, high = _tap_bounds(op, x, weights)
    _, height, width, _ = node.operands[0].type.static_shape
    outside = may_leave_image(op.window, (height, width))
    return Range(
        # Where a tap may be in the padding, it may add 0.
        np.where(outside, np.minimum(low, 0), low).sum(axis=(1, 2)) + bias,
        np.where(outside, np.maximum(high, 0), high).sum(axis=(1, 2)) + bias,
    )


def _tap_bounds(op: QConv2d, x: Range, weights: Integers) -> tuple[Integers, Integers]:
    """Return the minimum and maximum sum of each tap, int64[O, KH, KW]."""
    outputs, inner = weights.shape[0], weights.shape[-1]
    group_of = np.arange(outputs) // (outputs // op.groups)
    channels = group_of[:, None] * inner + np.arange(inner)
    low = (x.low - op.x_zero_point)[channels][:, None, None, :]
    high = (x.high - op.x_zero_point)[channels][:, None, None, :]
    products = weights * low, weights * high
    return np.minimum(*products).sum(axis=3), np.maximum(*products).sum(axis=3)


def may_leave_image(window: Window, size: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Return, for each tap [KH, KW], whether some window has it outside an image of ``size``."""
    sides: list[npt.NDArray[np.bool_]] = []
    for axis, extent in enumerate(size):
        (before, _), count = window.padding[axis], window.output_size(size)[axis]
        # The first and the last window reach farthest.
        starts = np.array([0, count - 1]) * window.stride[axis] - before
        taps = np.arange(window.kernel[axis]) * window.dilation[axis]
        positions = starts[:, np.newaxis] + taps
        sides.append(np.any((positions < 0) | (positions >= extent), axis=0))
    vertical, horizontal = sides
    return np.logical_or.outer(vertical, horizontal)


@RANGES.rule(QDense)
def dense_range(node: Node, ranges: tuple[Range, ...]) -> Range:
    """Bound the accumulator of each output."""
    assert isinstance(node.op, QDense)
    sums = sum_range(node, ranges[0])
    return _any_int8(node.types[0]) if sums is None else _scale_range(node.op, sums.low, sums.high)


def _scale_range(op: QConv2d | QDense, low: Integers, high: Integers) -> Range:
    """Return the requantized bounds of an accumulator; scaling and clamping keep order."""
    if not _keeps_order(op, low, high):
        return Range(np.full(len(low), op.low), np.full(len(low), op.high))
    ends = (op.rescale.apply(a) + op.zero_point for a in (low, high))
    return Range(*(np.clip(a, op.low, op.high) for a in ends))


def _keeps_order(op: QConv2d | QDense, low: Integers, high: Integers) -> bool:
    """Return whether no bound overflows int32 when the scaling shifts it to the left."""
    left = np.maximum(np.array(op.rescale.shift, np.int64), 0)
    largest = np.maximum(np.abs(low), np.abs(high)) << left
    return bool((largest <= INT32_MAX).all())


@RANGES.rule(QAveragePool2d, QMaxPool2d)
def pool_range(node: Node, ranges: tuple[Range, ...]) -> Range:
    """Clamp the operand's range: means and maxima stay within it."""
    op = node.op
    assert isinstance(op, QAveragePool2d | QMaxPool2d)
    (x,) = ranges
    return Range(np.clip(x.low, op.low, op.high), np.clip(x.high, op.low, op.high))


@RANGES.rule(QResizeBilinear, QResizeNearest)
def resize_range(node: Node, ranges: tuple[Range, ...]) -> Range:
    """Keep the operand's range: no element is outside those around it."""
    del node
    return ranges[0]


@RANGES.rule(QReshape)
def reshape_range(node: Node, ranges: tuple[Range, ...]) -> Range:
    """Repeat the channels where the last axis has whole pixels."""
    (x,), channels = ranges, _channels(node.types[0])
    if channels % len(x.low):
        return _spread(x, channels)
    pixels = channels // len(x.low)
    return Range(np.tile(x.low, pixels), np.tile(x.high, pixels))


@RANGES.rule(QPad)
def pad_range(node: Node, ranges: tuple[Range, ...]) -> Range:
    """Include the padding's value; padded channels hold nothing else."""
    op = node.op
    assert isinstance(op, QPad)
    (x,) = ranges
    if not op.before:
        return x
    ends = [x.low, x.high]
    if any(op.before[:-1]) or any(op.after[:-1]):
        ends = [np.minimum(x.low, op.value), np.maximum(x.high, op.value)]
    sides = (op.before[-1], op.after[-1])
    low, high = (np.pad(e, sides, constant_values=op.value) for e in ends)
    return Range(low, high)


@RANGES.rule(QSlice)
def slice_range(node: Node, ranges: tuple[Range, ...]) -> Range:
    """Take the channels that are kept."""
    op = node.op
    assert isinstance(op, QSlice)
    if not op.start:
        return ranges[0]
    part = slice(op.start[-1], op.stop[-1], op.step[-1])
    return Range(ranges[0].low[part], ranges[0].high[part])


@RANGES.rule(QConcat)
def concat_range(node: Node, ranges: tuple[Range, ...]) -> Range:
    """Join channels, or their extremes where another axis is joined."""
    op = node.op
    assert isinstance(op, QConcat)
    if op.axis % node.types[0].rank == node.types[0].rank - 1:
        return Range(
            np.concatenate([r.low for r in ranges]), np.concatenate([r.high for r in ranges])
        )
    return Range(np.min([r.low for r in ranges], axis=0), np.max([r.high for r in ranges], axis=0))


@RANGES.rule(QTranspose)
def transpose_range(node: Node, ranges: tuple[Range, ...]) -> Range:
    """Keep the channels where the last axis stays last."""
    op = node.op
    assert isinstance(op, QTranspose)
    if not op.axes or op.axes[-1] == len(op.axes) - 1:
        return ranges[0]
    return _spread(ranges[0], _channels(node.types[0]))
