"""Reduced copy of a weight tensor for a report: a grid of cells in 15 shades."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from rlx.ir import Array

    _Floats = np.ndarray[Any, np.dtype[np.float64]]

MAX_ROWS: Final = 64
MAX_COLUMNS: Final = 128
MAX_CELLS: Final = 4096
"""Bounds of a picture."""

LEVELS: Final = 7
"""Shades of each sign; a cell has a hexadecimal digit, 8 for zero."""


def weight_picture(array: Array) -> dict[str, Any]:
    """Return ``shape``, ``block``, ``columns`` and ``cells`` of a tensor with an element or more.

    The first axis is the rows (the output channels of convolutions and dense layers), all others
    are the columns; a vector is one row. A cell is the element of largest magnitude among
    ``block`` (rows, columns) elements, as a digit from 1 (minus the largest magnitude of the
    tensor) over 8 (zero) to f. ``cells`` are the digits row by row.
    """
    numbers = np.asarray(array).astype(np.float64)
    matrix = numbers.reshape(array.shape[0] if array.ndim > 1 else 1, -1)
    block = _block(*matrix.shape)
    cells = _extremes(matrix, block)
    largest = float(np.abs(matrix).max()) or 1.0
    digits = np.rint(cells * (LEVELS / largest)).astype(np.int64) + LEVELS + 1
    return {
        "shape": list(array.shape),
        "block": list(block),
        "columns": cells.shape[1],
        "cells": "".join(f"{digit:x}" for digit in digits.ravel().tolist()),
    }


def _block(rows: int, columns: int) -> tuple[int, int]:
    """Return the rows and columns of the elements that share a cell."""
    tall = -(-rows // MAX_ROWS)
    most = min(MAX_COLUMNS, MAX_CELLS // -(-rows // tall))
    return tall, -(-columns // most)


def _extremes(matrix: _Floats, block: tuple[int, ...]) -> _Floats:
    """Return the element of largest magnitude of each block, of two the positive one."""
    high, low = matrix, matrix
    for axis, step in enumerate(block):
        starts = np.arange(0, matrix.shape[axis], step)
        high = np.maximum.reduceat(high, starts, axis=axis)
        low = np.minimum.reduceat(low, starts, axis=axis)
    return np.where(-low > high, low, high)
