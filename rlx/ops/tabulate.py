"""Elementwise nodes of one computed operand as tables: one for each channel, or one for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import Node, Value

_VALUES = np.arange(-128, 128, dtype=np.int8)[:, np.newaxis]


@dataclass(frozen=True, slots=True, eq=False)
class Tabulated:
    """``result[..., c] = tables[c][x[..., c] + 128]``.

    Attributes:
        operand: ``x``, int8 of the result's shape.
        tables: int8[C, 256], or int8[1, 256] if all channels have the same.
    """

    operand: Value
    tables: npt.NDArray[np.int8]


def tabulated(node: Node) -> Tabulated | None:
    """Return the tables of an elementwise int8 node, or None.

    None if the node computes from more than one operand, or if a constant differs along another
    axis than the last.
    """
    computed = [o for o in node.operands if o.constant is None]
    constants = [o for o in node.operands if o.constant is not None]
    types = [*node.types, *(o.type for o in node.operands)]
    if (
        not node.op.traits.elementwise
        or len(computed) != 1
        or any(t.dtype is not DType.I8 for t in types)
        or computed[0].type.shape != node.types[0].shape
        or any(o.type.size > 1 and o.type.shape[-1] != o.type.size for o in constants)
    ):
        return None
    values = (_VALUES if o.constant is None else o.constant.reshape(-1) for o in node.operands)
    (results,) = node.op.evaluate(*values)
    tables = np.ascontiguousarray(results.T, np.int8)
    return Tabulated(computed[0], tables[:1] if (tables == tables[0]).all() else tables)
