"""Cells of unrolled layers: their additions are known bit by bit, so nothing is fitted.

The factors of ``rlx_fpga.costs`` are fitted to designs whose registers and adders synthesis trims
by a third. Here ranges are exact, and nothing is left to trim.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rlx_fpga.costs import PORTS, Resources, resources_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx_fpga.structure import Structure
    from rlx_fpga.unrolled.netlist import Netlist, NetlistStep

_KNOWN: Final = ("register", "add", "count", "compare", "reach", "choose")
"""Kinds of logic that are counted here instead."""


def resources_by_netlist(
    structures: Mapping[str, Structure], netlists: Mapping[str, Netlist], family: str
) -> dict[str, Resources]:
    """Return the cells of each layer, and under ``PORTS`` the others.

    Args:
        structures: Counts of the design's submodules, those of layers under the layer's name.
        netlists: Netlists of layers, by name.
        family: Family of the device.
    """
    found = dict.fromkeys([*netlists, PORTS], Resources())
    for name, structure in structures.items():
        if name in netlists:
            found[name] = _resources(structure, netlists[name], family)
        else:
            found[PORTS] += resources_of(structure, family, 0)
    return found


def _resources(structure: Structure, netlist: Netlist, family: str) -> Resources:
    bits = Counter({kind: n for kind, n in structure.bits.items() if kind not in _KNOWN})
    rest = resources_of(replace(structure, bits=bits), family, 0)
    return rest + Resources(lut=_luts(netlist, family), ff=structure.bits["register"])


def _luts(netlist: Netlist, family: str) -> int:
    """Return the LUTs of all steps except tables.

    The top bit of an addition shares the LUT of the bit below, since both operands are
    sign-extended. Carry cells of ECP5 hold two bits and cannot invert: a subtrahend is inverted by
    LUTs in front, once for all sums that subtract it.
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
