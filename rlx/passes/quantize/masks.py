"""Elements that only mask others: they do not count for a value's range.

Such as the lowest float around an image before a max pool, or -1e9 that is added to elements that a
softmax or an argmax must not choose. Saturated they mask as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.ops.nn import NnSoftmax
from rlx.ops.real import RealAdd, RealPad, RealSub
from rlx.passes.quantize.functions import argument
from rlx.passes.quantize.known import known
from rlx.passes.quantize.params import moves, only_extremes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from rlx.ir import Graph, Node, Value

    Numbers = npt.NDArray[Any]
    Found = npt.NDArray[np.bool_]

_MIN_SOFTMAX_DISTANCE: Final = 64.0
"""Distance below the maximum of masked scores: 1 + exp(-64) is 1 in float32."""

_PARTS_OF_ONE: Final = 512
"""Parts of 1: one of them is half a step of a softmax's int8 result, and rounds to zero."""

_MIN_MASK_DISTANCE: Final = 1000.0
"""Minimum distance of a constant from the largest of its tensor to be a mask before a maximum."""


@dataclass(frozen=True, slots=True)
class Mask:
    """Elements of a value that mask others.

    Attributes:
        where: Returns them for an array ``[n, *shape]``, where a leading 1 may be left out.
        filled: Returns the array with values in their place that a range has to cover.
    """

    where: Callable[[Numbers], Found]
    filled: Callable[[Numbers], Numbers]


def masks(graph: Graph) -> dict[Value, Mask]:
    """Return the masks of the values of a float graph that have some."""
    users, outputs = graph.users(), set(graph.outputs)
    masks_by_value: dict[Value, Mask] = {}
    for node in graph.op_nodes:
        node_mask = _mask_of_node(node, users, outputs)
        if node_mask is not None:
            masks_by_value[node.result] = node_mask
        elif _moves_mask(node, masks_by_value):
            masks_by_value |= dict.fromkeys(node.results, masks_by_value[node.operands[0]])
        if isinstance(node.op, NnSoftmax) and users[node.operands[0]] == [node]:
            masks_by_value.setdefault(node.operands[0], _mask_of_softmax(node))
    return {value: mask for value, mask in masks_by_value.items() if value not in outputs}


def _moves_mask(node: Node, masks_by_value: Mapping[Value, Mask]) -> bool:
    """Return whether a node moves a value in which a constant masks, so that its results do."""
    return moves(node) and len(node.operands) == 1 and node.operands[0] in masks_by_value


def _mask_of_node(
    node: Node, users: Mapping[Value, list[Node]], outputs: set[Value]
) -> Mask | None:
    """Return the mask that a node makes, if it does."""

    def extremes(number: float) -> bool:
        return only_extremes(node.result, number, outputs, lambda v: users[v])

    if isinstance(node.op, RealPad):
        value = np.float32(node.op.value)
        return _mask_of_number(float(value)) if extremes(float(value)) else None
    if isinstance(node.op, RealAdd | RealSub) and argument(node) is None:
        numbers = known(node.operands[1])
        if numbers is None and isinstance(node.op, RealAdd):
            numbers = known(node.operands[0])
        if numbers is None or not numbers.size:
            return None
        sign = 1 if isinstance(node.op, RealAdd) else -1
        added = sign * np.asarray(numbers, np.float64)
        low = added < added.max() - _MIN_MASK_DISTANCE
        high = added > added.min() + _MIN_MASK_DISTANCE
        if low.any() and extremes(-1.0):
            return _mask_of_positions(low, -1)
        if high.any() and extremes(1.0):
            return _mask_of_positions(high, 1)
    return None


def _mask_of_number(number: float) -> Mask:
    """Return the mask of the elements equal to ``number``; a range covers zero anyway."""

    def where(array: Numbers) -> Found:
        return np.asarray(array == number)

    return Mask(where, lambda array: np.where(where(array), 0, array))


def _mask_of_positions(masked_positions: Found, side: int) -> Mask:
    """Return the mask of some places; their values are a little beyond the others."""

    def where(array: Numbers) -> Found:
        shape = masked_positions.shape
        while len(shape) > array.ndim - 1 and shape[:1] == (1,):
            shape = shape[1:]
        return np.broadcast_to(masked_positions.reshape(shape), array.shape)

    def filled(array: Numbers) -> Numbers:
        at = where(array)
        others = array[~at]
        low, high = others.min(initial=0.0), others.max(initial=0.0)
        beyond = (high - low) / 64
        return np.where(at, low - beyond if side < 0 else high + beyond, array)

    return Mask(where, filled)


def _mask_of_softmax(node: Node) -> Mask:
    """Return the mask of values that have no share in a softmax."""
    op, shape = node.op, node.operands[0].type.static_shape
    assert isinstance(op, NnSoftmax)
    axis = op.axis % len(shape) - len(shape)
    # All that are masked together are less than half a step of the result.
    below = math.log(_PARTS_OF_ONE * max(shape[axis], 1))

    def largest(array: Numbers) -> Numbers:
        if array.ndim < -axis or array.shape[axis] != shape[axis]:
            return array
        return np.asarray(array.max(axis=axis, keepdims=True))

    def where(array: Numbers) -> Found:
        return np.asarray(array < largest(array) - _MIN_SOFTMAX_DISTANCE)

    def filled(array: Numbers) -> Numbers:
        return np.where(where(array), largest(array) - below, array)

    return Mask(where, filled)
