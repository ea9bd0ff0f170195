"""The map that brings constants of ECP5's cells from beside them."""

from __future__ import annotations

import json

import pytest

from rlx.support.process import run
from rlx_fpga.devices import device, devices
from rlx_fpga.packaging.render import render
from rlx_fpga.packaging.synthesis import find_yosys, near_constants

# As the family's manual says; all words are 0 at first, unless specified otherwise.
MEMORY = """
module TRELLIS_DPR16X4 #(parameter WCKMUX = "WCK", WREMUX = "WRE", parameter [63:0] INITVAL = 0) (
  input [3:0] DI, WAD, RAD, input WRE, WCK, output [3:0] DO
);
  reg [3:0] words [0:15];
  integer k;
  initial for (k = 0; k < 16; k = k + 1) words[k] = 0;
  always @(posedge WCK) if (WRE) words[WAD] <= DI;
  assign DO = words[RAD];
endmodule
"""
SMALL = """
module {name} (input clk, write, input [3:0] data, w, r, output [3:0] found);
  TRELLIS_DPR16X4 #(.INITVAL({init})) memory (
    .DI(data), .WAD({{{write}}}), .RAD({{{read}}}), .WRE(write), .WCK(clk), .DO(found)
  );
endmodule
"""
BOTH = """
module proof (input clk, write, input [3:0] data, w, r, output equal);
  wire [3:0] one, other;
  plain is_plain (.clk(clk), .write(write), .data(data), .w(w), .r(r), .found(one));
  mapped is_mapped (.clk(clk), .write(write), .data(data), .w(w), .r(r), .found(other));
  assign equal = one == other;
endmodule
"""
MULTIPLIER = ("SIGNEDA", "SIGNEDB", "SOURCEA", "SOURCEB", "CE0", "RST0")


@pytest.fixture
def near(tmp_path):
    (tmp_path / "near.v").write_text(render("near_ecp5.v.j2"))

    def map_it(text, script):
        """Read ``text``, run ``script``, in which ``NEAR`` is the map; return the netlist."""
        (tmp_path / "design.v").write_text(text)
        steps = f"read_verilog -sv design.v; {script}; write_json out.json"
        steps = steps.replace("NEAR", "techmap -map near.v")
        run((*find_yosys().command, "-q", "-p", steps), cwd=tmp_path, timeout_s=120)
        return json.loads((tmp_path / "out.json").read_text())["modules"]

    return map_it


def small(name, tied, init="64'h0"):
    """Return a memory in which address bits are constant: ``tied`` has 0, 1 or - for each."""
    bits = {
        port: ", ".join(
            f"{port}[{3 - place}]" if bit == "-" else f"1'b{bit}" for place, bit in enumerate(tied)
        )
        for port in "wr"
    }
    return SMALL.format(name=name, write=bits["w"], read=bits["r"], init=init)


def test_only_families_whose_placer_needs_it_have_a_map():
    found = {name: list(near_constants(device(name))) for name in devices()}
    assert {name for name, paths in found.items() if paths} == {
        name for name in found if device(name).family == "ecp5"
    }
    assert found["ecp5-85k"] == ["synth/ecp5_near.v"]


@pytest.mark.synth
@pytest.mark.parametrize("tied", ["0---", "---0", "0--0", "-00-", "1-0-", "000-"])
def test_small_memories_hold_the_same_words(near, tied):
    """Proved from reset on, for all inputs of five cycles: enough to write two words and read."""
    text = MEMORY + small("plain", tied) + small("mapped", tied) + BOTH
    near(
        text,
        "NEAR mapped; prep -top proof -flatten; memory; opt; "
        "sat -verify -set-init-zero -seq 5 -prove equal 1",
    )


@pytest.mark.synth
@pytest.mark.parametrize("tied", ["0---", "0--0", "-00-", "1-0-", "000-"])
def test_no_address_bit_of_a_small_memory_is_constant(near, tied):
    cell = near(small("mapped", tied), "NEAR")["mapped"]["cells"]["memory"]
    for port in ("WAD", "RAD"):
        assert all(isinstance(bit, int) for bit in cell["connections"][port])


@pytest.mark.synth
@pytest.mark.parametrize(
    "text",
    [
        small("mapped", "----"),
        small("mapped", "0000"),
        # Words that are there from the start would have to move.
        small("mapped", "0---", init="64'h1"),
    ],
)
def test_other_memories_stay(near, text):
    assert near(text, "NEAR")["mapped"]["cells"] == near(text, "")["mapped"]["cells"]


@pytest.mark.synth
def test_multipliers_have_constants_of_their_own(near):
    text = render("multiply.v.j2", name="mul") + (
        "module top (input clk, input [7:0] x, y, output [15:0] z, q);\n"
        "  mul one (.clk(clk), .x(x), .y(y), .z(z));\n"
        "  mul two (.clk(clk), .x(y), .y(y), .z(q));\n"
        "endmodule\n"
    )
    script = "design -reset; read_verilog -sv -D RLX_ECP5 design.v; synth_ecp5 -top top; "
    cells = near(text, script + "NEAR")["top"]["cells"]
    source = {
        bit: (name, int(cell["parameters"]["INIT"], 2))
        for name, cell in cells.items()
        if cell["type"] == "LUT4"
        for bit in cell["connections"]["Z"]
    }
    blocks = [cell for cell in cells.values() if cell["type"] == "MULT18X18D"]
    assert len(blocks) == 2
    found = []
    for block in blocks:
        pins = {pin: source[block["connections"][pin][0]] for pin in MULTIPLIER}
        assert {pin: init for pin, (_, init) in pins.items()} == {
            "SIGNEDA": 0xFFFF, "SIGNEDB": 0xFFFF, "SOURCEA": 0, "SOURCEB": 0,
            "CE0": 0xFFFF, "RST0": 0,
        }  # fmt: skip
        found += {name for name, _ in pins.values()}
        settings = {name: block["parameters"][name] for name in block["parameters"]}
        assert settings["REG_PIPELINE_CLK"] == "CLK0"
    assert len(set(found)) == 4, "two for each block"
