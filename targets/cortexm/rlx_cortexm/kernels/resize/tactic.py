"""Nearest elements, and means of the four around a position.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, ConstantTable, Kernel, LoweredLayer
from rlx_cortexm.kernels.resize.positions import index_formula
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Node
    from rlx.ops.numerics.resampling import Resampling
    from rlx.ops.q import QResizeBilinear, QResizeNearest

_ROW: Final = 22
_ROW_BYTE: Final = 0.5
"""Instructions to copy a row, and for each of its bytes."""

_MAX_INLINED: Final = 32
"""Bytes of a pixel that compilers copy without calling the C library."""

_PIXEL: Final = 6
_PIXEL_BYTE: Final = 0.7
_ODD_BYTES: Final = 5
"""Instructions to copy a pixel, for each of its bytes, and for three bytes after the last word."""

_CALL: Final = 25
_CALL_BYTE: Final = 0.55
"""Instructions to copy a pixel with the C library, and for each of its bytes."""

_WEIGHTS: Final = 28
_MEAN: Final = 14.3
_MEAN_OF_TWO: Final = 10.4
"""Instructions for the weights of a pixel, for each mean, and for each in a row or column."""

_SINGLE_MEAN: Final = 32
"""Instructions for a pixel of one channel."""

_MAX_UNROLLED: Final = 3
_UNROLLED: Final = 8
"""Channels whose loop compilers unroll, and instructions for each pixel of them."""


def nearest(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate that copies pixel by pixel, and rows that repeat as a whole."""
    op = cast("QResizeNearest", node.op)
    rows, columns = op.axes(node.operands[0].type.static_shape[1:3])
    indices = {"rows": rows.nearest, "columns": columns.nearest}
    formulas = {"rows": index_formula(rows), "columns": index_formula(columns)}
    tables = {
        name: _table(name, axis)
        for name, axis in (("rows", rows), ("columns", columns))
        if formulas[name] is None
    }
    whole = np.array_equal(columns.nearest, np.arange(columns.old))
    repeats = not whole and bool((np.diff(rows.nearest) == 0).any())
    constants = {
        **_geometry(node),
        **formulas,
        "row_index": tables["rows"].element if "rows" in tables else "",
        "column_index": tables["columns"].element if "columns" in tables else "",
        "repeats": repeats,
        "whole": whole,
    }
    kernel = Kernel.of("resize_nearest", "resize/nearest", constants, size=CodeSize(0.8))
    instructions = _nearest_instructions(node, len(set(indices["rows"].tolist())), whole=whole)
    layer = LoweredLayer(
        kernel, operands=node.operands, tables=tuple(tables.values()), instructions=instructions
    )
    return (Candidate.of(layer, "resize nearest"),)


def bilinear(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate that weights the four elements around each position."""
    op = cast("QResizeBilinear", node.op)
    rows, columns = op.axes(node.operands[0].type.static_shape[1:3])
    constants = {
        **_geometry(node),
        "rows": (rows.first, rows.step),
        "columns": (columns.first, columns.step),
    }
    kernel = Kernel.of("resize_bilinear", "resize/bilinear", constants, size=CodeSize(0.7))
    batch, height, width, channels = node.types[0].static_shape
    pixel = _mean_instructions(channels, in_line=1 in (rows.old, columns.old))
    instructions = round(batch * height * width * pixel)
    layer = LoweredLayer(kernel, operands=node.operands, instructions=instructions)
    return (Candidate.of(layer, "resize bilinear"),)


def _mean_instructions(channels: int, *, in_line: bool) -> float:
    """Return the instructions for a pixel; ``in_line``: of an image of one row or column."""
    if channels == 1:
        return _SINGLE_MEAN
    unrolled = _UNROLLED if channels <= _MAX_UNROLLED else 0
    return _WEIGHTS + unrolled + (_MEAN_OF_TWO if in_line else _MEAN) * channels


def _geometry(node: Node) -> dict[str, Hashable]:
    """Return the sizes of the image and of the result."""
    batch, in_h, in_w, channels = node.operands[0].type.static_shape
    _, out_h, out_w, _ = node.types[0].static_shape
    return {
        "batch": batch, "in_h": in_h, "in_w": in_w, "out_h": out_h, "out_w": out_w,
        "channels": channels,
    }  # fmt: skip


def _table(name: str, axis: Resampling) -> ConstantTable:
    """Return the index that each element of an axis copies."""
    element = next(t for t, n in _INDICES.items() if axis.old <= n)
    return ConstantTable(name, element, axis.nearest, f"index of each of {axis.new} {name}")


_INDICES: Final = {"uint8_t": 1 << 8, "int16_t": 1 << 15, "int32_t": 1 << 31}
"""Number of indices that each type can hold."""


def _nearest_instructions(node: Node, distinct: int, *, whole: bool) -> int:
    """Return the instructions of copies of which ``distinct`` rows are put together by pixels."""
    batch, height, width, channels = node.types[0].static_shape
    row = _ROW + _ROW_BYTE * width * channels
    own = row if whole else width * _pixel_instructions(channels)
    return round(batch * (distinct * own + (height - distinct) * row))


def _pixel_instructions(channels: int) -> float:
    """Return the instructions to copy a pixel."""
    if channels > _MAX_INLINED:
        return _CALL + _CALL_BYTE * channels
    return _PIXEL + _PIXEL_BYTE * channels + (_ODD_BYTES if channels % 4 == 3 else 0)


BILINEAR: Final = Tactic(
    bilinear, "`resize bilinear`: four products for each element, exact sums.", baseline=1.9
)
NEAREST: Final = Tactic(
    nearest, "`resize nearest`: pixels are copied, no arithmetic.", baseline=2.5
)
