"""The same op on tensors whose axes are in another order.

An order maps axes to places: axis ``i`` of a tensor is axis ``order[i]`` of its replacement, so
that the tensor is ``transpose(stand_in, order)``.

Tests: tests/unit/passes/test_channels_last.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rlx.ops import nn, q, real
from rlx.ops.nn.activation import NnActivation
from rlx.ops.real.reduce import RealReduce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Op, QuantParams, TensorType

Order: TypeAlias = tuple[int, ...]

_KEEP_AXIS = (
    nn.NnSoftmax, nn.NnLogSoftmax, nn.NnBatchNorm, nn.NnGroupNorm, nn.NnSplit, real.RealCumsum,
    real.RealConcat, q.QConcat,
)  # fmt: skip
_DROP_AXIS = (real.RealArgmax, real.RealArgmin, nn.NnLogSumExp, q.QArgmax)
_KEEP_AXES = (nn.NnL2Norm, real.RealReverse)
_DROP_AXES = (RealReduce, nn.NnVariance, q.QMean)
_POOLS = (q.QAveragePool2d, q.QMaxPool2d)
_SWAPPED_IMAGE = (0, 2, 1, 3)
# Attributes with an entry for each axis.
_LISTS: tuple[tuple[type[Op], tuple[str, ...]], ...] = (
    (real.RealPad, ("before", "after", "interior")),
    (nn.NnPad, ("before", "after")),
    (q.QPad, ("before", "after")),
    (nn.NnTile, ("repeats",)),
    (real.RealSlice, ("start", "stop", "step")),
    (q.QSlice, ("start", "stop", "step")),
    (real.RealBroadcastTo, ("shape",)),
)
_QUANTIZED = (real.RealQuantize, real.RealDequantize)
_GROWING = (real.RealPad, nn.NnPad, q.QPad)


def identity(rank: int) -> Order:
    """Return the order that changes nothing."""
    return tuple(range(rank))


def inverse(order: Order) -> Order:
    """Return the order that undoes another."""
    return tuple(int(i) for i in np.argsort(order))


def is_pointwise(op: Op) -> bool:
    """Return whether each element of the result depends on the corresponding elements only."""
    kinds = (NnActivation, nn.NnPrelu, *_QUANTIZED)
    # The constants of these belong to the last axis, at any place.
    by_channel = isinstance(op, q.QPrelu | q.QChain)
    return (op.traits.elementwise and not by_channel) or isinstance(op, kinds)


def may_follow(op: Op) -> bool:
    """Return whether a transpose of the operand has at most the elements of one of the result."""
    return is_pointwise(op) or isinstance(op, _GROWING)


def moved_quant(quant: QuantParams | None, order: Order) -> QuantParams | None:
    """Return quantization parameters whose axes are in ``order``."""
    if quant is None or quant.axis is None:
        return quant
    return replace(quant, axis=order[quant.axis % len(order)])


def only_moves_ones(type_: TensorType, axes: Order) -> bool:
    """Return whether a transpose moves dimensions of 1 only, so that it is a reshape.

    Quantized values with a scale for each index of an axis are not reshaped.
    """
    if type_.quant is not None and type_.quant.axis is not None:
        return False
    kept = [a for a in axes if type_.shape[a] != 1]
    return kept == sorted(kept)


def reorder(op: Op, order: Order) -> tuple[Op, Order] | None:
    """Return an op for operands in ``order``, and the order of its results; None if unknown.

    All operands of full rank are in that order; vectors (of norms) are unchanged.
    """
    if is_pointwise(op):
        quant = getattr(op, "quant", None)
        return (op.with_attributes(quant=moved_quant(quant, order)) if quant else op), order
    if isinstance(op, (*_KEEP_AXIS, *_DROP_AXIS)):
        axis = op.axis % len(order)
        left = order if isinstance(op, _KEEP_AXIS) else without(order, (axis,))
        return op.with_attributes(axis=order[axis]), left
    if isinstance(op, (*_KEEP_AXES, *_DROP_AXES)):
        axes = tuple(a % len(order) for a in op.axes)
        keep = isinstance(op, _KEEP_AXES) or op.keep_dims
        reduction = op.with_attributes(axes=tuple(sorted(order[a] for a in axes)))
        return reduction, order if keep else without(order, axes)
    if isinstance(op, _POOLS) and order == _SWAPPED_IMAGE:
        return _swapped_pool(op), order
    for kind, names in _LISTS:
        if isinstance(op, kind):
            return _lists(op, names, order)
    return None


def _swapped_pool(op: q.QAveragePool2d | q.QMaxPool2d) -> Op:
    """Return the pool of an image whose height is its width."""
    names = ("kernel", "stride", "dilation", "padding")
    swapped = {name: getattr(op.window, name)[::-1] for name in names}
    return op.with_attributes(window=replace(op.window, **swapped))


def without(order: Order, axes: Sequence[int]) -> Order:
    """Return the order of the axes left when others are dropped."""
    left = [place for axis, place in enumerate(order) if axis not in axes]
    return tuple(sorted(left).index(place) for place in left)


def _lists(op: Op, names: tuple[str, ...], order: Order) -> tuple[Op, Order] | None:
    changed: dict[str, Any] = {}
    for name in names:
        given = getattr(op, name)
        if given and len(given) != len(order):
            return None
        changed[name] = tuple(given[a] for a in inverse(order)) if given else given
    return op.with_attributes(**changed), order
