"""Ops that move values: all but the reshape are strided copies.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, cast

from rlx_c import copies
from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, LoweredLayer
from rlx_c.ports import C_TYPES
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QPad
    from rlx_c.copies import Copy

SINGLE: Final = 4.6
"""Instructions to copy one value."""

RUN: Final = 14
BYTE: Final = 0.5
"""To copy a run of values with the C library, and for each of its bytes."""


def nothing(node: Node) -> tuple[Candidate, ...]:
    """Do nothing: the values stay in their order."""
    return (Candidate.of(LoweredLayer(None, operands=node.operands), "nothing"),)


def transpose(node: Node) -> tuple[Candidate, ...]:
    """Copy element by element, or run by run where the last axes stay in place."""
    return _copies(node, "transpose", (copies.transposition(node),))


def slice_(node: Node) -> tuple[Candidate, ...]:
    """Copy the part."""
    return _copies(node, "slice", (copies.part(node),))


def pad(node: Node) -> tuple[Candidate, ...]:
    """Fill the result with the padding value, then copy the operand into it."""
    return _copies(node, "pad", (copies.padding(node),), fill=cast("QPad", node.op).value)


def concat(node: Node) -> tuple[Candidate, ...]:
    """Copy each operand to its place."""
    return _copies(node, "concat", copies.concatenation(node))


def _parameters(count: int) -> tuple[str, ...]:
    """Return the names of the operands in C."""
    return ("x",) if count == 1 else tuple(f"x{number}" for number in range(count))


def _copies(
    node: Node, kind: str, parts: tuple[Copy, ...], fill: int | None = None
) -> tuple[Candidate, ...]:
    constants = {
        "operands": _parameters(len(node.operands)),
        "parts": parts,
        "fill": fill,
        "length": node.types[0].size,
        "element": C_TYPES[node.types[0].dtype],
        "bytes": node.types[0].dtype.bits // 8,
    }
    copied = sum(
        _instructions(math.prod(loop.extent for loop in loops), run)
        for _, loops, run, _, _ in parts
    )
    filled = 0 if fill is None else _instructions(1, node.types[0].size)
    kernel = Kernel.of(kind, "copy/kernel", constants)
    layer = LoweredLayer(kernel, operands=node.operands, instructions=round(copied + filled))
    return (Candidate.of(layer, "copy"),)


def _instructions(runs: int, length: int) -> float:
    """Return the instructions to copy ``runs`` runs of ``length`` values."""
    return runs * (SINGLE if length == 1 else RUN + BYTE * length)


SUMMARY: Final = "`copy`: contiguous elements are copied, no arithmetic."
CONCAT: Final = Tactic(concat, SUMMARY, baseline=1.5)
NOTHING: Final = Tactic(nothing, "")
PAD: Final = Tactic(pad, SUMMARY, baseline=1.5)
SLICE: Final = Tactic(slice_, SUMMARY, baseline=1.5)
TRANSPOSE: Final = Tactic(transpose, SUMMARY, baseline=1.5)
