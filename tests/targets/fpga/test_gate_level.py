"""Netlists of products compute what the hardware says: mapped by synthesis, simulated.

Text and netlist run side by side on pseudo-random inputs, in Yosys: all inputs are known, so that
its solver only computes.
"""

import re

import pytest
from amaranth import Const, Module, Signal, signed
from amaranth.hdl._ir import PortDirection
from amaranth.lib.wiring import Component, In, Out

from rlx.support.process import run
from rlx_fpga.architectures.engine.scale import AnyRounding, Requantizer
from rlx_fpga.cells.arith import Product
from rlx_fpga.cells.divide import Divide
from rlx_fpga.cells.multiply import multiply, multiply_dual, multiply_moving, multiply_sum
from rlx_fpga.devices import device
from rlx_fpga.packaging.axi import Interface
from rlx_fpga.packaging.netlist import ports_of, sources_of
from rlx_fpga.packaging.synthesis import find_yosys, synthesis_script

pytestmark = pytest.mark.synth

DEVICE = device("ice40-up5k")
CYCLES = 16
WORD = 16


class Products(Component):
    """Every way to multiply on iCE40, and a product with two registers, left to synthesis."""

    multipliers = 4

    def __init__(self):
        results = {"plain": 16, "held": 16, "moved": 16, "low": 16, "high": 16, "sum": 32}
        super().__init__({
            "x": In(signed(8)), "y": In(signed(8)), "move": In(1),
            **{name: Out(signed(bits)) for name, bits in results.items()},
        })  # fmt: skip

    def elaborate(self, platform):
        m = Module()
        x, y = self.x, self.y
        first = Signal(signed(16))
        m.d.sync += [first.eq(x * y), self.plain.eq(first)]
        m.d.comb += [
            self.held.eq(multiply(m, platform, x, y, "held_block")),
            self.moved.eq(multiply_moving(m, platform, x, y, "moved_block", move=self.move)),
            self.sum.eq(multiply_sum(m, platform, (x, y), self.move, Const(0), "sum_block")),
        ]
        low, high = multiply_dual(m, platform, (x, y), (y, x), "dual")
        m.d.comb += [self.low.eq(low), self.high.eq(high)]
        return m


# The family of the text that the netlist is compared with: without one, products are operators.
DESIGNS = {
    "products": (Products, "ice40"),
    "elementwise": (lambda: Product(1, 3, -4), ""),
    "wide division": (lambda: Divide(1, 24, (9000,), bound=128 * 9000), ""),
    "requantizer of the engine": (Requantizer, ""),
    "requantizer for every rounding": (AnyRounding, ""),
}


def wrapper(name, inner, ports):
    """Return a module with ``ports`` and an instance of ``inner`` called ``u_core``."""
    pins = ", ".join(
        f"{direction} [{bits - 1}:0] {port}" for port, (bits, direction) in ports.items()
    )
    wires = ", ".join(f".{port}({port})" for port in (*ports, "clk", "rst"))
    return f"module {name}({pins}, input clk, input rst);\n  {inner} u_core({wires});\nendmodule\n"


def texts(component, family, ports):
    """Return the sources of a core and of a wrapper around it, by path."""
    sources = sources_of(component, Interface("net", (), ()), family=family)
    top = {"rtl/net_top.sv": wrapper("net_top", "net_core", ports)}
    return {**sources.modules, "rtl/net_core.sv": sources.core, **top}


def map_by_emitted_script(folder, files, ports):
    """Leave the netlist of ``files`` in ``gate.v``, as the script of an emitted folder maps it."""
    pins = {"synth/net_top_pins.sv": wrapper("net_top_pins", "net_top", ports)}
    for path, text in (files | pins).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    counted, _, _ = synthesis_script(list(files), "net_top", DEVICE).partition(
        "setattr -mod -unset keep_hierarchy"
    )
    last = "check -assert\nselect -module net_top\nwrite_verilog -noattr -selected gate.v\n"
    (folder / "map.ys").write_text(counted + last)
    run((*find_yosys().command, "-q", "-s", "map.ys"), cwd=folder, timeout_s=300)
    text = (folder / "gate.v").read_text()
    (folder / "gate.v").write_text(re.sub(r"(?m)^module net_top\(", "module gate(", text))


def bench(ports):
    """Return a module that drives text and netlist alike; ``equal`` compares all outputs."""
    inputs = {name: bits for name, (bits, direction) in ports.items() if direction == "input"}
    total, outputs = sum(inputs.values()), sum(bits for bits, _ in ports.values())
    words = -(-total // WORD)
    lines = [f"module bench(input clk, output equal);\n  wire [{words * WORD - 1}:0] drawn;"]
    lines += [
        f"  reg [31:0] state_{n};\n"
        f"  always @(posedge clk)\n"
        f"    state_{n} <= 32'd1664525 * state_{n} + 32'd{1013904223 + 2 * n};\n"
        f"  assign drawn[{WORD * n} +: {WORD}] = state_{n}[31 -: {WORD}];"
        for n in range(words)
    ]
    lines.append(f"  wire [{outputs - 1}:0] one, other;")
    for module, wires in (("net_top", "one"), ("gate", "other")):
        place = taken = 0
        pins = []
        for name, (bits, direction) in ports.items():
            if direction == "input":
                pins.append(f".{name}(drawn[{taken} +: {bits}])")
                taken += bits
            else:
                pins.append(f".{name}({wires}[{place} +: {bits}])")
                place += bits
        lines.append(f"  {module} u_{wires}({', '.join(pins)}, .clk(clk), .rst(1'b0));")
    return "\n".join([*lines, "  assign equal = one == other;\nendmodule\n"])


@pytest.mark.parametrize("name", DESIGNS)
def test_products_of_ice40_survive_synthesis(tmp_path, name):
    make, family = DESIGNS[name]
    component = make()
    ports = {
        name: (len(value), "input" if direction is PortDirection.Input else "output")
        for name, (value, direction) in ports_of(component).items()
    }
    map_by_emitted_script(tmp_path, texts(component, "ice40", ports), ports)
    gold = "".join(texts(make(), family, ports).values())
    (tmp_path / "gold.v").write_text(gold + bench(ports))
    script = (
        "read_verilog -defer +/ice40/cells_sim.v; read_verilog -sv gold.v; read_verilog gate.v; "
        "prep -top bench -flatten; async2sync; opt -full; "
        f"sat -verify -seq {CYCLES} -set-init-zero -prove equal 1"
    )
    run((*find_yosys().command, "-q", "-p", script), cwd=tmp_path, timeout_s=300)
    assert (tmp_path / "gate.v").read_text().count("SB_MAC16 #(") == component.multipliers
