"""Compare arrays bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


def assert_same_bits(actual: npt.ArrayLike, expected: npt.ArrayLike) -> None:
    """Fail unless two arrays have the same type, the same shape and the same bits.

    Floating-point values are compared by their bits too: -0.0 differs from 0.0, and a NaN equals
    only the NaN with the same bits.

    Raises:
        AssertionError: They differ; it says how, and where first.
    """
    __tracebackhide__ = True  # a traceback ends at the test that compares
    left, right = np.asarray(actual), np.asarray(expected)
    if left.dtype != right.dtype or left.shape != right.shape:
        raise AssertionError(
            f"{left.dtype}{list(left.shape)} is not {right.dtype}{list(right.shape)}"
        )
    differs = _bits(left) != _bits(right)
    if differs.any():
        first = tuple(int(i) for i in np.argwhere(differs)[0])
        raise AssertionError(
            f"{int(differs.sum())} of {left.size} elements differ, first at {list(first)}:"
            f" {left[first]} is not {right[first]}"
        )


def _bits(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Return an array of the same shape that is equal where the bits are."""
    if array.dtype.kind not in "fc":
        return array
    words = np.frombuffer(array.tobytes(), np.uint8).reshape(*array.shape, array.dtype.itemsize)
    return words.view(f"V{array.dtype.itemsize}").reshape(array.shape)
