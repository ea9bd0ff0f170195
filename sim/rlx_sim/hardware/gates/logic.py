"""Cells of one bit as expressions: LUTs, multiplexers, carries, flip-flops.

A netlist has thousands of them. As expressions they compile many times faster than as instances of
the models in Yosys' libraries, which compute the same values (a test compares them).

Tests: tests/sim/hardware/gates/test_cells.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rlx_sim.hardware.gates.netlist import NetlistCell

    Net = int | str

_ICE40_FF: Final = re.compile(r"SB_DFF(N?)(E?)(SR|SS|R|S|)")
"""Falling edge, enable; reset or set, asynchronous without an S, synchronous after one."""


def name_of(net: Net) -> str:
    """Return the expression of a net: its wire, or the constant."""
    return f"n{net}" if isinstance(net, int) else f"1'b{net}"


@dataclass(frozen=True, slots=True)
class Clocking:
    """Clock, enable and reset of flip-flops that are written in one process.

    Attributes:
        clock: Expression with the edge, ``posedge n2``.
        enable: Expression; ``1'b1`` without one.
        reset: Expression; ``1'b0`` without one.
        asynchronous: The edge of the reset, if it does not wait for the clock.
        enabled_reset: Whether the reset acts only with the enable.
    """

    clock: str
    enable: str
    reset: str
    asynchronous: bool = False
    enabled_reset: bool = False


@dataclass(frozen=True, slots=True)
class FlipFlop:
    """A flip-flop: ``output`` loads ``data``, or ``value`` at a reset; initially ``start``."""

    clocking: Clocking
    output: str
    data: str
    value: int
    start: int


def expressions(cell: NetlistCell) -> list[tuple[Net, str]] | None:
    """Return an expression for each output of a cell without registers; None for another cell."""
    rule = _RULES.get(cell.kind)
    return None if rule is None else list(rule(cell))


def register(cell: NetlistCell) -> FlipFlop | None:
    """Return a cell that is a flip-flop; None for another cell."""
    if cell.kind == "TRELLIS_FF":
        return _trellis_ff(cell)
    if cell.kind in ("FDRE", "FDSE", "FDCE", "FDPE"):
        return _xilinx_ff(cell)
    found = _ICE40_FF.fullmatch(cell.kind)
    return None if found is None else _ice40_ff(cell, *found.groups())


def _inputs(cell: NetlistCell, *ports: str) -> Iterator[str]:
    return (name_of(cell.bit(port)) for port in ports)


def _lut(cell: NetlistCell) -> Iterator[tuple[Net, str]]:
    """A LUT: inputs A to D and output Z in ECP5, elsewhere I0 to I5 and O."""
    content = cell.value("INIT" if "INIT" in cell.parameters else "LUT_INIT")
    ports = "ABCD" if "Z" in cell.pins else [f"I{k}" for k in range(int(cell.kind[-1]))]
    yield cell.bit("Z" if "Z" in cell.pins else "O"), _table(content, [*map(cell.bit, ports)])


def _table(content: int, inputs: list[Net]) -> str:
    """Return a table of truth as an expression."""
    index = ", ".join(map(name_of, reversed(inputs)))
    bits = 1 << len(inputs)
    return f"1'b1 & ({bits}'h{content & ((1 << bits) - 1):x} >> {{{index}}})"


def _mux(
    low: str, high: str, select: str, output: str
) -> Callable[[NetlistCell], Iterator[tuple[Net, str]]]:
    def rule(cell: NetlistCell) -> Iterator[tuple[Net, str]]:
        chosen, one, zero = _inputs(cell, select, high, low)
        yield cell.bit(output), f"{chosen} ? {one} : {zero}"

    return rule


def _ccu2c(cell: NetlistCell) -> Iterator[tuple[Net, str]]:
    """Two stages of a carry chain of ECP5; see Lattice FPGA-TN-02032."""
    carry = name_of(cell.bit("CIN"))
    for k in "01":
        inputs = [cell.bit(f"{port}{k}") for port in "ABCD"]
        content = cell.value(f"INIT{k}")
        free = cell.text(f"INJECT1_{k}", "YES") == "YES"
        propagate = f"({_table(content, inputs)})"
        generate = "1'b0" if free else f"({_table(content & 0xF, inputs[:2])})"
        yield cell.bit(f"S{k}", "x"), propagate if free else f"{propagate} ^ {carry}"
        carry = f"({propagate} ? {carry} : {generate})"
    yield cell.bit("COUT", "x"), carry


def _carry4(cell: NetlistCell) -> Iterator[tuple[Net, str]]:
    """Four stages of a carry chain of Xilinx 7; see AMD UG474."""
    carries = [name for name in _inputs(cell, "CI", "CYINIT") if name != "1'b0"]
    carry = " | ".join(carries) or "1'b0"
    blank: tuple[Net, ...] = ("x",) * 4
    outputs, carried = cell.pins.get("O", blank), cell.pins.get("CO", blank)
    for k, (select, data) in enumerate(zip(cell.pins["S"], cell.pins["DI"], strict=True)):
        yield outputs[k], f"{name_of(select)} ^ ({carry})"
        carry = f"({name_of(select)} ? {carry} : {name_of(data)})"
        yield carried[k], carry
        if isinstance(carried[k], int):
            carry = name_of(carried[k])


def _sb_carry(cell: NetlistCell) -> Iterator[tuple[Net, str]]:
    a, b, c = _inputs(cell, "I0", "I1", "CI")
    yield cell.bit("CO"), f"({a} & {b}) | (({a} | {b}) & {c})"


def _inverter(cell: NetlistCell) -> Iterator[tuple[Net, str]]:
    yield cell.bit("O"), f"!{name_of(cell.bit('I'))}"


_RULES: Final[dict[str, Callable[[NetlistCell], Iterator[tuple[Net, str]]]]] = {
    "PFUMX": _mux("BLUT", "ALUT", "C0", "Z"),
    "L6MUX21": _mux("D0", "D1", "SD", "Z"),
    "CCU2C": _ccu2c,
    "SB_CARRY": _sb_carry,
    "CARRY4": _carry4,
    "INV": _inverter,
    "SB_LUT4": _lut,
    **{f"LUT{k}": _lut for k in range(1, 7)},
    **{f"MUXF{k}": _mux("I0", "I1", "S", "O") for k in (7, 8, 9)},
}


def _trellis_ff(cell: NetlistCell) -> FlipFlop:
    set_ = int(cell.text("REGSET", "RESET") == "SET")
    enable, reset = _selected(cell, "CE", "1"), _selected(cell, "LSR", "LSR")
    edge = "negedge" if cell.text("CLKMUX", "CLK") == "INV" else "posedge"
    clocking = Clocking(
        f"{edge} {name_of(cell.bit('CLK'))}", enable, reset, cell.text("SRMODE") == "ASYNC"
    )
    return FlipFlop(clocking, *_ends(cell, "DI"), set_, set_)


def _selected(cell: NetlistCell, port: str, default: str) -> str:
    """Return the expression of a port of an ECP5 flip-flop after the port's multiplexer."""
    choice = cell.text(f"{port}MUX", default)
    if choice in ("0", "1"):
        return f"1'b{choice}"
    inverse = "!" if choice == "INV" else ""
    return inverse + name_of(cell.bit(port))


def _xilinx_ff(cell: NetlistCell) -> FlipFlop:
    port = {"FDRE": "R", "FDSE": "S", "FDCE": "CLR", "FDPE": "PRE"}[cell.kind]
    asynchronous = port in ("CLR", "PRE")
    inverse = {p: "!" if cell.value(f"IS_{p}_INVERTED") else "" for p in ("C", "D", port)}
    edge = "negedge" if inverse["C"] else "posedge"
    clocking = Clocking(
        f"{edge} {name_of(cell.bit('C'))}",
        name_of(cell.bit("CE", "1")),
        inverse[port] + name_of(cell.bit(port)),
        asynchronous,
    )
    output, data = _ends(cell, "D")
    value = int(port in ("S", "PRE"))
    return FlipFlop(clocking, output, inverse["D"] + data, value, cell.value("INIT", value))


def _ice40_ff(cell: NetlistCell, falling: str, enabled: str, reset: str) -> FlipFlop:
    port = reset[-1:] or "R"
    asynchronous = len(reset) == 1
    clocking = Clocking(
        f"{'negedge' if falling else 'posedge'} {name_of(cell.bit('C'))}",
        name_of(cell.bit("E", "1")) if enabled else "1'b1",
        name_of(cell.bit(port)) if reset else "1'b0",
        asynchronous,
        enabled_reset=not asynchronous,
    )
    return FlipFlop(clocking, *_ends(cell, "D"), int(port == "S"), 0)


def _ends(cell: NetlistCell, data: str) -> tuple[str, str]:
    return name_of(cell.bit("Q")), name_of(cell.bit(data))
