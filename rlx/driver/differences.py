"""Differences between expected outputs and those of a network, as text.

Tests: tests/unit/testing/test_golden.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from rlx.ir import Array

_SHOWN: Final = 10
"""Values of a frame that are shown, those around the first difference."""


def difference_of(expected: Array, actual: Array) -> str | None:
    """Return the differences between two arrays of frames, as lines; None if they are equal.

    They say how many frames differ, the first element that does, with both values, the values
    around it, and whether elements are exchanged, as where classes have another order.

    Args:
        expected: Array ``[frames, *shape]``.
        actual: Array of that shape.
    """
    frames = len(expected)
    before, after = expected.reshape(frames, -1), actual.reshape(frames, -1)
    wrong = before != after
    if not wrong.any():
        return None
    frame, element = (int(i) for i in np.argwhere(wrong)[0])
    index = [int(i) for i in np.unravel_index(element, expected.shape[1:])]
    start = max(0, min(element - _SHOWN // 2, before.shape[1] - _SHOWN))
    some = slice(start, start + _SHOWN)
    count = int(wrong.any(axis=1).sum())
    lines = [
        f"{count} of {frames} frames differ, first in frame {frame} at {index}:"
        f" expected {before[frame, element]}, got {after[frame, element]}",
        f"- expected {_values(before[frame], some)}",
        f"+ got      {_values(after[frame], some)}",
    ]
    if exchanged := _exchanged(before, after):
        lines.append(exchanged)
    return "\n".join(lines)


def _values(frame: Array, some: slice) -> str:
    """Return a part of a frame, with dots where it is cut off."""
    text = " ".join(f"{value:>4}" for value in frame[some].tolist())
    before = "... " if some.start else ""
    return f"{before}{text}{' ...' if some.stop < len(frame) else ''}"


def _exchanged(before: Array, after: Array) -> str:
    """Return which elements changed places, if that is all that happened; else nothing."""
    columns: dict[bytes, list[int]] = {}
    for index, column in enumerate(after.T):
        columns.setdefault(column.tobytes(), []).append(index)
    new_index = {}
    for index, column in enumerate(before.T):
        matches = columns.get(column.tobytes(), [])
        if not matches:
            return ""
        if index not in matches:
            new_index[index] = matches[0]
    if not new_index:
        return ""
    if len(new_index) == 2:
        first, second = new_index
        return f"elements {first} and {second} are exchanged in every frame: another order of them?"
    orders = ", ".join(f"{old} is at {new}" for old, new in new_index.items())
    return f"the elements have another order in every frame: {orders}"
