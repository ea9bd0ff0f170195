"""Bias, multipliers and shifts in the form of the vector kernels, and the cost of scaling.

Tests: tests/targets/cortexm/test_mve.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rlx_c.layer import ConstantTable

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx_cortexm.scaling import AccumulatorScaling
    from rlx_cortexm.weighted import WeightedLayer

LANES: Final = 4
"""Sums in a vector."""

SUFFIXES: Final = {
    f"requantize_{name}": name for name in ("narrow", "wide", "high", "power_even", "power_odd")
}
"""Scaling of sums (see ``scaling``), to the end of the vector function's name."""


def can_scale(scaling: AccumulatorScaling) -> bool:
    """Return whether there is a vector function for a scaling: not for those with 64 bits."""
    return scaling.function in SUFFIXES


def right_shift(scaling: AccumulatorScaling) -> tuple[int, ...]:
    """Return the shifts in the form of VRSHL: negative to the right."""
    wide = scaling.function == "requantize_wide"
    return scaling.shift if wide else tuple(-s for s in scaling.shift)


def constants(weighted: WeightedLayer) -> dict[str, Hashable]:
    """Return the constants of the scaling and the result, for the templates."""
    return {
        **weighted.constants,
        "scale": SUFFIXES[weighted.scaling.function],
        "positive": weighted.turns_positive,
    }


def support(weighted: WeightedLayer) -> tuple[str, ...]:
    """Return the shared C functions for scaling, on both paths."""
    return ("mve", weighted.scaling.function)


def factor_table(weighted: WeightedLayer) -> ConstantTable:
    """Return biases, or for four channels at a time biases, multipliers and shifts."""
    if not weighted.scaling.per_channel:
        return ConstantTable(
            "bias", "int32_t", _filled(weighted.bias), "bias of each output channel"
        )
    multiplier, shift = weighted.scaling.multiplier, right_shift(weighted.scaling)
    rows = np.stack([_filled(np.array(v)) for v in (weighted.bias, multiplier, shift)])
    by_four = rows.reshape(3, -1, LANES).transpose(1, 0, 2).reshape(-1)
    note = "for every four output channels the biases, the multipliers, the shifts"
    return ConstantTable("factors", "int32_t", by_four, note)


def arguments(weighted: WeightedLayer) -> tuple[int, ...]:
    """Return multiplier and shift, where one pair serves all channels."""
    if weighted.scaling.per_channel:
        return ()
    return weighted.scaling.multiplier[0], right_shift(weighted.scaling)[0]


def instructions(weighted: WeightedLayer) -> int:
    """Return the instructions to scale and store four sums."""
    wide = weighted.scaling.function == "requantize_wide"
    if not weighted.scaling.rounds_twice:
        return 8 + 3 * weighted.scaling.to_parity
    return 8 + (0 if weighted.turns_positive else 2 + wide) + 2 * wide


def _filled(
    values: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return values, padded with zeros to a whole vector."""
    return np.pad(values, (0, -len(values) % LANES))
