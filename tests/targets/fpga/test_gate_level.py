"""What synthesis makes of products is what the hardware says: the mapped netlist, simulated."""

import re

import pytest
from amaranth import Const, Module, Signal, signed
from amaranth.lib.wiring import Component, In, Out

from rlx.process import run
from rlx_fpga.cells.multiply import (
    multiply,
    multiply_dual,
    multiply_moving,
    multiply_sum,
)
from rlx_fpga.devices import device
from rlx_fpga.packaging.axi import Interface
from rlx_fpga.packaging.netlist import sources_of
from rlx_fpga.packaging.synthesis import find_yosys, synthesis_script

pytestmark = pytest.mark.synth

DEVICE = device("ice40-up5k")
CYCLES = 60


class Products(Component):
    """Every way to multiply on iCE40, and a product with two registers, left to synthesis."""

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


def wrapper(name, core, ports):
    """Return a module with the ports of ``core``, and an instance of it called ``u_core``."""
    pins = ", ".join(
        f"{'input' if flow == In else 'output'} [{bits - 1}:0] {port}" for port, bits, flow in ports
    )
    wires = ", ".join(f".{port}({port})" for port, _, _ in ports)
    instance = f"  {core} u_core({wires}, .clk(clk), .rst(rst));\n"
    return f"module {name}({pins}, input clk, input rst);\n{instance}endmodule\n"


BENCH = """
module bench(input clk, output equal);
  reg [31:0] state;
  always @(posedge clk) state <= (state << 16) + (state << 4) + (state << 1) - state + 32'h3c6ef35f;
  wire [7:0] x = &state[31:30] ? 8'h80 : state[29:22];
  wire [7:0] y = &state[21:20] ? 8'h80 : state[19:12];
  wire [{bits}:0] one, other;
  net_top gold(.clk(clk), .rst(1'b0), .x(x), .y(y), .move(state[11]), {one});
  gate gate(.clk(clk), .rst(1'b0), .x(x), .y(y), .move(state[11]), {other});
  assign equal = one == other;
endmodule
"""


def mapped(folder):
    """Map ``Products`` by the emitted script, and return the ports of its results."""
    component = Products()
    sources = sources_of(component, Interface("net", (), ()), family=DEVICE.family)
    files = {**sources.modules, "rtl/net_core.sv": sources.core}
    ports = [
        (name, len(getattr(component, name)), member.flow)
        for name, member in component.signature.members.items()
    ]
    files["rtl/net_top.sv"] = wrapper("net_top", "net_core", ports)
    files["synth/net_top_pins.sv"] = wrapper("net_top_pins", "net_top", ports)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    paths = [path for path in files if path.startswith("rtl/")]
    script = synthesis_script(paths, "net_top", DEVICE)
    counted, _, _ = script.partition("setattr -mod -unset keep_hierarchy")
    last = "check -assert\nselect -module net_top\nwrite_verilog -noattr -selected gate.v\n"
    (folder / "map.ys").write_text(counted + last)
    run((*find_yosys().command, "-q", "-s", "map.ys"), cwd=folder, timeout_s=300)
    (folder / "gold.v").write_text("".join(files[path] for path in paths))
    return [(name, bits) for name, bits, flow in ports if flow == Out]


def compare(folder, results):
    """Run text and netlist side by side on pseudo-random operands: the solver only computes."""
    places, bits = {}, 0
    for name, size in results:
        places[name] = f"[{bits + size - 1}:{bits}]"
        bits += size
    joined = {
        side: ", ".join(f".{name}({side}{place})" for name, place in places.items())
        for side in ("one", "other")
    }
    (folder / "bench.v").write_text(BENCH.format(bits=bits - 1, **joined))
    gate = re.sub(r"^module net_top\(", "module gate(", (folder / "gate.v").read_text(), flags=re.M)
    (folder / "gate.v").write_text(gate)
    script = (
        "read_verilog -defer +/ice40/cells_sim.v; read_verilog -sv gold.v bench.v; "
        "read_verilog gate.v; "
        "prep -top bench -flatten; async2sync; opt -full; "
        f"sat -verify -seq {CYCLES} -set-init-zero -prove equal 1"
    )
    run((*find_yosys().command, "-q", "-p", script), cwd=folder, timeout_s=300)


def test_products_of_ice40_survive_synthesis(tmp_path):
    results = mapped(tmp_path)
    compare(tmp_path, results)
    assert (tmp_path / "gate.v").read_text().count("SB_MAC16 #(") == 4
