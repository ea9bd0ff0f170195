"""Cost of dot products with packed weights, on each kind of core.

Counted on a Cortex-M4, M3 and M0, GCC 12 at -O2. The M4 unpacks words with its DSP extension, the
others run plain C, a field at a time.

Tests: tests/targets/cortexm/test_narrow.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlx_cortexm.packing import BLOCK, QUAD
from rlx_cortexm.weighted import WIDE_POSITIVE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx_cortexm.core import CortexCore
    from rlx_cortexm.weighted import WeightedLayer


@dataclass(frozen=True, slots=True)
class FieldCost:
    """Instructions to multiply with weights of a number of bits.

    Attributes:
        quad: Per four inputs of a run and four channels.
        tail: Per remaining input of a run and four channels.
        single: Per input and channel of the remaining channels.
    """

    quad: int
    tail: int
    single: int


@dataclass(frozen=True, slots=True)
class CoreCost:
    """Instructions on a kind of core.

    Attributes:
        fields: Products, by the bits of a weight.
        run: Per run of inputs and four channels, if a window has several.
        single_run: The same per remaining channel.
        copied_row: Per row of taps of a window that sticks out and is copied.
        window: Per window or row of inputs.
        scaled: To begin, scale and store the sums of four channels, by the scaling function: with
            one factor for all channels, and with factors of their own.
    """

    fields: Mapping[int, FieldCost]
    run: int
    single_run: int
    copied_row: int
    window: int
    scaled: Mapping[str, tuple[int, int]]


DSP: Final = CoreCost(
    # Three instructions for the inputs, six for each channel, a shift for all but one channel of a
    # word, three for the loop.
    fields={4: FieldCost(32, 15, 11), 2: FieldCost(33, 14, 11)},
    run=16,
    single_run=5,
    copied_row=48,
    window=14,
    scaled={
        "requantize_narrow": (64, 69),
        "requantize_wide": (86, 132),
        "requantize_high": (55, 59),
        "requantize_power_even": (53, 67),
        "requantize_power_odd": (53, 67),
        "requantize_single": (93, 134),
        "requantize_even": (104, 203),
        "requantize_odd": (104, 203),
        "requantize_float32": (86, 95),
        "requantize_float32_wide": (1175, 1175),
    },
)
PLAIN: Final = CoreCost(
    fields={4: FieldCost(60, 16, 11), 2: FieldCost(56, 13, 11)},
    run=14,
    single_run=5,
    copied_row=30,
    window=20,
    scaled={
        "requantize_narrow": (82, 92),
        "requantize_wide": (71, 118),
        "requantize_high": (62, 72),
        "requantize_power_even": (66, 78),
        "requantize_power_odd": (66, 78),
        "requantize_single": (77, 121),
        "requantize_even": (93, 192),
        "requantize_odd": (93, 192),
        "requantize_float32": (99, 104),
        "requantize_float32_wide": (1160, 1160),
    },
)
BASELINE: Final = CoreCost(
    fields={4: FieldCost(230, 60, 15), 2: FieldCost(144, 60, 15)},
    run=50,
    single_run=10,
    copied_row=85,
    window=30,
    scaled={
        "requantize_narrow": (300, 349),
        "requantize_wide": (255, 360),
        "requantize_high": (266, 330),
        "requantize_power_even": (105, 132),
        "requantize_power_odd": (105, 132),
        "requantize_single": (242, 500),
        "requantize_even": (290, 556),
        "requantize_odd": (290, 556),
        "requantize_float32": (370, 405),
        "requantize_float32_wide": (2345, 2345),
    },
)


def _core_cost(core: CortexCore) -> CoreCost:
    if core.pairs:
        return DSP
    return PLAIN if core.mainline else BASELINE


@dataclass(frozen=True, slots=True)
class PackedCost:
    """Instructions of a layer with packed weights on a core.

    Attributes:
        core: Those of the core.
        fields: Those of products with its weights.
        scaled: Those to scale and store four sums.
    """

    core: CoreCost
    fields: FieldCost
    scaled: int

    @staticmethod
    def of(weighted: WeightedLayer, core: CortexCore) -> PackedCost:
        """Return the cost of a layer on a core."""
        cost, scaling = _core_cost(core), weighted.scaling
        scaled = cost.scaled[scaling.function][scaling.per_channel]
        if scaling.function == "requantize_wide" and weighted.turns_positive and core.mainline:
            scaled -= BLOCK * WIDE_POSITIVE
        return PackedCost(cost, cost.fields[weighted.bits], scaled)

    def instructions(self, rows: int, length: int, outputs: int) -> float:
        """Return the instructions for ``outputs`` of a window of ``rows`` runs of ``length``."""
        quads, tail = divmod(length, QUAD)
        blocks, singles = divmod(outputs, BLOCK)
        several = rows > 1
        block = rows * (quads * self.fields.quad + tail * self.fields.tail)
        single = rows * length * self.fields.single
        return (
            self.core.window
            + blocks * (block + several * rows * self.core.run + self.scaled)
            + singles * (single + several * rows * self.core.single_run + self.scaled / BLOCK)
        )
