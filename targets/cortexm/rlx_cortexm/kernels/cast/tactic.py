"""The same values in another element type.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx.ir import DType
from rlx.ops.real.cast import integer_range
from rlx.targets.operands import unsupported
from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, LoweredLayer
from rlx_c.ports import C_TYPES
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Node
    from rlx.ops.real import RealCast

WHOLE: Final = 4
REAL: Final = 14
"""Instructions for each element, with hardware for floats."""

PORTABLE: Final = 6.5
"""Ratio of instructions without such hardware to those with it, for floats."""


def whole(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for integers."""
    return () if _is_real(node) else _candidates(node, WHOLE)


def real(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for casts from or to float."""
    return _candidates(node, REAL) if _is_real(node) else ()


def _is_real(node: Node) -> bool:
    return DType.F32 in (node.operands[0].type.dtype, node.types[0].dtype)


def _candidates(node: Node, instructions: int) -> tuple[Candidate, ...]:
    """Return the candidate for a change of type.

    Raises:
        UnsupportedOpError: C code does not support one of the types.
    """
    op = cast("RealCast", node.op)
    x = node.operands[0].type
    if x.dtype not in C_TYPES or op.dtype not in C_TYPES:
        known = ", ".join(sorted(dtype.value for dtype in C_TYPES))
        raise unsupported(
            node, f"expected types of {known}, got {x.dtype.value} to {op.dtype.value}"
        )
    constants: dict[str, Hashable] = {
        "length": x.size,
        "from": C_TYPES[x.dtype],
        "to": C_TYPES[op.dtype],
        "way": _way(x.dtype, op.dtype),
    }
    if constants["way"] == "saturate":
        low, high = integer_range(op.dtype)
        # Both are powers of two, or 1 off one: exact in float32. C lacks a literal for INT32_MIN.
        constants |= {
            "low": low if op.dtype is not DType.I32 else "INT32_MIN",
            "high": high,
            "below": f"{low}.0f",
            "above": f"{high + 1}.0f",
        }
    kernel = Kernel.of("cast", "cast/kernel", constants)
    layer = LoweredLayer(kernel, operands=node.operands, instructions=x.size * instructions)
    return (Candidate.of(layer, "cast"),)


def _way(source: DType, result: DType) -> str:
    """Return the handling of values that the result cannot hold."""
    if source is DType.F32 and result is not DType.F32:
        return "saturate"
    return "plain" if DType.F32 in (source, result) else "wrap"


SUMMARY: Final = "`cast`: each number in another element type."
CAST: Final = Tactic(whole, SUMMARY)
CAST_REAL: Final = Tactic(real, SUMMARY, portable=PORTABLE)
