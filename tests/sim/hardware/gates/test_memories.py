"""Block RAMs and products that Yosys maps compute, with our models, what their source computes."""

from __future__ import annotations

import pytest

from rlx.support.process import run
from rlx_fpga.devices import device
from rlx_fpga.packaging.synthesis import synthesize
from rlx_sim.hardware.gates.models import instance
from rlx_sim.hardware.gates.netlist import NetlistCell, read_netlist
from rlx_sim.hardware.gates.verilog import netlist_verilog
from rlx_sim.hardware.icarus import find_icarus

DEVICES = {"ecp5": "ecp5-25k", "ice40": "ice40-up5k", "xc7": "artix7-35t"}
CELLS = {"ecp5": {"DP16KD", "MULT18X18D"}, "ice40": {"SB_RAM40_4K"},
         "xc7": {"RAMB18E1", "RAMB36E1", "DSP48E1"}}  # fmt: skip

WORDS = (
    (2, 2048),
    (4, 1024),
    (8, 512),
    (9, 2048),
    (16, 512),
    (18, 256),
    (32, 512),
    (36, 512),
    (72, 512),
)
"""Width and depth of the memories."""

MEMORY = """
module memory #(parameter W = 8, parameter D = 16, parameter OLD = 0) (
    input clk, input write, input read, input [11:0] a, input [11:0] b, input [W-1:0] data,
    output reg [W-1:0] q);
  (* ram_style = "block" *) reg [W-1:0] words[0:D-1];
  integer k;
  initial begin
    for (k = 0; k < D; k = k + 1) words[k] = {3{k * 32'd2654435761}};
    q = 0;
  end
  always @(posedge clk) begin
    if (write) words[a % D] <= data;
    if (read) q <= OLD || !(write && a % D == b % D) ? words[b % D] : {W{1'bx}};
  end
endmodule
module product(input clk, input signed [17:0] x, y, output signed [35:0] z, output reg [23:0] u);
  assign z = x * y;
  always @(posedge clk) u <= x[11:0] * y[11:0];
endmodule
"""


def design():
    """Return a module of memories of all sizes with their own write enables, and two products."""
    parts = [
        f"memory #({w}, {d}) m{w}_{d}(clk, we[{k}], we[{k + 16}], a, b, data[{w - 1}:0],"
        f" q[{72 * k + w - 1}:{72 * k}]);\n  assign q[{72 * k + 71}:{72 * k + w}] = 0;"
        if w < 72
        else f"memory #({w}, {d}) m{w}_{d}(clk, we[{k}], we[{k + 16}], a, b, data[71:0],"
        f" q[{72 * k + 71}:{72 * k}]);"
        for k, (w, d) in enumerate(WORDS)
    ]
    count = len(WORDS)
    lines = "\n  ".join(parts)
    return f"""{MEMORY}
module t(input clk, input [31:0] we, input [11:0] a, b, input [71:0] data,
    output [{72 * count - 1}:0] q, output signed [35:0] z, output [23:0] u);
  {lines}
  product p(clk, data[17:0], data[35:18], z, u);
endmodule
"""


BENCH = """
module bench;
  reg clk = 0; reg [31:0] we = 0; reg [11:0] a = 0, b = 0; reg [71:0] data = 0;
  wire [%(bits)d:0] q, q2; wire [35:0] z, z2; wire [23:0] u, u2;
  source dut(clk, we, a, b, data, q, z, u);
  t mapped(.clk(clk), .we(we), .a(a), .b(b), .data(data), .q(q2), .z(z2), .u(u2));
  integer n, k, known = 0;
  initial begin
    for (n = 0; n < 1200; n = n + 1) begin
      we = $urandom; data = {$urandom, $urandom, $urandom};
      a = n %% 3 == 0 ? $urandom : n; b = n %% 5 == 0 ? a : $urandom;
      #1 clk = 1; #1;
      for (k = 0; k <= %(bits)d; k = k + 1)
        if (q[k] !== 1'bx) begin
          known = known + 1;
          if (q[k] !== q2[k]) begin
            $display("FAIL: bit %%0d of memory %%0d in cycle %%0d", k %% 72, k / 72, n); $finish;
          end
        end
      if (z !== z2 || u !== u2) begin $display("FAIL: product"); $finish; end
      clk = 0;
    end
    $display("PASS %%0d", known);
    $finish;
  end
endmodule
"""


@pytest.mark.synth
@pytest.mark.parametrize("family", DEVICES)
def test_mapped_memories_and_products_are_their_source(tmp_path, family):
    chosen = device(DEVICES[family])
    text = design()
    low, high = 72 * len(WORDS), 72 * len(WORDS) + 59
    pins = (
        "module t_pins(input clk, input d, output o);\n"
        f"  reg [127:0] i; wire [{high}:0] w; reg [{high}:0] r;\n"
        "  always @(posedge clk) begin i <= {i, d}; r <= {r, 1'b0} ^ w; end\n  assign o = ^r;\n"
        "  t u_top(clk, i[31:0], i[43:32], i[55:44], i[127:56],"
        f" w[{low - 1}:0], w[{low + 35}:{low}], w[{high}:{low + 36}]);\nendmodule\n"
    )
    files = {"rtl/t.v": text, "synth/t_pins.sv": pins}
    found = synthesize(files, ["rtl/t.v"], "t", chosen, netlist=True, keep=tmp_path)
    assert CELLS[family] <= set(found["cells"])
    mapped = netlist_verilog(read_netlist(tmp_path / f"{chosen.name}_netlist.json", "t"), family)
    source = text.replace("module t(", "module source(")
    bench = BENCH % {"bits": 72 * len(WORDS) - 1}
    (tmp_path / "all.v").write_text(mapped + source + bench)
    compiler, _ = find_icarus()
    run(
        [str(compiler), "-g2012", "-s", "bench", "-o", "b.vvp", "all.v"],
        cwd=tmp_path,
        timeout_s=300,
    )
    done = run([str(compiler.with_name("vvp")), "-n", "b.vvp"], cwd=tmp_path, timeout_s=600)
    verdict = done.stdout.splitlines()[-1]
    assert verdict.startswith("PASS "), done.stdout[-500:]
    assert int(verdict.split()[1]) > 300_000


def test_the_content_of_a_memory_is_joined_from_all_slices():
    names = [f"INIT_{k:X}" for k in range(16)]
    slices = {name: f"{k:0256b}" for k, name in enumerate(names)}
    parameters, _ = instance(NetlistCell("m", "SB_RAM40_4K", slices, {}, frozenset()))
    wanted = sum(k << (256 * k) for k in range(16))
    assert parameters == {"INIT": f"4096'h{wanted:x}"}
    block = {"INIT_00": "0" * 256, "INIT_0A": "1" * 256, "INITP_01": "1" * 256, "INIT_A": "0" * 18}
    parameters, _ = instance(NetlistCell("m", "RAMB18E1", block, {}, frozenset()))
    assert parameters["INIT_A"] == "18'h0"
    assert parameters["INIT"] == f"2816'h{'f' * 64}{'0' * 640}"
    assert parameters["INITP"] == f"512'h{'f' * 64}{'0' * 64}"
