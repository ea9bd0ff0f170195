import numpy as np
import pytest
from amaranth import Module
from amaranth.back import verilog
from amaranth.lib.wiring import In, Out
from targets.fpga.harness import assert_lint_clean, run_cell
from targets.fpga.packaging.test_axi import interface

from rlx.support.process import run
from rlx_fpga.cells.multiply import (
    BLOCK_LATENCY,
    LATENCY,
    PACKINGS,
    WIDE_BITS,
    NetlistPlatform,
    Packing,
    multiply,
    multiply_dual,
    multiply_shared,
    pack_factors,
)
from rlx_fpga.cells.pipe import follow
from rlx_fpga.cells.streams import Cell, stream_of
from rlx_fpga.devices import devices
from rlx_fpga.packaging.netlist import sources_of
from rlx_fpga.packaging.render import render
from rlx_fpga.packaging.synthesis import find_yosys
from rlx_sim.hardware.verilator import lint


class Product(Cell):
    """Product of the two lanes of every beat; the consumer is never asked."""

    def __init__(self, logic=False):
        self.logic = logic
        super().__init__({"i": In(stream_of(2)), "o": Out(stream_of(1, 16))})

    def elaborate(self, platform):
        m = Module()
        x, y = self.i.payload[0], self.i.payload[1]
        m.d.comb += [
            self.i.ready.eq(1),
            self.o.valid.eq(follow(m, self.i.valid, "valid", LATENCY, reset=True)),
            self.o.payload[0].eq(multiply(m, platform, x, y, "product", logic=self.logic)),
        ]
        return m


def test_multiply_gives_products_three_cycles_later():
    x = np.random.default_rng(0).integers(-128, 128, (40, 2))
    x[:4] = [[-128, -128], [-128, 127], [127, -128], [127, 127]]
    done = run_cell(Product(), x, 40, stall_in=0.3)
    assert np.array_equal(done.output.ravel(), x.prod(axis=1))
    assert done.latency == LATENCY == BLOCK_LATENCY + 1 == 4


@pytest.mark.parametrize("logic", [False, True])
def test_multiply_is_an_instance_in_a_netlist(logic):
    text = verilog.convert(
        Product(logic), name="top", platform=NetlistPlatform("net"), emit_src=False
    )
    name = "net_multiply_logic" if logic else "net_multiply"
    assert text.count(f"  {name} #(") == 1
    assert " * " not in text


@pytest.mark.parametrize("logic", [False, True])
def test_emitted_netlists_bring_the_modules_that_multiply(logic):
    sources = sources_of(Product(logic), interface())
    name = "net_core_multiply_logic" if logic else "net_core_multiply"
    assert list(sources.modules) == [f"rtl/cells/{name}.sv"]
    assert f"module {name} #(" in sources.modules[f"rtl/cells/{name}.sv"]
    assert sources.core.count(f"  {name} #(") == 1
    # Blocks of a family whose registers synthesis does not find.
    assert ("`ifdef RLX_ECP5" in sources.modules[f"rtl/cells/{name}.sv"]) == (not logic)


def test_multiply_lint(tmp_path):
    assert_lint_clean(Product(), tmp_path)


def multipliers():
    """Return the module that multiplies and the LUT multiplier."""
    return "".join(render(f"multiply{kind}.v.j2", name=f"mul{kind}") for kind in ("", "_logic"))


PROOF = """
module proof(input clk, input [{x}-1:0] x, input [{y}-1:0] y, output equal);
  wire [{x}+{y}-1:0] block, logic_;
  mul #(.X({x}), .Y({y})) one (.clk(clk), .x(x), .y(y), .z(block));
  mul_logic #(.X({x}), .Y({y})) other (.clk(clk), .x(x), .y(y), .z(logic_));
  assign equal = block == logic_;
endmodule
"""


@pytest.mark.synth
@pytest.mark.parametrize(("x", "y"), [(8, 2), (8, 3), (8, 4), (4, 8), (5, 7)])
def test_lut_multipliers_multiply(tmp_path, x, y):
    """Proved for all operands, whatever the registers held before."""
    text = multipliers() + PROOF.format(x=x, y=y)
    (tmp_path / "proof.v").write_text(text)
    script = (
        "read_verilog -sv proof.v; prep -top proof -flatten; "
        f"sat -verify -seq {BLOCK_LATENCY + 1} -prove-skip {BLOCK_LATENCY} -prove equal 1"
    )
    run((*find_yosys().command, "-q", "-p", script), cwd=tmp_path, timeout_s=120)


WAIVERS = """`verilator_config
lint_off -rule DECLFILENAME -file "*top.sv"
lint_off -rule DECLFILENAME -file "*mul.sv"
lint_off -rule UNUSEDSIGNAL -file "*mul.sv"
"""
"""Those that emitted designs have, and one for the names of the files here."""

LINTED = """
module top (
    input wire clk, input wire signed [{x}-1:0] x, input wire signed [{y}-1:0] y,
    output wire signed [{x}+{y}-1:0] z
);
  mul_logic #(.X({x}), .Y({y})) product (.clk(clk), .x(x), .y(y), .z(z));
endmodule
"""


@pytest.mark.sim
@pytest.mark.parametrize(("x", "y"), [(8, 2), (8, 3), (7, 7), (4, 8), (5, 6)])
def test_lut_multipliers_have_no_width_to_guess(tmp_path, x, y):
    (tmp_path / "mul.sv").write_text(render("multiply_logic.v.j2", name="mul_logic"))
    (tmp_path / "top.sv").write_text(LINTED.format(x=x, y=y))
    (tmp_path / "lint.vlt").write_text(WAIVERS)
    lint(["lint.vlt", "mul.sv", "top.sv"], "top", cwd=tmp_path)


# As the family's manual says, with all registers in use; Yosys brings only its ports.
PINS = ", ".join(f"input A{k}, B{k}, C{k}" for k in range(18))
RESULTS = ", ".join(f"output P{k}" for k in range(36))
MULT18X18D = f"""
module MULT18X18D #(
  parameter REG_INPUTA_CLK = "", REG_INPUTB_CLK = "", REG_PIPELINE_CLK = "", REG_OUTPUT_CLK = ""
) (
  {PINS},
  input CLK0, CE0, RST0, SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
  {RESULTS}
);
  wire signed [17:0] a = {{{", ".join(f"A{k}" for k in reversed(range(18)))}}};
  wire signed [17:0] b = {{{", ".join(f"B{k}" for k in reversed(range(18)))}}};
  reg signed [17:0] held_a, held_b;
  reg signed [35:0] inner, outer;
  always @(posedge CLK0) begin
    held_a <= a;
    held_b <= b;
    inner <= held_a * held_b;
    outer <= inner;
  end
  assign {{{", ".join(f"P{k}" for k in reversed(range(36)))}}} = outer;
endmodule
"""


@pytest.mark.synth
@pytest.mark.parametrize(("x", "y"), [(4, 4), (5, 3), (2, 6)])
def test_the_block_of_ecp5_gives_products(tmp_path, x, y):
    """Proved for all operands: they stand on the left of the block's, their product too."""
    text = multipliers() + PROOF.format(x=x, y=y) + MULT18X18D
    (tmp_path / "proof.v").write_text(text)
    script = (
        "read_verilog -sv -D RLX_ECP5 proof.v; prep -top proof -flatten; opt -full; "
        f"sat -verify -seq {BLOCK_LATENCY + 1} -prove-skip {BLOCK_LATENCY} -prove equal 1"
    )
    run((*find_yosys().command, "-q", "-p", script), cwd=tmp_path, timeout_s=120)


class Pair(Cell):
    """Products of lane 0 with lanes 1 and 2, or of lanes 0 and 1 and of lanes 0 and 2."""

    def __init__(self, packing):
        self.packing = packing
        super().__init__({"i": In(stream_of(3, 9)), "o": Out(stream_of(2, 16))})

    def elaborate(self, platform):
        m = Module()
        x, one, other = (self.i.payload[lane] for lane in range(3))
        x = x[:8].as_signed()
        if self.packing is Packing.SHARED_OPERAND:
            found = multiply_shared(m, platform, x, (one, other), 8, "product")
        else:
            one, other = one[:8].as_signed(), other[:8].as_signed()
            found = multiply_dual(m, platform, (x, one), (x, other), "product")
        m.d.comb += [
            self.i.ready.eq(1),
            self.o.valid.eq(follow(m, self.i.valid, "valid", LATENCY, reset=True)),
        ]
        m.d.comb += [self.o.payload[lane].eq(product) for lane, product in enumerate(found)]
        return m


PAIRED = [Packing.SHARED_OPERAND, Packing.INDEPENDENT]


@pytest.mark.parametrize("packing", PAIRED)
def test_two_products_come_from_one_block(packing):
    x = np.random.default_rng(0).integers(-128, 128, (60, 3))
    x[:8] = np.array(np.meshgrid(*[[-128, 127]] * 3)).reshape(3, 8).T
    packed = x.copy()
    if packing is Packing.SHARED_OPERAND:
        packed[:, 1:] = pack_factors(x[:, 1:, None])[..., 0]
    done = run_cell(Pair(packing), packed, 60, stall_in=0.3)
    assert np.array_equal(done.output, x[:, :1] * x[:, 1:])
    assert done.latency == LATENCY


def test_both_products_can_be_cut_out_of_one_for_all_bytes():
    codes = np.arange(-128, 128)
    factors = np.array(np.meshgrid(codes, codes)).reshape(2, -1)
    first, second = pack_factors(factors.T[..., None])[..., 0].T
    # Written side by side: the first one with copies of its sign.
    wide = (second << 16) + (first & 0xFFFF)
    assert np.array_equal(wide, (factors[1] << 16) + factors[0])
    assert -(1 << (WIDE_BITS - 1)) <= wide.min() <= wide.max() < 1 << (WIDE_BITS - 1)
    for x in codes:
        total = wide * x + (1 << 15)
        assert np.array_equal((total & 0xFFFF) - (1 << 15), factors[0] * x)
        assert np.array_equal(total >> 16, factors[1] * x)


def test_factors_are_packed_in_pairs_and_an_odd_one_stays():
    factors = np.array([[[-3, 3], [5, 5], [-1, -128], [-128, -128], [-7, 7]]], np.int8)
    assert pack_factors(factors).tolist() == [[[-3, 3], [4, 5], [-1, -128], [-129, -129], [-7, 7]]]


def test_packing_is_known_for_every_family():
    assert {one.family for one in devices().values()} == set(PACKINGS)


@pytest.mark.parametrize("packing", PAIRED)
def test_emitted_netlists_bring_the_modules_of_pairs_that_they_need(packing):
    modules = sources_of(Pair(packing), interface()).modules
    paths = [path for path in modules if path != "rtl/cells/net_core_multiply.sv"]
    assert paths == [f"rtl/cells/net_core_multiply_{packing.value}.sv"]
    assert ("SB_MAC16" in modules[paths[0]]) == (packing is Packing.INDEPENDENT)


@pytest.mark.parametrize("packing", PAIRED)
def test_pair_lint(packing, tmp_path):
    assert_lint_clean(Pair(packing), tmp_path)


SHARED = """
module proof(input clk, input signed [{x}-1:0] x, input signed [{y}-1:0] first, second,
             output equal);
  localparam SHIFT = {x} + {y};
  wire signed [SHIFT+{y}:0] wide = (second <<< SHIFT) + first;
  wire signed [SHIFT-1:0] low, high, one, other;
  mul_shared #(.X({x}), .Y(SHIFT+{y}+1), .SHIFT(SHIFT)) pair (
      .clk(clk), .x(x), .y(wide), .low(low), .high(high));
  mul #(.X({x}), .Y({y})) a (.clk(clk), .x(x), .y(first), .z(one));
  mul #(.X({x}), .Y({y})) b (.clk(clk), .x(x), .y(second), .z(other));
  assign equal = low == one && high == other;
endmodule
"""

DUAL = """
module proof(input clk, input signed [3:0] x0, y0, x1, y1, output equal);
  wire signed [15:0] one, other, low, high;
  wire signed [7:0] a = x0 {shift}, b = y0 {shift}, c = x1 {shift}, d = y1 {shift};
  mul_dual pair (.clk(clk), .x0(a), .y0(b), .x1(c), .y1(d), .z0(low), .z1(high));
  mul #(.X(8), .Y(8)) first (.clk(clk), .x(a), .y(b), .z(one));
  mul #(.X(8), .Y(8)) second (.clk(clk), .x(c), .y(d), .z(other));
  assign equal = low == one && high == other;
endmodule
"""

BLOCK = "read_verilog -defer +/ice40/cells_sim.v; read_verilog -sv -D RLX_ICE40 proof.v"


def prove(folder, kind, proof, read="read_verilog -sv proof.v"):
    modules = [render(f"multiply{name}.v.j2", name=f"mul{name}") for name in ("", f"_{kind}")]
    (folder / "proof.v").write_text("".join(modules) + proof)
    script = (
        f"{read}; prep -top proof -flatten; async2sync; opt -full; "
        f"sat -verify -seq {BLOCK_LATENCY + 1} -prove-skip {BLOCK_LATENCY} -prove equal 1"
    )
    run((*find_yosys().command, "-q", "-p", script), cwd=folder, timeout_s=120)


@pytest.mark.synth
@pytest.mark.parametrize(("x", "y"), [(3, 3), (4, 3), (2, 4)])
def test_pairs_with_a_common_operand_are_both_products(tmp_path, x, y):
    """Proved for all operands, whatever the registers held before."""
    prove(tmp_path, "shared", SHARED.format(x=x, y=y))


MOVING = """
module proof(input clk, input en, input [1:0] x_high, x_low, y_high, y_low, output equal);
  wire [{x}-1:0] x = {{x_high, {{{x}-4{{1'b0}}}}, x_low}};
  wire [{y}-1:0] y = {{y_high, {{{y}-4{{1'b0}}}}, y_low}};
  wire [{x}+{y}-1:0] one, other;
  products #(.X({x}), .Y({y}), .X_SIGNED({xs}), .Y_SIGNED({ys}), .STAGES({stages})) a (
      .clk(clk), .en(en), .x(x), .y(y), .z(one));
  block #(.X({x}), .Y({y}), .X_SIGNED({xs}), .Y_SIGNED({ys}), .STAGES({stages})) b (
      .clk(clk), .en(en), .x(x), .y(y), .z(other));
  assign equal = one == other;
endmodule
"""


def prove_ice40(folder, template, proof, cycles):
    """Prove that the products of a module and its instance of Yosys's own model are equal.

    From registers that are 0, for so many cycles.
    """
    for name in ("products", "block"):
        (folder / f"{name}.v").write_text(render(template, name=name))
    (folder / "proof.v").write_text(proof)
    script = (
        "read_verilog -defer +/ice40/cells_sim.v; read_verilog -sv products.v proof.v; "
        "read_verilog -sv -D RLX_ICE40 block.v; "
        "prep -top proof -flatten; async2sync; opt -full; "
        f"sat -verify -seq {cycles} -set-init-zero -prove equal 1"
    )
    run((*find_yosys().command, "-q", "-p", script), cwd=folder, timeout_s=120)


@pytest.mark.synth
@pytest.mark.parametrize(
    ("x", "y", "signs", "stages"),
    [
        (8, 8, (1, 1), 1),
        (9, 9, (1, 1), 2),
        (8, 8, (1, 1), 4),
        (16, 16, (0, 0), 2),
        (16, 16, (1, 0), 2),
        (16, 15, (0, 1), 3),
        (13, 18, (0, 0), 2),
        (17, 17, (1, 1), 4),
        (18, 8, (1, 1), 4),
        (9, 17, (1, 0), 2),
        (18, 18, (1, 1), 3),
        (18, 18, (0, 0), 2),
    ],
)
def test_the_block_of_ice40_gives_products(tmp_path, x, y, signs, stages):
    """Proved for the outer bits of the operands, with any enables."""
    proof = MOVING.format(x=x, y=y, xs=signs[0], ys=signs[1], stages=stages)
    prove_ice40(tmp_path, "multiply_ice40.v.j2", proof, 6)


SUMMED = """
module proof(input clk, input take, first, input signed [3:0] x, y, output equal);
  wire signed [7:0] a = x {shift}, b = y {shift};
  wire signed [31:0] one, other;
  products p (.clk(clk), .x(a), .y(b), .take(take), .first(first), .z(one));
  block q (.clk(clk), .x(a), .y(b), .take(take), .first(first), .z(other));
  assign equal = one == other;
endmodule
"""


@pytest.mark.synth
@pytest.mark.parametrize("shift", ["", "<<< 4"])
def test_the_block_of_ice40_gives_sums_of_products(tmp_path, shift):
    prove_ice40(tmp_path, "multiply_sum_ice40.v.j2", SUMMED.format(shift=shift), 5)


@pytest.mark.synth
@pytest.mark.parametrize("shift", ["", "<<< 4"])
@pytest.mark.parametrize("read", ["read_verilog -sv proof.v", BLOCK], ids=["products", "block"])
def test_pairs_with_nothing_in_common_are_both_products(tmp_path, read, shift):
    """Proved for the low and for the high halves of bytes, with Yosys's model of the block too."""
    prove(tmp_path, "dual", DUAL.format(shift=shift), read)
