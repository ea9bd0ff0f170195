"""Cuts of matrix products into tiles that fit the registers, and weights in their order.

Tests: tests/targets/host/test_float_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array
    from rlx_host.instruction_set import InstructionSet

    Section = tuple[int, int, int]
    """First and last row (not included) of tiles, and the rows of each."""

    Panels = tuple[int, int, int, int]
    """First and last column (not included) of panels, vectors and used columns of each."""


def max_rows(instructions: InstructionSet) -> int:
    """Return the rows of a tile of two vectors: 32 registers hold 12 of them, 16 hold 6."""
    return 12 if instructions.name in ("avx512vnni", "neon") else 6


def row_sections(rows: int, limit: int) -> tuple[Section, ...]:
    """Return tiles of at most ``limit`` rows, of at most two heights that differ by 1."""
    tiles = -(-rows // limit)
    height, higher = divmod(rows, tiles)
    split = higher * (height + 1)
    sections = ((0, split, height + 1), (split, rows, height))
    return tuple(section for section in sections if section[0] < section[1])


def panels(columns: int, lanes: int) -> tuple[Panels, ...]:
    """Return panels of two vectors, the last one of one or two vectors and maybe partly used."""
    full = columns // (2 * lanes) * (2 * lanes)
    rest = columns - full
    found = [(0, full, 2, 2 * lanes)] if full else []
    if rest:
        found.append((full, columns, 1 if rest <= lanes else 2, rest))
    return tuple(found)


def tiles(sections: Sequence[Section], columns: Sequence[Panels]) -> tuple[str, ...]:
    """Return the names of the functions of tiles that are called."""
    return tuple(f"tile_{rows}_{vectors}" for *_, rows in sections for _, _, vectors, _ in columns)


def pack(matrix: Array, lanes: int) -> Array:
    """Return a matrix [K, N] panel by panel, each [K, its vectors * lanes], filled up with 0."""
    blocks = []
    for first, last, vectors, used in panels(matrix.shape[1], lanes):
        for column in range(first, last, vectors * lanes):
            block = np.zeros((len(matrix), vectors * lanes), np.float32)
            block[:, :used] = matrix[:, column : column + used]
            blocks.append(block.reshape(-1))
    return np.concatenate(blocks)


def pad_to_vectors(values: Array, lanes: int) -> Array:
    """Return a vector filled up with 0 to whole panels."""
    padded = np.zeros(-(-values.size // (2 * lanes)) * 2 * lanes, np.float32)
    padded[: values.size] = values.reshape(-1)
    return padded
