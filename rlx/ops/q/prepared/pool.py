"""Pools one axis after the other: rows of a window first, then columns.

Tests: tests/unit/ops/q/test_prepared.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from rlx.ops.q.window import Window

NumberT = TypeVar("NumberT", bound=np.signedinteger[Any])


def combine_windows(
    combine: np.ufunc, window: Window, padded: npt.NDArray[NumberT]
) -> npt.NDArray[NumberT]:
    """Return ``combine`` over each window of a padded NHWC image, [N, OH, OW, C]."""
    return _combine_axis(combine, window, _combine_axis(combine, window, padded, 1), 2)


def _combine_axis(
    combine: np.ufunc, window: Window, x: npt.NDArray[NumberT], axis: int
) -> npt.NDArray[NumberT]:
    """Return ``combine`` over the taps of one axis, 1 or 2."""
    kernel, stride, dilation = (
        pair[axis - 1] for pair in (window.kernel, window.stride, window.dilation)
    )
    end = x.shape[axis] - window.extent[axis - 1] + 1
    where: list[slice] = [slice(None)] * 4
    where[axis] = slice(0, end, stride)
    result = x[tuple(where)].copy()
    for tap in range(dilation, kernel * dilation, dilation):
        where[axis] = slice(tap, tap + end, stride)
        combine(result, x[tuple(where)], out=result)
    return result
