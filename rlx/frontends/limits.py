"""How much of a model file rlx is willing to read: one table for every format."""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds that are checked before anything is allocated for what they bound.

    Attributes:
        file_bytes: Size of a file.
        nodes: Operators of a graph.
        tensors: Tensors of a graph, and buffers of a file.
        rank: Dimensions of a tensor.
        dimension: Size of one dimension.
        elements: Elements of one tensor.
        constant_bytes: Bytes of all constant tensors together.
        name_bytes: Bytes of a name.
        nesting: Depth of tables inside tables.
        overlap: How many times over the objects of a file may cover its bytes. A shared object
            is legal in some formats; without a bound a small file can stand for a huge one.
    """

    file_bytes: int = 512 * MIB
    nodes: int = 100_000
    tensors: int = 200_000
    rank: int = 8
    dimension: int = 1 << 24
    elements: int = 1 << 28
    constant_bytes: int = GIB
    name_bytes: int = KIB
    nesting: int = 64
    overlap: int = 4


DEFAULT_LIMITS = Limits()
