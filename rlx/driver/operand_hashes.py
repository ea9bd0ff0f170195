"""Hashes of a layer's constant operands, by which two output folders tell what changed.

Tests: tests/cli/commands/test_diff.py
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir.layer_diff import constant_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, Node

MAX_ROWS: Final = 1024
"""Rows of a constant up to which each has a hash of its own."""
_HASH_CHARS: Final = 8
"""Hexadecimal digits of a row's hash."""


def hash_of(arrays: Sequence[Array]) -> str:
    """Return the SHA-256 of arrays in row-major order, with their types and shapes."""
    digest = hashlib.sha256()
    for array in arrays:
        little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
        digest.update(f"{array.dtype.name}{array.shape}".encode() + little.tobytes())
    return digest.hexdigest()


def row_hashes(*arrays: Array) -> list[str]:
    """Return the start of a hash of each row of arrays with equally many, together."""
    rows = range(len(arrays[0]))
    return [hash_of([array[row] for array in arrays])[:_HASH_CHARS] for row in rows]


def operand_hashes(node: Node) -> dict[str, list[str]]:
    """Return the hashes of each constant operand by its name, such as ``weights`` or ``bias``.

    Those of a list are of the rows, which are output channels of weights and elements of a bias;
    of a constant with more than :data:`MAX_ROWS` there is one for the whole.
    """
    hashes: dict[str, list[str]] = {}
    for index, value in enumerate(node.operands):
        array = value.constant
        if array is None or not array.size:
            continue
        name = constant_name(node.op, index)
        if name in hashes:
            name = f"{name} of operand {index}"
        whole = array.ndim == 0 or len(array) > MAX_ROWS
        hashes[name] = row_hashes(array[np.newaxis] if whole else array)
    return hashes
