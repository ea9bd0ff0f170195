"""Weights of 4 and 2 bits for kernels that read bytes: unpacked in the arena before the call.

For depthwise layers, which have few weights: they need a half or a quarter of the flash, and any
kernel for bytes computes the layer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rlx_c.candidate import Candidate
from rlx_cortexm.narrow import WHOLE_BITS, pack_values

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_c.layer import LoweredLayer

CALL: Final = 20
WEIGHT: Final = 4
"""Instructions to unpack: once, and for each weight."""


def candidates(node: Node, *ways: Candidate) -> tuple[Candidate, ...]:
    """Return the ways that read weights as bytes, with weights as narrow as the node has them."""
    bits = node.operands[1].type.dtype.bits
    if bits >= WHOLE_BITS:
        return ()
    return tuple(
        Candidate.of(_with_unpacking(way.lower(), bits), f"{way.name}, {bits}-bit weights unpacked")
        for way in ways
    )


def _with_unpacking(layer: LoweredLayer, bits: int) -> LoweredLayer:
    """Return a layer with the weights, its first table, packed."""
    weights, *other_tables = layer.tables
    if weights.element != "int8_t":
        raise AssertionError(f"weights of type {weights.element} do not come from narrow ones")
    count = int(weights.data.size)
    packed = replace(
        weights, data=pack_values(weights.data, bits), note=f"{bits}-bit {weights.note}"
    )
    layer = replace(
        layer,
        tables=(packed, *other_tables),
        instructions=layer.instructions + CALL + WEIGHT * count,
        weight_bits=bits,
        packed_bytes=count - packed.nbytes,
        unpacked=count,
    )
    return replace(layer, scratch_bytes=layer.own_scratch + layer.scratch_bytes)
