"""Cells of unrolled layers: their additions are known bit by bit, so nothing is fitted.

The factors of ``rlx_fpga.costs`` are of designs whose registers and adders synthesis trims by a
third. Here ranges are exact, and nothing is left to trim.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rlx_fpga.costs import PORTS, Resources, resources_of
from rlx_fpga.structure import structure_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from amaranth.lib.wiring import Component

    from rlx_fpga.structure import Structure
    from rlx_fpga.unrolled.netlist import Netlist, Step

_KNOWN: Final = ("register", "add", "count", "compare", "reach", "choose")
"""Kinds of logic that are counted in the netlist here."""


def resources_by_netlist(
    component: Component, netlists: Mapping[str, Netlist], family: str
) -> dict[str, Resources]:
    """Return the cells of each layer, and under ``PORTS`` what belongs to none.

    Args:
        component: A design whose submodules have the names of layers.
        netlists: Of layers, by name.
        family: Of the device.
    """
    found = dict.fromkeys([*netlists, PORTS], Resources())
    for name, structure in structure_of(component).items():
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
    """Return the places of lookup tables of all steps but tables.

    The highest bit of an addition shares the table of the bit below, as both operands are extended
    by their signs. Blocks of ECP5 hold two bits, and negate nothing: what is subtracted is inverted
    by tables in front, once for all sums that subtract it.
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
        elif step.kind in ("clamp", "greatest", "pick"):
            # An order of all bits; one of two of each bit of the result has its share in it.
            count += max(netlist.steps[o].width for o in step.operands[:2])
    return count + sum(netlist.steps[operand].width for operand in inverted)


def _subtracts(step: Step) -> bool:
    return step.kind == "sum" and bool(step.numbers[2])
