"""Facts about values before a run: their elements, and the integers that they were stored as.

Tests: tests/unit/passes/quantize/test_masks.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Constant, DType, QuantParams, once_per_node
from rlx.ops.real import RealDequantize, RealReshape, RealTranspose

if TYPE_CHECKING:
    from rlx.ir import Array, Node, Value


def known(value: Value) -> Array | None:
    """Return the numbers of a value that depends on constants only, else None."""
    results = _known_results(value.node)
    return None if results is None else results[value.index]


@once_per_node
def _known_results(node: Node) -> tuple[Array, ...] | None:
    if isinstance(node.op, Constant):
        return (node.op.value,)
    operands = [known(o) for o in node.operands]
    arrays = [o for o in operands if o is not None]
    if not operands or len(arrays) != len(operands) or not all(t.is_static for t in node.types):
        return None
    return node.op.evaluate(*arrays)


def stays(node: Node) -> bool:
    """Return whether a node computes integers of integers, such as indices: nothing to do."""
    types = [*node.types, *(o.type for o in node.operands)]
    return all(not t.dtype.is_float and t.quant is None for t in types)


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Reals that a model holds as integers.

    Attributes:
        array: Integers.
        quant: Their quantization parameters; an axis counts from the front.
    """

    array: Array
    quant: QuantParams


def stored(value: Value) -> Stored | None:
    """Return the stored integers of a dequantized value, its axes maybe reordered."""
    node = value.node
    if isinstance(node.op, RealDequantize):
        array, quant = known(node.operands[0]), node.op.quant
        if array is None:
            return None
        return Stored(array, quant if quant.axis is None else _from_front(quant, array.ndim))
    inner = stored(node.operands[0]) if isinstance(node.op, RealTranspose | RealReshape) else None
    if inner is None:
        return None
    axis = inner.quant.axis
    if isinstance(node.op, RealTranspose):
        new_axis = None if axis is None else node.op.axes.index(axis)
        return Stored(inner.array.transpose(node.op.axes), replace(inner.quant, axis=new_axis))
    if axis is not None:
        return None
    return Stored(inner.array.reshape(value.type.static_shape), inner.quant)


def int8_stored(values: Stored) -> Stored | None:
    """Return stored values of 8 bits or fewer, of one scale, as int8; None for others."""
    if values.array.dtype.itemsize != 1 or values.quant.axis is not None:
        return None
    # uint8 less 128 is int8, and the zero point moves along.
    shift = 128 if DType.of(values.array) is DType.U8 else 0
    steps = (values.array.astype(np.int16) - shift).astype(np.int8)
    (scale,), (zero_point,) = values.quant.scale, values.quant.zero_point
    return Stored(steps, QuantParams((float(np.float32(scale)),), (zero_point - shift,)))


def _from_front(quant: QuantParams, rank: int) -> QuantParams:
    return replace(quant, axis=(quant.axis or 0) % rank)
