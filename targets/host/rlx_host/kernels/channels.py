"""Tables of output channels: bias, multiplier and shift of each, as ``requantize.c.j2`` reads them.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ops.numerics.fixed_point import Rounding

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ops.numerics.fixed_point import Rescale


def rounding_of(rescale: Rescale) -> str:
    """Return the name of the C function ``requantize_<name>`` for these factors."""
    if rescale.rounding is Rounding.DOUBLE and max(rescale.shift) < 0:
        return "right"
    return rescale.rounding.value


def channel_rows(rescale: Rescale, channels: int) -> npt.NDArray[np.int32]:
    """Return the rows of a table for these factors, int32[2, channels]."""
    multiplier = np.broadcast_to(np.array(rescale.multiplier, np.int64), channels)
    shift = np.broadcast_to(np.array(rescale.shift, np.int64), channels)
    match rounding_of(rescale):
        case "right":
            shift = -shift - 1
        case "float32":
            factors = np.ldexp(multiplier.astype(np.float32), shift - 31)
            multiplier = np.asarray(factors, np.float32).view(np.int32).astype(np.int64)
        case "single" | "even" | "odd":
            shift = 31 - shift
    return np.stack([multiplier, shift]).astype(np.int32)
