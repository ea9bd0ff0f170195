"""Weights of 4 and 2 bits for kernels that read bytes: unpacked in the arena before the call.

They need a half or a quarter of the flash, and scratch memory for a byte each.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from rlx_cortexm.narrow import WHOLE_BITS, pack_values, run_bytes
from rlx_cortexm.tactic import CoreTactic, Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_c.candidate import Candidate
    from rlx_c.layer import LoweredLayer
    from rlx_cortexm.core import CortexCore

CALL: Final = 15
"""Instructions to unpack, once."""

WEIGHT: Final = {4: 4.0, 2: 3.25}
WEIGHT_BASELINE: Final = {4: 5.25, 2: 4.0}
"""Instructions per weight, by its bits: extract it, store it, and its share of the byte's loop.

The second, with the baseline instructions only, extracts by two shifts.
"""


def unpacking(tactic: Tactic) -> CoreTactic:
    """Return the tactic with the kernels of another that read bytes, the weights packed."""
    return CoreTactic(partial(_candidates, tactic), tactic.summary, tactic.vectors)


def _candidates(tactic: Tactic, node: Node, core: CortexCore) -> tuple[Candidate, ...]:
    bits = node.operands[1].type.dtype.bits
    if bits >= WHOLE_BITS:
        return ()
    return tuple(
        _with_unpacking(way, bits, core) for way in tactic.on(node, core) if way.byte_weights
    )


def _with_unpacking(way: Candidate, bits: int, core: CortexCore) -> Candidate:
    """Return a candidate with its weights packed."""
    count = way.byte_weights
    return replace(
        way,
        name=f"{way.name}, {bits}-bit weights unpacked",
        lower=partial(_lower, way, bits),
        instructions=way.instructions + unpack_instructions(count, bits, core),
        table_bytes=way.table_bytes - count + run_bytes(count, bits),
        scratch_bytes=_aligned(count) + way.scratch_bytes,
        tables=("unpacked", bits),
        byte_weights=0,
    )


def _lower(way: Candidate, bits: int) -> LoweredLayer:
    """Return the layer with the weights, its first table, packed."""
    layer = way.lower()
    weights, *other_tables = layer.tables
    count = way.byte_weights
    if (weights.element, weights.data.size) != ("int8_t", count):
        raise AssertionError(f"expected {count} int8 weights, got {weights.element}")
    packed = replace(
        weights, data=pack_values(weights.data, bits), note=f"{bits}-bit {weights.note}"
    )
    return replace(
        layer,
        tables=(packed, *other_tables),
        scratch_bytes=_aligned(count) + layer.scratch_bytes,
        weight_bits=bits,
        packed_bytes=count - packed.nbytes,
        unpacked=count,
    )


def _aligned(nbytes: int) -> int:
    """Return bytes rounded up to whole words."""
    return -(-nbytes // 4) * 4


def unpack_instructions(count: int, bits: int, core: CortexCore) -> int:
    """Return the instructions to unpack ``count`` weights on a core."""
    weight = WEIGHT if core.mainline else WEIGHT_BASELINE
    return CALL + round(weight[bits] * count)
