"""Loops of kernels that compute each channel by itself: blocks of pixels, channel by channel.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rlx.ir import TensorType

MAX_RUN: Final = 64
"""Pixels of a block: with 64 channels they are 4 kB, which a data cache holds."""

MIN_RUN: Final = 16
"""Fewest pixels of a block, unless there are no more."""

UNROLLED: Final = (4, 3, 2)
"""Unroll factors of the loop over a block, the best one first."""

CHANNEL: Final = 9
"""Instructions to begin a channel of a block."""

LOOP: Final = 4
"""Instructions of a round of the loop over a block."""


def pixel_loops(type_: TensorType) -> dict[str, int]:
    """Return the sizes of the loops over a tensor, for the macro ``blocks_of_pixels``."""
    channels = type_.static_shape[-1]
    pixels = type_.size // channels
    divisors = (n for n in range(min(pixels, MAX_RUN), MIN_RUN - 1, -1) if pixels % n == 0)
    run = min(divisors, key=lambda n: (_unrolled(n) != UNROLLED[0], -n), default=pixels)
    return {
        "channels": channels,
        "blocks": pixels // run,
        "run": run,
        "unrolled": _unrolled(run),
    }


def loop_instructions(loops: dict[str, int]) -> int:
    """Return the instructions of the loops themselves."""
    rounds = loops["run"] // loops["unrolled"]
    per_channel = CHANNEL + (LOOP * rounds if rounds > 1 else 0)
    return loops["blocks"] * loops["channels"] * per_channel


def _unrolled(run: int) -> int:
    return next((n for n in UNROLLED if run % n == 0), 1)
