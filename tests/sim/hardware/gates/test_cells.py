"""Cells as expressions and processes give what the models in Yosys' libraries give."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.support.errors import SimulationError
from rlx.support.process import run
from rlx_sim.hardware.gates import models
from rlx_sim.hardware.gates.logic import expressions, register
from rlx_sim.hardware.gates.netlist import CellNetlist, NetlistCell, read_netlist
from rlx_sim.hardware.gates.verilog import netlist_verilog
from rlx_sim.hardware.icarus import find_icarus
from support.messages import raises

CYCLES = 300
CLOCKS = ("CLK", "C", "RCLK", "WCLK")

LUTS = {
    "ecp5": {"LUT4": "ABCD"},
    "ice40": {"SB_LUT4": 4},
    "xc7": {f"LUT{k}": k for k in range(1, 7)},
}
GATES = {
    "ecp5": [
        ("PFUMX", ["ALUT", "BLUT", "C0"], ["Z"]), ("L6MUX21", ["D0", "D1", "SD"], ["Z"]),
        ("CCU2C", ["CIN", *(f"{p}{k}" for k in "01" for p in "ABCD")], ["S0", "S1", "COUT"]),
    ],
    "ice40": [("SB_CARRY", ["I0", "I1", "CI"], ["CO"])],
    "xc7": [
        ("MUXF7", ["I0", "I1", "S"], ["O"]), ("MUXF8", ["I0", "I1", "S"], ["O"]),
        ("INV", ["I"], ["O"]), ("CARRY4", ["CI", "CYINIT", "DI:4", "S:4"], ["O:4", "CO:4"]),
    ],
}  # fmt: skip
FLOPS = {
    "ecp5": [
        {"CEMUX": ce, "LSRMUX": lsr, "SRMODE": mode, "REGSET": value, "CLKMUX": "CLK"}
        for ce in ("1 ", "CE", "INV") for lsr in ("LSR", "INV") for mode in ("LSR_OVER_CE", "ASYNC")
        for value in ("SET", "RESET")
    ],
    "ice40": [
        f"SB_DFF{edge}{e}{r}"
        for edge in ("", "N") for e in ("", "E") for r in ("", "SR", "R", "SS", "S")
    ],
    "xc7": [
        (kind, inverted, start) for kind in ("FDRE", "FDSE", "FDCE", "FDPE")
        for inverted in "01" for start in "01"
    ],
}  # fmt: skip
RESETS = {"FDRE": "R", "FDSE": "S", "FDCE": "CLR", "FDPE": "PRE"}


class Bench:
    """Collects cells with inputs of their own, as ours and as instances of Yosys' models."""

    def __init__(self):
        self.random = np.random.default_rng(7)
        self.nets = 2  # net 1 is the clock
        self.inputs, self.cells, self.instances, self.outputs = [], [], [], []

    def bits(self, count):
        return "".join(map(str, self.random.integers(0, 2, count)))

    def add(self, kind, inputs, outputs, parameters, clock=None, constants=None):
        pins, ports = {}, []
        for port in (*inputs, *outputs):
            name, _, width = port.partition(":")
            nets = tuple(range(self.nets, self.nets + int(width or 1)))
            self.nets += len(nets)
            pins[name] = nets
            (self.inputs if port in inputs else self.outputs).extend(nets)
            side = "i" if port in inputs else "y"
            ports.append(f".{name}({{{', '.join(f'{side}[{n}]' for n in reversed(nets))}}})")
        for name, value in (constants or {}).items():
            pins[name] = (value,)
            ports.append(f".{name}(1'b{value})")
        if clock:
            pins[clock] = (1,)
            ports.append(f".{clock}(clk)")
        names = frozenset(port.partition(":")[0] for port in outputs)
        cell = NetlistCell(f"c{len(self.cells)}", kind, parameters, pins, names)
        self.cells.append(cell)
        values = ", ".join(f".{n}({models._literal(v)})" for n, v in parameters.items())
        self.instances.append(f"{kind} #({values}) c{len(self.cells)}({', '.join(ports)});")

    def texts(self, family):
        """Return the netlist as we write it, and a bench that compares it with Yosys' models."""
        ports = {f"i{n}": ("input", (n,)) for n in self.inputs}
        ports |= {f"o{n}": ("output", (n,)) for n in self.outputs}
        ports["clk"] = ("input", (1,))
        ours = netlist_verilog(CellNetlist("ours", ports, tuple(self.cells)), family)
        joined = ", ".join(
            [f".i{n}(i[{n}])" for n in self.inputs] + [f".o{n}(o[{n}])" for n in self.outputs]
        )
        checked = "\n".join(
            f'if (o[{n}] !== y[{n}]) begin $display("FAIL {n} %b", o[{n}]); $finish; end'
            for n in self.outputs
        )
        return (
            ours,
            f"""
module bench;
  reg clk = 0;
  reg [{self.nets}:0] i = 0;
  wire [{self.nets}:0] o, y;
  integer k, n;
  ours dut({joined}, .clk(clk));
  {" ".join(self.instances)}
  initial begin
    for (n = 0; n < {CYCLES}; n = n + 1) begin
      for (k = 0; k < {self.nets}; k = k + 1) i[k] = $urandom;
      #1;
      {checked}
      clk = 1; #1; clk = 0; #1;
      {checked}
    end
    $display("PASS");
    $finish;
  end
endmodule
""",
        )


def luts_and_gates(bench, family):
    for kind, inputs in LUTS[family].items():
        names = list(inputs) if isinstance(inputs, str) else [f"I{k}" for k in range(inputs)]
        for _ in range(3):
            content = bench.bits(1 << len(names))
            parameter = "LUT_INIT" if family == "ice40" else "INIT"
            bench.add(kind, names, ["Z" if family == "ecp5" else "O"], {parameter: content})
    for kind, inputs, outputs in GATES[family]:
        for inject in ("NO", "YES") if kind == "CCU2C" else ("",):
            parameters = {} if kind != "CCU2C" else {
                "INIT0": bench.bits(16), "INIT1": bench.bits(16),
                "INJECT1_0": inject, "INJECT1_1": "NO",
            }  # fmt: skip
            bench.add(kind, inputs, outputs, parameters)


def flip_flops(bench, family):
    for one in FLOPS[family]:
        if family == "ecp5":
            bench.add("TRELLIS_FF", ["CE", "LSR", "DI"], ["Q"], one, clock="CLK")
        elif family == "ice40":
            reset = one.removeprefix("SB_DFF").lstrip("NE")
            inputs = ["D", *(["E"] if "E" in one[6:] else []), *([reset[-1]] if reset else [])]
            bench.add(one, inputs, ["Q"], {}, clock="C")
        else:
            kind, inverted, start = one
            reset = RESETS[kind]
            parameters = {
                "INIT": start,
                "IS_D_INVERTED": inverted,
                f"IS_{reset}_INVERTED": inverted,
            }
            bench.add(kind, ["CE", reset, "D"], ["Q"], parameters, clock="C")


def library(bench, family):
    """Return the library's models of the cells, and of the LUTs that some of them have."""
    kinds = dict.fromkeys(cell.kind for cell in bench.cells)
    if "CCU2C" in kinds:
        kinds |= dict.fromkeys(("LUT4", "LUT2"))
    return "".join(models._library_model(models.LIBRARIES[family], kind) for kind in kinds)


@pytest.mark.sim
@pytest.mark.parametrize("cells", [luts_and_gates, flip_flops])
@pytest.mark.parametrize("family", models.FAMILIES)
def test_cells_are_those_of_the_library(tmp_path, family, cells):
    bench = Bench()
    cells(bench, family)
    assert all((expressions(cell) is None) != (register(cell) is None) for cell in bench.cells)
    ours, text = bench.texts(family)
    (tmp_path / "all.v").write_text(ours + library(bench, family) + text)
    compiler, _ = find_icarus()
    argv = [str(compiler), "-g2012", "-DNO_ICE40_DEFAULT_ASSIGNMENTS", "-s", "bench", "-o", "b.vvp"]
    run([*argv, "all.v"], cwd=tmp_path, timeout_s=300)
    done = run([str(compiler.with_name("vvp")), "-n", "b.vvp"], cwd=tmp_path, timeout_s=300)
    assert done.stdout.splitlines()[-1] == "PASS", done.stdout[-500:]


def cell(kind, parameters=(), pins=(), outputs=()):
    return NetlistCell("one", kind, dict(parameters), dict(pins), frozenset(outputs))


@pytest.mark.parametrize(
    "one",
    [
        cell("DP16KD", {"REGMODE_A": "OUTREG"}),
        cell("DP16KD", {}, {"CLKA": (4,), "CLKB": (5,)}),
        cell("RAMB18E1", {"DOA_REG": "1"}),
        cell("RAMB36E1", {"RAM_EXTENSION_A": "LOWER"}),
        cell("RAMB18E1", {"IS_ENARDEN_INVERTED": "1"}),
        cell("MULT18X18D", {"REG_OUTPUT_CLK": "CLK1"}),
    ],
)
def test_a_use_that_a_model_does_not_know_is_refused(one):
    with raises(SimulationError):
        models.instance(one)


def test_a_cell_without_a_model_is_refused():
    netlist = CellNetlist("t", {"o": ("output", (2,))}, (cell("ALU54B", {}, {"R": (2,)}, ["R"]),))
    with raises(SimulationError):
        netlist_verilog(netlist, "ecp5")


INVERTER = """{"type": "INV", "parameters": {}, "port_directions": {"I": "input", "O": "output"},
 "connections": {"I": [%s], "O": [%s]}}"""


@pytest.mark.parametrize(
    "cells",
    [{"a": (2, 3), "b": (2, 3)}, {"a": (9, 3)}, {}],
)
def test_a_net_has_one_driver(tmp_path, cells):
    text = ", ".join(f'"{name}": {INVERTER % nets}' for name, nets in cells.items())
    ports = '"i": {"direction": "input", "bits": [2]}, "o": {"direction": "output", "bits": [3]}'
    path = tmp_path / "n.json"
    path.write_text(f'{{"modules": {{"t": {{"ports": {{{ports}}}, "cells": {{{text}}}}}}}}}')
    with raises(SimulationError):
        read_netlist(path, "t")


def test_a_missing_netlist_is_reported(tmp_path):
    with raises(SimulationError):
        read_netlist(tmp_path / "n.json", "t")
