"""Deviation of streams from a constant rate: beats that are left out, or come in between."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx_fpga.cells.rom import Integers


def spread(times: Sequence[int] | Integers, total: int) -> Fraction:
    """Return the jitter of events at ``times``, repeated every ``total`` cycles, in frames."""
    count = len(times)
    ahead = np.arange(count) * total - np.asarray(times, np.int64) * count
    return Fraction(int(ahead.max() - ahead.min()) + total, total * count)


def raster_indices(sizes: Sequence[int], axes: Sequence[Sequence[int]]) -> Integers:
    """Return the indices, in raster order, of a part of a tensor of ``sizes`` beats.

    Args:
        sizes: Beats of each axis.
        axes: Indices of the part on each axis, ascending.
    """
    indices = np.zeros(1, np.int64)
    for size, kept in zip(sizes, axes, strict=True):
        indices = (indices[:, np.newaxis] * size + np.asarray(kept, np.int64)).ravel()
    return indices
