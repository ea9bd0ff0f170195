"""Integer expressions for the indices of nearest elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from rlx.ops.numerics.resampling import Resampling

_INDEX_BITS = 31
"""Bits of a product of a counter, without its sign."""


class IndexFormula(NamedTuple):
    """The index ``min((i * factor + offset) >> shift, last)`` of an element ``i``.

    ``last`` is None where no index is above it.
    """

    factor: int
    offset: int
    shift: int
    last: int | None


def index_formula(axis: Resampling) -> IndexFormula | None:
    """Return the formula with the smallest shift for the nearest elements of an axis.

    A few axes have none: float32 rounds some of their positions down to another index.
    """
    indices = axis.unclamped_nearest.astype(np.int64)
    last = axis.old - 1 if indices[-1] >= axis.old else None
    counters = np.arange(axis.new, dtype=np.int64)
    slope = axis.slope
    for shift in range(_INDEX_BITS - int(indices[-1] + 1).bit_length()):
        unit = 1 << shift
        for factor in sorted({math.floor(slope * unit), math.ceil(slope * unit)}):
            # Offsets that keep every product at or above its index, and below the next one.
            low = int((indices * unit - counters * factor).max())
            high = int(((indices + 1) * unit - counters * factor).min()) - 1
            if low <= high:
                return IndexFormula(factor, min(max(0, low), high), shift, last)
    return None
