"""A netlist as Verilog that compiles fast: expressions and processes, instances of models.

Tests: tests/sim/hardware/gates/test_cells.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.support.errors import SimulationError
from rlx_sim.hardware.gates.logic import expressions, name_of, register
from rlx_sim.hardware.gates.models import FAMILIES, instance, is_modeled, model_verilog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx_sim.hardware.gates.logic import Clocking, FlipFlop
    from rlx_sim.hardware.gates.netlist import CellNetlist, NetlistCell


def netlist_verilog(netlist: CellNetlist, family: str) -> str:
    """Return a netlist and the models of its cells.

    Args:
        netlist: The netlist.
        family: Family of its cells: a key of ``rlx_sim.hardware.gates.models.LIBRARIES``.

    Raises:
        SimulationError: A cell lacks a model, or is used in a way that its model does not cover.
        ToolMissingError: Yosys' libraries are not there.
    """
    registers: dict[Clocking, list[FlipFlop]] = {}
    modeled: list[NetlistCell] = []
    body: list[str] = []
    for cell in netlist.cells:
        driven = expressions(cell)
        flop = register(cell)
        if driven is not None:
            body += [f"wire n{net} = {text};" for net, text in driven if isinstance(net, int)]
        elif flop is not None:
            registers.setdefault(flop.clocking, []).append(flop)
        elif is_modeled(cell, family):
            modeled.append(cell)
        else:
            raise SimulationError(
                f"no model covers the cell {cell.kind} of {FAMILIES[family]}",
                where="netlist",
            )
    body += [line for clocking, group in registers.items() for line in _process(clocking, group)]
    body += [line for index, cell in enumerate(modeled) for line in _instance(index, cell)]
    ports = ", ".join(netlist.ports)
    models = model_verilog({cell.kind for cell in modeled}, family)
    lines = [f"module {netlist.top}({ports});", *_ports(netlist), *_ordered(body), "endmodule", ""]
    return "\n".join(lines) + models


def _ordered(body: list[str]) -> list[str]:
    """Return lines with declarations first: a net may be read above the cell that drives it."""
    wires = [line.split(" = ", 1) for line in body if line.startswith("wire ") and " = " in line]
    declared = [f"{left};" for left, _ in wires]
    assigned = [f"assign {left.removeprefix('wire ')} = {right}" for left, right in wires]
    other = [line for line in body if line.startswith(("reg ", "wire ")) and " = " not in line]
    rest = [line for line in body if not line.startswith(("wire ", "reg "))]
    return [*declared, *other, *assigned, *rest]


def _ports(netlist: CellNetlist) -> Iterator[str]:
    for name, (direction, bits) in netlist.ports.items():
        yield f"{direction} wire [{len(bits) - 1}:0] {name};"
        if direction == "input":
            for index, net in enumerate(bits):
                yield f"wire n{net} = {name}[{index}];"
        else:
            yield f"assign {name} = {{{', '.join(map(name_of, reversed(bits)))}}};"


def _process(clocking: Clocking, group: list[FlipFlop]) -> Iterator[str]:
    """Yield flip-flops with the same clock, enable and reset."""
    for flip_flop in group:
        yield f"reg {flip_flop.output};"
    yield "initial begin"
    for flip_flop in group:
        yield f"{flip_flop.output} = {flip_flop.start};"
    yield "end"
    updates = [f"{flip_flop.output} <= {flip_flop.data};" for flip_flop in group]
    resets = [f"{flip_flop.output} <= {flip_flop.value};" for flip_flop in group]
    reset, enable = clocking.reset, clocking.enable
    edges = clocking.clock
    if clocking.asynchronous and reset != "1'b0":
        edge = "negedge" if reset.startswith("!") else "posedge"
        edges += f" or {edge} {reset.removeprefix('!')}"
    yield f"always @({edges})"
    guard = "" if enable == "1'b1" else f"if ({enable}) "
    if reset == "1'b0":
        yield f"{guard}begin"
        yield from updates
    elif clocking.enabled_reset:
        yield f"{guard}if ({reset}) begin"
        yield from [*resets, "end else begin", *updates]
    else:
        yield f"if ({reset}) begin"
        yield from [*resets, f"end else {guard}begin", *updates]
    yield "end"


def _instance(index: int, cell: NetlistCell) -> Iterator[str]:
    """Yield an instance of a model."""
    parameters, pins = instance(cell)
    outputs = {port for port in pins if port in cell.outputs or f"{port}0" in cell.outputs}
    for port in sorted(outputs):
        for net in pins[port]:
            if isinstance(net, int):
                yield f"wire n{net};"
    values = ",\n".join(f".{name}({value})" for name, value in parameters.items())
    wires = {port: ", ".join(map(name_of, reversed(bits))) for port, bits in pins.items()}
    connected = ",\n".join(f".{port}({{{nets}}})" for port, nets in wires.items())
    yield f"{cell.kind} {f'#({values}) ' if values else ''}u{index}({connected});"
