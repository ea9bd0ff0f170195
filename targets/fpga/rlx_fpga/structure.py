"""The structure of a design, counted bit by bit before synthesis: adders, muxes, memories.

The counts are taken from the netlist that Amaranth makes of a component, so they follow every
change of a cell. ``rlx_fpga.costs`` predicts cells of a device from them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from amaranth.hdl import Fragment, Value

# Amaranth's netlist has no public interface in 0.5; pyproject.toml pins that version.
from amaranth.hdl import _ir as ir
from amaranth.hdl import _nir as nir

from rlx_fpga.cells.multiply import NetlistPlatform, Packing
from rlx_fpga.cells.ram import COLLISION_FREE
from rlx_fpga.cells.rom import distinct_bits, varying_bits
from rlx_fpga.garbage import gc_paused
from rlx_fpga.liveness import holds, is_constant, known_nets, live_nets
from rlx_fpga.memories import Ram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from amaranth.lib.wiring import Component

KINDS: Final = {
    "one": "one for each component",
    "register": "flip-flops",
    "chained": "of them, those in rows of at least three without a reset",
    "add": "sums and differences of two numbers",
    "count": "sums and differences of a number and a constant",
    "compare": "orders of two numbers",
    "reach": "orders of a number and a constant",
    "equal": "bits that a comparison for equality, an and or an or makes one of",
    "choose": "one of two",
    "gate": "one or a constant",
    "shift": "bits shifted by a variable number, times bits of that number",
    "logic": "and, or, exclusive or",
    "multiply": "bits of one factor times bits of the other, in multiplier blocks",
    "product": "the same, in LUT multipliers",
    "scaled": "the same, where the other factor is a constant",
    "operands": "operands of products in DSP slices (cost model only): not all absorb registers",
    "paired": "pairs of products that share a DSP slice and an operand (cost model only)",
    "tree": "sums of adder trees (cost model only)",
    "control": "conditions of registers that hold",
}
"""Kinds of logic that are counted, and what each counts in bits."""

_LONG: Final = 3
_PREFIX: Final = "rlx"
_PRODUCTS: Final = {
    NetlistPlatform(_PREFIX).module(logic=False): ("multiply", (("x", "y"),)),
    NetlistPlatform(_PREFIX).module(logic=True): ("product", (("x", "y"),)),
    NetlistPlatform(_PREFIX).packed(Packing.SHARED_OPERAND): ("multiply", (("x", "y"),)),
    NetlistPlatform(_PREFIX).packed(Packing.INDEPENDENT): (
        "multiply",
        (("x0", "y0"), ("x1", "y1")),
    ),
}
_RAM: Final = NetlistPlatform(_PREFIX).ram
_SUMS: Final = ("+", "-")
_BITWISE: Final = ("&", "|", "^")
_REDUCTIONS: Final = ("==", "!=", "b", "r|", "r&", "r^")
_SHIFTS: Final = ("<<", "u>>", "s>>")
_ORDERS: Final = ("u<", "s<", "u>", "s>", "u<=", "s<=", "u>=", "s>=")


@dataclass
class Structure:
    """Counts of a component with everything inside it.

    Attributes:
        bits: Of each kind of logic; see ``KINDS``.
        rams: Its memories.
    """

    bits: Counter[str] = field(default_factory=Counter)
    rams: list[Ram] = field(default_factory=list)


def structure_of(component: Component) -> dict[str, Structure]:
    """Return the counts of each submodule of ``component``, by name; of its own under ``""``."""
    ports = [Value.cast(member) for _, _, member in component.signature.flatten(component)]
    with gc_paused():
        design = Fragment.get(component, NetlistPlatform(_PREFIX)).prepare(ports=ports)
        netlist = nir.Netlist()
        # As ``build_netlist`` does it, without its checks, which take most of the time.
        ir._emit_netlist(netlist, design)
        netlist.resolve_all_nets()
        return _Count(netlist).result()


class _Count:
    """One walk over a netlist."""

    def __init__(self, netlist: nir.Netlist) -> None:
        self.cells: Sequence[nir.Cell] = netlist.cells
        self.known = known_nets(self.cells)
        self.used = live_nets(self.cells) - self.known
        self.fed = {
            net for cell in self.cells if isinstance(cell, nir.FlipFlop) for net in cell.data
        }
        self.before: dict[nir.Net, nir.Net] = {}
        self.groups = [_outermost(netlist, index) for index in range(len(netlist.modules))]
        self.found: dict[str, Structure] = {name: Structure() for name in self.groups}
        self.bits: Counter[str] = Counter()

    def result(self) -> dict[str, Structure]:
        """Count every cell."""
        for index, cell in enumerate(self.cells):
            self.bits = self.found[self.groups[cell.module_idx]].bits
            self._cell(index, cell)
        for structure in self.found.values():
            structure.bits["one"] = 1
        self._chains()
        self._rams()
        return self.found

    def _cell(self, index: int, cell: nir.Cell) -> None:
        match cell:
            case nir.Operator():
                live = self._live(index, cell.width)
                if live:
                    self._operator(live, cell)
            case nir.AssignmentList():
                self._assignments(index, cell)
            case nir.FlipFlop():
                self._register(index, cell)
            case nir.Matches():
                self.bits["equal"] += len(cell.value) * len(cell.patterns)
            case nir.Instance(type=kind) if kind in _PRODUCTS:
                self._products(cell)
            case nir.Part():
                self.bits["shift"] += cell.width * len(cell.offset)
            case _:
                pass

    def _products(self, cell: nir.Instance) -> None:
        name, operands = _PRODUCTS[cell.type]
        for x, y in operands:
            fixed = name == "product" and is_constant(cell.ports_i[y], self.known)
            bits = len(cell.ports_i[x]) * len(cell.ports_i[y])
            self.bits["scaled" if fixed else name] += bits

    def _operator(self, live: int, cell: nir.Operator) -> None:
        """Count an operator of whose result ``live`` bits are read."""
        kind, inputs = cell.operator, cell.inputs
        known = any(is_constant(value, self.known) for value in inputs)
        widest = max(map(_significant, inputs))
        if kind in _SUMS:
            self.bits["count" if known else "add"] += min(live, widest + 1)
        elif kind == "*":
            self.bits["multiply"] += _significant(inputs[0]) * _significant(inputs[1])
        elif kind == "m":
            self._choice(live, inputs[1], inputs[2])
        elif kind in _BITWISE:
            self.bits["logic"] += live
        elif kind in _REDUCTIONS:
            unknown = (value for value in inputs if not is_constant(value, self.known))
            self.bits["equal"] += sum(map(_significant, unknown))
        elif kind in _SHIFTS:
            self.bits["shift"] += live * _significant(inputs[1]) * (not known)
        elif kind in _ORDERS:
            self.bits["reach" if known else "compare"] += widest

    def _live(self, index: int, width: int) -> int:
        """Return up to which bit anything reads the result of a cell."""
        base = index << 16
        return next((bit + 1 for bit in reversed(range(width)) if base | bit in self.used), 0)

    def _choice(self, live: int, first: nir.Value, second: nir.Value) -> None:
        for one, other in set(zip(first[:live], second[:live], strict=True)):
            if one != other:
                self.bits["gate" if self._fixed(one) or self._fixed(other) else "choose"] += 1

    def _assignments(self, index: int, cell: nir.AssignmentList) -> None:
        """Count what stands in front of a signal that is assigned under conditions.

        A register that holds has an input for that, and one for its reset: both are free.
        """
        holding = False
        for bit, default in enumerate(cell.default):
            own = index << 16 | bit
            if own not in self.used:
                continue
            sources = [
                assignment.value[bit - assignment.start]
                for assignment in cell.assignments
                if 0 <= bit - assignment.start < len(assignment.value)
            ]
            moving = sum(not self._fixed(net) for net in sources)
            held, fed = holds(self.cells, default, own), own in self.fed
            holding |= held
            if held:
                self.bits["choose"] += max(moving - 1, 0)
            else:
                self.bits["gate" if self._fixed(default) else "choose"] += moving
                self.bits["gate"] += max(len(sources) - moving - fed, 0)
        self.bits["control"] += holding * max(len(cell.assignments), 1)

    def _fixed(self, net: nir.Net) -> bool:
        return net.is_const or net in self.known

    def _register(self, index: int, cell: nir.FlipFlop) -> None:
        sources = {
            net: nir.Net.from_cell(index, bit)
            for bit, net in enumerate(cell.data)
            if not net.is_const and index << 16 | bit in self.used  # Known ones are not.
        }
        self.bits["register"] += len(sources)
        for net, own in sources.items():
            before = self._taken_over(net)
            if before is not None:
                self.before[own] = before

    def _taken_over(self, net: nir.Net) -> nir.Net | None:
        """Return the register whose content comes to ``net`` as it is, without any reset."""
        source = self._into_register(net)
        cell = self.cells[source.cell] if source.is_cell else None
        return source if isinstance(cell, nir.FlipFlop) else None

    def _chains(self) -> None:
        """Count the registers that stand in long rows."""
        for last in self.before.keys() - set(self.before.values()):
            length, place = 1, last
            while place in self.before:
                length, place = length + 1, self.before[place]
            if length >= _LONG:
                group = self.groups[self.cells[last.cell].module_idx]
                self.found[group].bits["chained"] += length

    def _rams(self) -> None:
        written = {c.memory for c in self.cells if isinstance(c, nir.SyncWritePort)}
        asynchronous = {c.memory for c in self.cells if isinstance(c, nir.AsyncReadPort)}
        registered = self._registered()
        for index, cell in enumerate(self.cells):
            found = self.found[self.groups[cell.module_idx]].rams
            if isinstance(cell, nir.Instance) and cell.type == _RAM:
                found += _ram_of(cell)
            if not isinstance(cell, nir.Memory):
                continue
            words = () if index in written else cell.init
            width = varying_bits(words, cell.width) if words else cell.width
            style = str(cell.attributes.get("rom_style", cell.attributes.get("ram_style", "")))
            ram = Ram(
                width,
                cell.depth,
                read_only=index not in written,
                synchronous=index not in asynchronous,
                style=style,
                collision_free=COLLISION_FREE in cell.attributes,
                distinct=distinct_bits(words, cell.width) if words else 0,
                registered=index in registered,
            )
            found.append(ram)

    def _registered(self) -> set[int]:
        """Return the memories with asynchronous reads into registers of the same module."""
        kept = {
            (self._into_register(net, reset=True), cell.module_idx)
            for cell in self.cells
            if isinstance(cell, nir.FlipFlop)
            for net in cell.data
        }
        return {
            cell.memory
            for index, cell in enumerate(self.cells)
            if isinstance(cell, nir.AsyncReadPort)
            and all(
                (nir.Net.from_cell(index, bit), cell.module_idx) in kept
                for bit in range(cell.width)
            )
        }

    def _into_register(self, net: nir.Net, *, reset: bool = False) -> nir.Net:
        """Return what a register takes that holds what it has or takes something else.

        Args:
            net: What goes into the register.
            reset: Whether it may be set to a constant, too.
        """
        cell = self.cells[net.cell] if net.is_cell else None
        if not isinstance(cell, nir.AssignmentList):
            return net
        taken = [one for one in cell.assignments if not (reset and is_constant(one.value))]
        if len(taken) != 1:
            return net
        (assignment,) = taken
        place = net.bit - assignment.start
        held = holds(self.cells, cell.default[net.bit], net)
        return assignment.value[place] if held and 0 <= place < len(assignment.value) else net


def _ram_of(cell: nir.Instance) -> list[Ram]:
    """Return the memory of an instance; none for SPRAM, which is counted separately."""
    of = cell.parameters
    if of["Large"]:
        return []
    return [Ram(of["Width"], of["Depth"], read_only=False, synchronous=True, collision_free=True)]


def _outermost(netlist: nir.Netlist, index: int) -> str:
    """Return the name of the submodule of the top module that a module is, or lies in."""
    name = ""
    while netlist.modules[index].parent is not None:
        name = netlist.modules[index].name[-1]
        index = netlist.modules[index].parent
    return name


def _significant(value: nir.Value) -> int:
    """Return the bits of a number without copies of its sign and without zeros above it."""
    width = len(value)
    while width > 1 and value[width - 1] == value[width - 2]:
        width -= 1
    return width
