"""Differences between expected outputs and those of a network, as text.

Tests: tests/unit/testing/test_golden.py
"""

from __future__ import annotations

from collections import Counter
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
    """Return which elements changed places, if that explains all differences; else nothing.

    Each element that differs must have a new index, and only one: an equal column of another
    element, as where both are constant, leaves it open which of them moved.
    """
    expected = [column.tobytes() for column in before.T]
    actual = [column.tobytes() for column in after.T]
    counts, actual_counts = Counter(expected), Counter(actual)
    index_of = {column: new for new, column in enumerate(actual)}
    new_index = {}
    for old, column in enumerate(expected):
        if column == actual[old]:
            continue
        if counts[column] != 1 or actual_counts[column] != 1:
            return ""
        new_index[old] = index_of[column]
    if len(new_index) == 2:
        first, second = new_index
        return f"elements {first} and {second} are exchanged in every frame: another order of them?"
    orders = ", ".join(f"{old} is at {new}" for old, new in new_index.items())
    return f"the elements have another order in every frame: {orders}"
