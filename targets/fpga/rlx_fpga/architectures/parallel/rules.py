"""Shared parts of the rules of all ops."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from rlx.ir import RuleTable, target_hint
from rlx.targets.operands import unsupported
from rlx_fpga.architectures.parallel.affine import requantizer_line
from rlx_fpga.architectures.parallel.sums import shift_add

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Node
    from rlx_fpga.architectures.parallel.affine import AffineLine
    from rlx_fpga.architectures.parallel.netlist import Netlist
    from rlx_fpga.architectures.parallel.program import ShiftAdd, Term

Wires: TypeAlias = npt.NDArray[np.int64]
"""Steps of a netlist that are the elements of a tensor."""

Rule: TypeAlias = "Callable[[Netlist, Node, list[Wires]], Wires]"
"""Appends a node to a netlist: from the steps of its operands to those of its result, by shape."""

RULES: RuleTable[Rule] = RuleTable("fpga, parallel", hint=target_hint("fpga"))

PADDING: Final = -1
"""Wire of a position outside of an image."""


def requantizer(node: Node, channel: int, ends: tuple[int, int]) -> AffineLine:
    """Return the line of a node's requantizer for accumulators within ``ends``."""
    return checked(node, requantizer_line(node.op, channel, ends))


def checked(node: Node, line: AffineLine | None) -> AffineLine:
    """Return ``line``.

    Raises:
        UnsupportedOpError: The op lacks a rule.
    """
    if line is None:
        raise unsupported(node, "its scaling cannot be expressed as one multiplication")
    return line


def scaled(netlist: Netlist, line: AffineLine, total: Term | None, base: int) -> int:
    """Append ``clamp(((total + base) * factor + addend) >> shift)``."""
    if total is None or not line.factor:
        return netlist.constant(line.low)
    wire, total_shift, sign = total
    step = netlist.steps[wire]
    program = _factor(line.factor, step.low, step.high)
    (term,) = program.build(netlist, [wire])
    assert term is not None
    wire, left, sign = term[0], term[1] + total_shift, term[2] * sign
    offset = base * line.factor
    if line.below == line.addend:
        biased = netlist.offset(wire, left, line.addend + offset, negative=sign < 0)
    else:
        accumulator = netlist.offset(total[0], total_shift, base, negative=total[2] < 0)
        product = netlist.offset(wire, left, offset, negative=sign < 0)
        biased = netlist.choice(product, accumulator, (line.addend, line.below))
    return netlist.clamp(netlist.right(biased, line.shift), line.low, line.high)


@lru_cache(1024)
def _factor(factor: int, low: int, high: int) -> ShiftAdd:
    """Return the program of a product with one constant, for numbers of ``low`` .. ``high``."""
    return shift_add(np.array([[factor]]), [(low, high)])
