"""Table of the ops that the backend has kernels for.

Tests: tests/targets/wgpu/test_every_op.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from rlx.ir import DType, Refusal, RuleTable
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import QMean, computes_int16

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Array, Node
    from rlx_wgpu.kernel import Writer

    Lowering: TypeAlias = Callable[["Node", "Writer"], None]

RULES: RuleTable[Lowering] = RuleTable(
    "backend wgpu", hint="run the network by another backend; 'rlx devices' lists them"
)
"""Lowerings: ``rule(node, writer)`` writes the kernels that compute a node."""

NARROW: Final = (DType.I4, DType.I2)
"""Element types that are held as int8."""

_MAX_ITEM_BYTES: Final = 4
_MAX_COUNT: Final = 2**31 // 256
"""Differences of int8 values whose sum fits int32."""


def held_type(dtype: DType) -> np.dtype[np.generic]:
    """Return the element type in which values of ``dtype`` are held on the device."""
    return np.dtype(np.int8) if dtype in NARROW else dtype.numpy


def held(array: Array) -> Array:
    """Return an array of the host in the element type that it is held in on the device."""
    return array.astype(np.int8) if DType.of(array) in NARROW else array


def refusal_of(node: Node) -> Refusal | None:
    """Return the reason that a node has no kernel, or None if it has."""
    reason = RULES.reason(type(node.op))
    if reason is None:
        reason = _type_reason(node) or _rounding_reason(node) or _count_reason(node)
    return None if reason is None else Refusal(reason, RULES.hint)


def _type_reason(node: Node) -> str | None:
    """Return the reason that the types of a node are refused, if they are."""
    if computes_int16(node):
        return "its activations are int16; the backend computes int8"
    types = [*(o.type for o in node.operands), *node.types]
    wide = sorted({t.dtype.value for t in types if held_type(t.dtype).itemsize > _MAX_ITEM_BYTES})
    return f"the device holds no elements of {', '.join(wide)}" if wide else None


def _rounding_reason(node: Node) -> str | None:
    """Return the reason that the rounding of a node is refused, if it is."""
    rescale = getattr(node.op, "rescale", None)
    if isinstance(rescale, Rescale) and rescale.rounding is Rounding.FLOAT32:
        return "it rounds to float32, which GPUs do in different ways"
    return None


def _count_reason(node: Node) -> str | None:
    """Return the reason that a mean of many elements is refused, if it is."""
    if not isinstance(node.op, QMean):
        return None
    (x,) = node.operands
    count = math.prod(x.type.static_shape) // max(math.prod(node.result.type.static_shape), 1)
    return f"the sum of {count:,} elements may exceed 32 bits" if count >= _MAX_COUNT else None
