"""Cycles per instruction, by core: from instructions to milliseconds.

The minimum is that of the best case: one cycle, or half a cycle on a core with dual issue. The
maximum is above the mean of emitted networks if every load, branch and multiplication has the
longest time in Arm's tables: 1.5 cycles on a Cortex-M0, 1.8 on a Cortex-M3, 1.7 on a Cortex-M4,
counted for three networks. Wait states of a part's flash are added as without a cache.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from rlx.targets.milliseconds import CycleRange

if TYPE_CHECKING:
    from rlx_cortexm.parts import Flash

_IN_ORDER: Final = (1.0, 2.0)
_DUAL_ISSUE: Final = (0.5, 2.0)
_VECTORS: Final = (0.5, 3.0)

CYCLES: Final = MappingProxyType({
    # Tables of timings: loads 2 cycles, multiplications 1, taken branches 2 to 4.
    "cortex-m0": (*_IN_ORDER, "Arm DDI 0432"),
    "cortex-m0plus": (*_IN_ORDER, "Arm DDI 0484"),
    "cortex-m1": (*_IN_ORDER, "Arm DDI 0413"),
    "cortex-m3": (*_IN_ORDER, "Arm DDI 0337"),
    "cortex-m4": (*_IN_ORDER, "Arm DDI 0439"),
    # No tables of timings: the maximum is that of a Cortex-M4 or less.
    "cortex-m23": (*_IN_ORDER, "Arm DDI 0550"),
    "cortex-m7": (*_DUAL_ISSUE, "Arm DDI 0489"),
    "cortex-m33": (*_DUAL_ISSUE, "Arm 100230"),
    "cortex-m35p": (*_DUAL_ISSUE, "Arm 100883"),
    # A vector of 128 bits takes two cycles or more.
    "cortex-m52": (*_VECTORS, "Arm 102776"),
    "cortex-m55": (*_VECTORS, "Arm 101051"),
    # At best three instructions in a cycle.
    "cortex-m85": (0.3, 3.0, "Arm 101924"),
})  # fmt: skip
"""Fewest and most cycles of an instruction without wait states, and Arm's technical reference
manual of the core, by its name for GCC without extensions."""

CONSTANT_READS: Final = 1 / 3
"""Share of the instructions that read constants: above the 0.29 of a network of matrices on a
Cortex-M3, the highest share counted."""

_INSTRUCTION_BYTES: Final = 4
"""Size of the longest instruction."""


def cycle_range(cpu: str, clock_hz: float, flash: Flash) -> CycleRange:
    """Return the cycles of an instruction.

    Args:
        cpu: GCC's name of the core, possibly with extensions.
        clock_hz: Its clock.
        flash: Memory with code and constants.
    """
    low, high, document = CYCLES[cpu.partition("+")[0]]
    megahertz, waits = clock_hz / 1e6, flash.wait_states
    if not waits:
        return CycleRange(low, high, megahertz, f"{document}, memory without wait states")
    high += waits * (_INSTRUCTION_BYTES / flash.line_bytes + CONSTANT_READS)
    rounded = math.ceil(high * 10) / 10
    memory = f"up to {waits} wait states without cache"
    return CycleRange(low, rounded, megahertz, f"{document}, {memory}")
