"""Values that a program keeps on its device: constants and parameters, in few buffers.

A call with many arguments is slow, so small arrays of one element type are parts of one buffer.

Tests: tests/targets/xla/test_program.py
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np
from jax import lax

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from rlx.ir import Array
    from rlx_xla.rules import Traced

KeyT = TypeVar("KeyT", bound="Hashable")

MAX_PACKED_BYTES: Final = 1 << 16
"""Size from which an array has a buffer of its own: taking it out of another one copies it."""


@dataclass(frozen=True, slots=True)
class _Part:
    """An array in a buffer.

    Attributes:
        buffer: Index of the buffer.
        start: First element.
        shape: Dimensions.
    """

    buffer: int
    start: int
    shape: tuple[int, ...]


@dataclass(slots=True)
class Packing(Generic[KeyT]):
    """Places of arrays in buffers, by key.

    Attributes:
        parts: Place of each array.
        dtypes: Element type of each buffer.
        sizes: Elements of each buffer.
    """

    parts: dict[KeyT, _Part] = field(default_factory=dict)
    dtypes: list[np.dtype[np.generic]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    @staticmethod
    def of(arrays: Mapping[KeyT, tuple[tuple[int, ...], np.dtype[np.generic]]]) -> Packing[KeyT]:
        """Return places for arrays of these shapes and element types."""
        packing: Packing[KeyT] = Packing()
        shared: dict[np.dtype[np.generic], int] = defaultdict(lambda: -1)
        for key, (shape, dtype) in arrays.items():
            size = int(np.prod(shape, dtype=np.int64))
            index = shared[dtype]
            if size * dtype.itemsize >= MAX_PACKED_BYTES or index < 0:
                index = len(packing.sizes)
                packing.dtypes.append(dtype)
                packing.sizes.append(0)
                if size * dtype.itemsize < MAX_PACKED_BYTES:
                    shared[dtype] = index
            packing.parts[key] = _Part(index, packing.sizes[index], shape)
            packing.sizes[index] += size
        return packing

    def pack(self, arrays: Mapping[KeyT, Array]) -> list[Array]:
        """Return the buffers with these arrays in them."""
        buffers = [np.empty(n, t) for n, t in zip(self.sizes, self.dtypes, strict=True)]
        for key, part in self.parts.items():
            array = arrays[key]
            buffers[part.buffer][part.start : part.start + array.size] = array.reshape(-1)
        return buffers

    def unpack(self, buffers: Sequence[Traced]) -> dict[KeyT, Traced]:
        """Return the arrays in traced buffers."""
        arrays = {}
        for key, part in self.parts.items():
            size = int(np.prod(part.shape, dtype=np.int64))
            flat = buffers[part.buffer]
            if size != self.sizes[part.buffer]:
                flat = lax.slice(flat, (part.start,), (part.start + size,))
            arrays[key] = flat.reshape(part.shape)
        return arrays
