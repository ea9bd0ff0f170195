import numpy as np
import pytest
from amaranth import Module
from amaranth.back import verilog
from amaranth.lib.wiring import In, Out
from targets.fpga.harness import assert_lint_clean, run_cell
from targets.fpga.test_axi import interface

from rlx.process import run
from rlx_fpga.cells.multiply import LATENCY, Netlist, multiply
from rlx_fpga.cells.pipe import follow
from rlx_fpga.cells.streams import Cell, stream_of
from rlx_fpga.emit import netlist
from rlx_fpga.render import render
from rlx_fpga.synthesis import find_yosys


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
    assert done.latency == LATENCY == 3


@pytest.mark.parametrize("logic", [False, True])
def test_multiply_is_an_instance_in_a_netlist(logic):
    text = verilog.convert(Product(logic), name="top", platform=Netlist("net"), emit_src=False)
    name = "net_multiply_logic" if logic else "net_multiply"
    assert text.count(f"  {name} #(") == 1
    assert " * " not in text


@pytest.mark.parametrize("logic", [False, True])
def test_emitted_netlists_bring_the_modules_that_multiply(logic):
    text = netlist(Product(logic), interface())
    name = "net_core_multiply_logic" if logic else "net_core_multiply"
    assert text.count(f"module {name} #(") == 1
    assert text.count(f"  {name} #(") == 1
    # Blocks of a family whose registers synthesis does not find.
    assert "`ifdef RLX_ECP5" in text


def test_multiply_lint(tmp_path):
    assert_lint_clean(Product(), tmp_path)


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
def test_products_of_lookup_tables_are_products(tmp_path, x, y):
    """Proved for all operands, whatever the registers held before."""
    text = render("multiply.v.j2", name="mul") + PROOF.format(x=x, y=y)
    (tmp_path / "proof.v").write_text(text)
    script = (
        "read_verilog -sv proof.v; prep -top proof -flatten; "
        f"sat -verify -seq {LATENCY + 1} -prove-skip {LATENCY} -prove equal 1"
    )
    run((*find_yosys().command, "-q", "-p", script), cwd=tmp_path, timeout_s=120)
