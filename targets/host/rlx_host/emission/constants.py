"""The file of an emitted network's constants: packed weights, channel factors, operands.

Tests: tests/targets/host/test_target.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from rlx.ir import Array

ALIGNMENT: Final = 64
"""Every table, and every value in the arena, begins at a multiple of this, in bytes."""


class ConstantFile:
    """Tables one after another; equal ones are stored once."""

    def __init__(self) -> None:
        self._offsets: dict[bytes, int] = {}
        self._content = bytearray()

    def add(self, array: Array) -> int:
        """Return the offset of the elements of ``array``, which are added if they are new."""
        content = np.ascontiguousarray(array).tobytes()
        if content not in self._offsets:
            self._content += bytes(-len(self._content) % ALIGNMENT)
            self._offsets[content] = len(self._content)
            self._content += content
        return self._offsets[content]

    def __len__(self) -> int:
        return len(self._content)

    @property
    def content(self) -> bytes:
        """The bytes of the file."""
        return bytes(self._content)
