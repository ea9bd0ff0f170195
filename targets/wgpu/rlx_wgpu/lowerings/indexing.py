"""Expressions of indices in kernels.

Tests: tests/targets/wgpu/test_every_op.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def coordinates(shape: Sequence[int], index: str = "i") -> list[str]:
    """Return the expressions of the coordinates of an element, by its index."""
    strides = row_major(shape)
    return [
        f"({index} / {stride}u % {size}u)" if size > 1 else "0u"
        for size, stride in zip(shape, strides, strict=True)
    ]


def offset(coords: Sequence[str], strides: Sequence[int]) -> str:
    """Return the expression of an index, by coordinates and the stride of each."""
    terms = [
        f"{coord} * {stride}u"
        for coord, stride in zip(coords, strides, strict=True)
        if stride and coord != "0u"
    ]
    return " + ".join(terms) or "0u"


def row_major(shape: Sequence[int]) -> list[int]:
    """Return the elements between neighbours along each axis."""
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def broadcast(shape: Sequence[int], to: Sequence[int]) -> str:
    """Return the expression of an operand's index, by the index of the broadcast result."""
    if math.prod(shape) == math.prod(to):
        return "i"
    strides = [s if n > 1 else 0 for s, n in zip(row_major(shape), shape, strict=True)]
    return offset(coordinates(to)[len(to) - len(shape) :], strides)
