"""Cost of dot products: runs of inputs times the weights of four channels.

Tests: tests/targets/cortexm/test_forced.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx_cortexm.packing import BLOCK, QUAD
from rlx_cortexm.weighted import REQUANTIZE

if TYPE_CHECKING:
    from collections.abc import Iterable

BYTES: Final = {"dot4": 150, "dot1": 50}
"""Bytes of machine code of the functions where they are inlined."""

_QUAD: Final = 24
_QUAD_TAIL: Final = 13
"""Instructions for four inputs and one input of a run, times the weights of four channels."""

_SINGLE: Final = 6
"""Instructions for one input times a weight of one channel."""

_RUN: Final = 10
"""Instructions per run, with several."""


def dot_products(outputs: int, narrow: str = "") -> tuple[str, ...]:
    """Return the shared functions that multiply for ``outputs`` channels, four at a time."""
    blocks = (f"dot4{narrow}",) if outputs >= BLOCK else ()
    return (*blocks, f"dot1{narrow}") if outputs % BLOCK else blocks


def dot_size(support: Iterable[str]) -> int:
    """Return the bytes of the shared functions that multiply, inlined."""
    return sum(BYTES.get(function, 0) for function in support)


def instructions(rows: int, length: int, outputs: int) -> int:
    """Return the instructions for ``outputs`` of a window: ``rows`` runs of ``length`` values."""
    block = rows * (length // QUAD * _QUAD + length % QUAD * _QUAD_TAIL + _RUN * (rows > 1))
    single = rows * (length * _SINGLE + _RUN)
    blocks, singles = divmod(outputs, BLOCK)
    return blocks * (block + BLOCK * REQUANTIZE) + singles * (single + REQUANTIZE)
