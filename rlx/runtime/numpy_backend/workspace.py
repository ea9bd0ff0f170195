"""Scratch memory, shared by all steps of a program.

Tests: tests/unit/runtime/numpy_backend/test_kernels.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import Array

ALIGNMENT: Final = 64
"""Alignment of arrays in bytes: a cache line, and the widest vector."""


def aligned(nbytes: int) -> npt.NDArray[np.uint8]:
    """Return ``nbytes`` bytes of zeros that begin at a multiple of ``ALIGNMENT``."""
    raw = np.zeros(nbytes + ALIGNMENT, np.uint8)
    begin = -raw.ctypes.data % ALIGNMENT
    return raw[begin : begin + nbytes]


class Workspace:
    """Scratch memory of a program.

    While steps are bound, all allocate arrays in the same bytes: each step overwrites the data of
    the one before.

    Attributes:
        nbytes: Most bytes that a step has taken.
    """

    def __init__(self) -> None:
        self.nbytes = 0
        self._taken = 0
        self._memory = aligned(0)

    def begin(self) -> None:
        """Let the next step allocate memory from the start."""
        self._taken = 0

    def mark(self) -> int:
        """Return the bytes that the step has taken by now."""
        return self._taken

    def release(self, mark: int) -> None:
        """Release the memory that was taken since ``mark``."""
        self._taken = mark

    def take(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return an array, not cleared, that no other array of this step shares bytes with."""
        element = np.dtype(dtype)
        begin = self._taken
        end = begin + math.prod(shape) * element.itemsize
        self._taken = -(-end // ALIGNMENT) * ALIGNMENT
        self.nbytes = max(self.nbytes, self._taken)
        if end > self._memory.nbytes:
            # Steps bound before keep the bytes they have; growing by doubling bounds the sum.
            self._memory = aligned(max(end, 2 * self._memory.nbytes))
        return self._memory[begin:end].view(element).reshape(shape)

    def like(self, array: Array) -> npt.NDArray[Any]:
        """Return an array of the shape and element type of another one."""
        return self.take(array.shape, array.dtype)
