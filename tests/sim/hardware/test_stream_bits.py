"""Streams as wide as a DMA (``--stream-bits``): every byte, at full rate, in checked frames."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from rlx.driver import driver
from rlx.support.errors import DoesNotFitError, SimulationError
from rlx.support.files.golden import Golden, read_golden
from rlx.support.process import run
from rlx.targets import target
from rlx_fpga import TARGET, FpgaOptions
from rlx_fpga.cells.concat import Concat
from rlx_fpga.devices import device
from rlx_fpga.options import STREAM_BITS
from rlx_fpga.packaging.axi import Interface, StreamPort
from rlx_fpga.packaging.netlist import design_files
from rlx_fpga.packaging.registers import Control
from rlx_fpga.packaging.regroup import with_stream_bits
from rlx_fpga.packaging.render import render
from rlx_sim.hardware.fpga import verify_fpga
from rlx_sim.hardware.icarus import build_testbench
from rlx_sim.hardware.testbench import run_testbench
from rlx_sim.hardware.verilator import lint
from support.design_report import TOTALS
from support.messages import raises
from support.networks.dense_designs import DESIGNS, dense

FRAMES = 6
CORES = (1, 3, 4, 10, 16, 49)
"""Bytes of a beat at the core."""

SIZES = (1, 3, 30, 490)
"""Bytes of a frame, at least one beat."""

ONE = """
module pair #(
  parameter Unit = 1, In = 1, InLast = 1, InBeats = 1, Out = 1, OutLast = 1, OutBeats = 1,
  parameter Frames = 1, Stall = 0
) (input clk, input rst_n, output done, output reg failed, output reg [31:0] cycles);
  reg [8*In-1:0] in_data;
  reg in_valid;
  wire in_ready, out_valid;
  wire [8*Out-1:0] out_data;
  reg out_ready;
  integer sent, offered, received, in_byte, out_byte, k;
  reg [31:0] random;
  wire in_final = offered % InBeats == InBeats - 1;
  wire out_final = received % OutBeats == OutBeats - 1;
  assign done = received == OutBeats * Frames;
  net_regroup #(.UnitBytes(Unit), .InBytes(In), .InLast(InLast), .OutBytes(Out), .OutLast(OutLast))
    dut (.clk_i(clk), .rst_ni(rst_n), .in_data_i(in_data), .in_valid_i(in_valid),
         .in_ready_o(in_ready), .in_final_i(in_final), .out_data_o(out_data),
         .out_valid_o(out_valid), .out_ready_i(out_ready), .out_final_i(out_final));
  function [7:0] code(input integer n); code = n * 37 ^ (n >> 5) * 11; endfunction
  // Bytes beyond the last one of a frame are wrong on purpose: they must not come out.
  always @* for (k = 0; k < In; k = k + 1)
    in_data[8*k +: 8] = in_final && k >= InLast ? ~code(in_byte + k) : code(in_byte + k);
  always @(posedge clk) begin
    random <= {random[30:0], random[31] ^ random[21] ^ random[1] ^ random[0]};
    if (!rst_n) begin
      {in_valid, out_ready, failed} <= 0;
      random <= 1 + Unit + In * 64 + Out * 4096;
      sent <= 0; offered <= 0; received <= 0; in_byte <= 0; out_byte <= 0; cycles <= 0;
    end else begin
      if (in_valid && in_ready) begin
        offered <= offered + 1;
        in_byte <= in_byte + (in_final ? InLast : In);
      end
      if (!in_valid || in_ready) in_valid <= random[7:0] >= Stall;
      out_ready <= random[15:8] >= Stall;
      if (!done && (received != 0 || in_valid)) cycles <= cycles + 1;
      if (out_valid && out_ready && !done) begin
        received <= received + 1;
        out_byte <= out_byte + (out_final ? OutLast : Out);
        for (k = 0; k < Out; k = k + 1)
          if (out_data[8*k +: 8] !== (out_final && k >= OutLast ? 8'h00 : code(out_byte + k)))
            failed <= 1;
      end
    end
  end
endmodule
"""


def points():
    """Yield the parameters of adapters, with the beats of a frame, and of every core both ways."""
    for bits in STREAM_BITS:
        for core in CORES:
            for size in {core * max(1, n // core) for n in SIZES}:
                shape = (size // core, core)
                for way in ("in", "out"):
                    port = StreamPort(name="p", member="p", direction=way, shape=shape, bits=8,
                                      lanes=core, stream_bits=bits)  # fmt: skip
                    beats = (port.beats, port.core_beats)
                    yield port.regroup, beats if way == "in" else beats[::-1]


def pairs(stall):
    """Return a testbench with every adapter, which prints the cycles of all frames of each."""
    found = list(points())
    lines = [ONE, "module pairs; reg clk = 0, rst_n = 0; always #5 clk = !clk;"]
    for n, (regroup, (beats_in, beats_out)) in enumerate(found):
        names = {name.removesuffix("Bytes"): value for name, value in regroup.items()}
        names |= {"InBeats": beats_in, "OutBeats": beats_out, "Frames": FRAMES, "Stall": stall}
        values = ", ".join(f".{name}({value})" for name, value in names.items())
        lines.append(f"wire d{n}, f{n}; wire [31:0] c{n};")
        lines.append(f"pair #({values}) p{n} (clk, rst_n, d{n}, f{n}, c{n});")
    every = " && ".join(f"d{n}" for n in range(len(found)))
    lines.append(f"initial begin repeat (4) @(negedge clk); rst_n = 1; wait ({every});")
    lines += [f'$display("{n} %0d %0d", f{n}, c{n});' for n in range(len(found))]
    return found, "\n".join([*lines, "$finish; end endmodule", ""])


@pytest.mark.sim
@pytest.mark.parametrize("stall", [0, 90])
def test_every_byte_arrives_and_without_pauses_no_cycle_is_lost(tmp_path, stall):
    found, text = pairs(stall)
    ports = Interface("net", (), ())
    (tmp_path / "net_regroup.sv").write_text(render("regroup.sv.j2", interface=ports))
    (tmp_path / "pairs.sv").write_text(text)
    argv = build_testbench(
        ["net_regroup.sv", "pairs.sv"], "pairs", cwd=tmp_path, output=tmp_path, timeout_s=600
    )
    printed = run(argv, cwd=tmp_path, timeout_s=600).stdout.splitlines()
    rows = [tuple(map(int, line.split())) for line in printed if line[:1].isdigit()]
    assert len(rows) == len(found)
    for (n, failed, cycles), (regroup, beats) in zip(rows, found, strict=True):
        assert not failed, regroup
        if stall == 0:
            # The first beat comes out once the beats are in that it is made of.
            begin = math.ceil(min(regroup["OutBytes"], 10**9) / regroup["InBytes"])
            assert cycles <= FRAMES * max(beats) + begin + 1, (n, regroup, beats)


@pytest.mark.sim
def test_the_adapter_is_lint_clean_at_every_width(tmp_path):
    found = list({json.dumps(regroup): regroup for regroup, _ in points()}.values())
    ports, instances = ["input wire logic clk", "input wire logic rst_n"], []
    for n, regroup in enumerate(found):
        into, out = 8 * regroup["InBytes"] - 1, 8 * regroup["OutBytes"] - 1
        ports += [f"input wire logic [{into}:0] a{n}", f"output wire logic [{out}:0] b{n}"]
        ports += [f"input wire logic [3:0] c{n}", f"output wire logic [1:0] d{n}"]
        values = ", ".join(f".{name}({value})" for name, value in regroup.items())
        wires = f"clk, rst_n, a{n}, c{n}[0], d{n}[0], c{n}[1], b{n}, d{n}[1], c{n}[2], c{n}[3]"
        instances.append(f"net_regroup #({values}) u{n} ({wires});")
    text = render("regroup.sv.j2", interface=Interface("net", (), ()))
    (tmp_path / "net_regroup.sv").write_text(text)
    body = "\n".join([f"module all ({', '.join(ports)});", *instances, "endmodule", ""])
    (tmp_path / "all.sv").write_text(body)
    lint(["net_regroup.sv", "all.sv"], "all", cwd=tmp_path)


STREAMS = {
    "files": 32, "netlist": 64, "parallel": 32, "engine": 64, "load": 32, "stream": 128,
}  # fmt: skip
"""A width for each of :data:`DESIGNS`."""


@pytest.fixture(scope="module")
def designs(tmp_path_factory):
    root = tmp_path_factory.mktemp("designs")
    for name, bits in STREAMS.items():
        options = FpgaOptions(**DESIGNS[name], stream_bits=bits)
        driver.emit(dense(), target.load("fpga"), root / name, options=options)
    return root


@pytest.mark.sim
@pytest.mark.parametrize("name", STREAMS)
def test_every_architecture_passes_at_the_predicted_rate(designs, name):
    found = run_testbench(designs / name, simulator="icarus")
    assert found.passed, found.log
    report = json.loads((designs / name / "report.json").read_text())
    assert found.interval == report["interval"]


def test_ports_that_are_slower_limit_the_rate_and_hide_the_latency():
    alone, narrow, wide = (
        TARGET.estimate(dense(), FpgaOptions(architecture="parallel", stream_bits=bits))
        for bits in (None, 32, 128)
    )
    assert (alone["interval"], wide["interval"], narrow["interval"]) == (1, 1, 3)
    assert narrow["fps"] == pytest.approx(alone["fps"] / 3, abs=0.01)
    assert narrow["slowest"] == "ports"
    assert "latency" not in narrow
    assert wide["latency"] == alone["latency"] + 2


def test_weights_by_a_narrow_stream_take_longer():
    options = {"architecture": "engine", "device": "ice40-up5k", "weights": "stream"}
    alone, narrow = (
        TARGET.estimate(dense(), FpgaOptions(**options, stream_bits=bits)) for bits in (None, 32)
    )
    assert narrow["interval"] >= alone["interval"]


def test_a_rate_that_the_ports_do_not_allow_is_refused():
    options = FpgaOptions(architecture="parallel", stream_bits=32, fps=30e6, clock=75e6)
    with raises(DoesNotFitError):
        TARGET.estimate(dense(), options)


PIXELS = 7


def port(name, member, direction, channels, bits=32):
    return StreamPort(name=name, member=member, direction=direction, shape=(1, 1, PIXELS, channels),
                      bits=8, lanes=3, stream_bits=bits)  # fmt: skip


def write(folder, control):
    """Write a core that joins channels 3 + 3, in frames of 21 and 42 bytes."""
    ports = Interface(
        "tiny",
        (port("s0_axis", "i0", "in", 3), port("s1_axis", "i1", "in", 3)),
        (port("m_axis", "o", "out", 6),),
        control,
    )
    ports = with_stream_bits(ports, 32)
    rng = np.random.default_rng(0)
    x, y = rng.integers(-128, 128, (2, 3, 1, 1, PIXELS, 3)).astype(np.int8)
    golden = Golden((x, y), (np.concatenate([x, y], axis=-1),))
    report = {**TOTALS, "interval": 2 * PIXELS, "layers": []}
    files = design_files(Concat(3, (1, 1)), ports, report, device("ecp5-25k"))
    for path, content in {**files, **golden.files()}.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@pytest.mark.sim
@pytest.mark.parametrize("control", [None, Control(1, 2)])
def test_both_benches_pass_with_two_inputs(tmp_path, control):
    folder = write(tmp_path, control)
    found = verify_fpga(folder, read_golden(folder), timeout_s=600)
    tests = 4 if control is None else 6
    assert found["mismatches"] == []
    assert (found["cocotb"]["tests"], found["cocotb"]["passed"]) == (tests, tests)
    assert found["interval"] == 2 * PIXELS
    assert run_testbench(folder, simulator="icarus").passed


@pytest.mark.sim
@pytest.mark.parametrize(
    ("path", "right", "wrong", "message"),
    [
        ("rtl/tiny_top.sv", "frame_error_q <= 1'b0", "frame_error_q <= 1'b1", "reports an error"),
        ("rtl/tiny_top.sv", "m_axis_final ? 4'h3", "m_axis_final ? 4'h7", "has tkeep 111"),
        # Used still, or lint would be the first to complain.
        (
            "rtl/tiny_regroup.sv",
            "? OutLastMask : '1)",
            "? OutLastMask | '1 : '1)",
            "beat 10 of frame 0",
        ),
    ],
)
def test_benches_find_errors_of_the_adapter(tmp_path, path, right, wrong, message):
    folder = write(tmp_path, None)
    text = (folder / path).read_text()
    assert text.count(right) == 1
    (folder / path).write_text(text.replace(right, wrong))
    found = run_testbench(folder, simulator="icarus")
    assert not found.passed
    assert message in found.log
    with pytest.raises(SimulationError, match="violate the stream protocol"):
        verify_fpga(folder, read_golden(folder), timeout_s=600, cocotb=False)
