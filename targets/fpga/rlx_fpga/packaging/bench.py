"""Sizes of the emitted benches."""

from __future__ import annotations

from typing import Final

BENCH_CYCLES: Final = 300_000
"""Approximate cycles of the first test of the emitted cocotb bench."""

BENCH_FRAMES: Final = (3, 16)
"""Minimum and maximum number of frames of that test."""


def bench_frames(interval: int) -> int:
    """Return the frames of the first test for a design with this initiation interval, in cycles."""
    low, high = BENCH_FRAMES
    return max(low, min(high, BENCH_CYCLES // max(1, interval)))
