"""Constants of kernels that scale sums by one factor.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ops.q import QMatmul, QMean


def result_constants(op: QMatmul | QMean) -> dict[str, Hashable]:
    """Return the constants with which templates scale sums to int8."""
    return {
        "rounding": op.rescale.rounding.value,
        "multiplier": op.rescale.multiplier[0],
        "shift": op.rescale.shift[0],
        "zero_point": op.zero_point,
        "low": op.low,
        "high": op.high,
    }
