"""LUTs of a netlist, whose additions are known bit by bit, without fitted coefficients.

Coefficients are fitted to designs whose registers and adders synthesis trims. Here ranges are
exact, and synthesis cannot trim further.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlx_fpga.architectures.parallel.netlist import Netlist, NetlistStep


def step_luts(netlist: Netlist, family: str) -> int:
    """Return the LUTs of all steps except tables.

    The top bit of an addition shares the LUT of the bit below, since both operands are
    sign-extended. Carry cells of ECP5 hold two bits and cannot invert: a subtrahend is inverted by
    LUTs before them, once for all sums that subtract it.
    """
    count = 0
    inverted: set[int] = set()
    for step in netlist.steps:
        bits = netlist.carry_bits(step)
        if bits:
            count += bits - 1
            if family == "ecp5":
                count += (bits - 1) % 2
                inverted.update(step.operands[1:] if _subtracts(step) else ())
        elif step.kind in ("clamp", "max", "pick"):
            # A comparison of all bits; the multiplexer of the result shares its LUTs.
            count += max(netlist.steps[o].width for o in step.operands[:2])
    return count + sum(netlist.steps[operand].width for operand in inverted)


def _subtracts(step: NetlistStep) -> bool:
    return step.kind == "sum" and bool(step.numbers[2])
