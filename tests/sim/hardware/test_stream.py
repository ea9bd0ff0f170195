"""The C++ harness for streaming cores, on small hand-written cores, good and broken."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.support.errors import SimulationError
from rlx_fpga.packaging.axi import Interface, StreamPort, harness_cpp, top_verilog
from rlx_sim.hardware.stream import Stalls, StreamBench
from rlx_sim.hardware.verilator import find_verilator, lint
from support.messages import raises

pytestmark = pytest.mark.sim

SHAPE = (3, 4)


def port(name, member, direction, bits, lanes, shape=SHAPE):
    return StreamPort(
        name=name, member=member, direction=direction, shape=shape, bits=bits, lanes=lanes
    )


INTERFACE = Interface(
    "t",
    (port("s0_axis", "i0", "in", 8, 4), port("s1_axis", "i1", "in", 8, 4)),
    (port("m_axis", "o", "out", 32, 4),),
)

# One register: sums of pairs. `stuck` stops it, `drop` withdraws valid, `extra` repeats a beat.
CORE = """
module t_core(
  input clk, input rst,
  input [31:0] in0_data, input in0_valid, output in0_ready,
  input [31:0] in1_data, input in1_valid, output in1_ready,
  output reg [127:0] out_data, output reg out_valid, input out_ready);
  integer n;
  reg [31:0] count;
  wire go = in0_valid && in1_valid && (!out_valid || out_ready) && !(STUCK);
  assign in0_ready = go;
  assign in1_ready = go;
  always @(posedge clk)
    if (rst) begin out_valid <= 0; count <= 0; end
    else begin
      count <= count + 1;
      if (go) begin
        out_valid <= 1;
        for (n = 0; n < 4; n = n + 1)
          out_data[32*n +: 32] <= $signed(in0_data[8*n +: 8]) + $signed(in1_data[8*n +: 8]);
      end else if (out_ready && !(EXTRA)) out_valid <= 0;
      else if (DROP) out_valid <= 0;
    end
endmodule
"""


def make(folder, **faults):
    text = CORE
    for fault in ("STUCK", "DROP", "EXTRA"):
        text = text.replace(fault, faults.get(fault, "0"))
    (folder / "t_core.sv").write_text(text)
    (folder / "t_top.sv").write_text(top_verilog(INTERFACE))
    (folder / "harness.cpp").write_text(harness_cpp(INTERFACE))
    return StreamBench.build(
        INTERFACE.to_json(),
        ["t_core.sv", "t_top.sv", "harness.cpp"],
        folder=folder,
        output=folder / "o",
    )


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return make(tmp_path_factory.mktemp("stream"))


def frames(count, seed=0):
    generator = np.random.default_rng(seed)
    return [generator.integers(-128, 128, (count, *SHAPE)).astype(np.int8) for _ in range(2)]


def test_run_without_stalls_counts_cycles(bench):
    x, y = frames(5)
    result = bench.run([x, y])
    assert result.outputs[0].dtype == np.int32
    np.testing.assert_array_equal(result.outputs[0], x.astype(np.int32) + y)
    assert result.latency == 3
    assert result.interval == 3
    assert [frame.first_in for frame in result.frames] == [0, 3, 6, 9, 12]
    assert [frame.last_out for frame in result.frames] == [3, 6, 9, 12, 15]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_run_with_stalls_and_reset_gives_the_same(bench, seed):
    x, y = frames(20, seed)
    quiet = bench.run([x, y])
    loud = bench.run([x, y], stalls=Stalls(seed=seed, inputs=100, outputs=128, reset_after=7))
    np.testing.assert_array_equal(loud.outputs[0], quiet.outputs[0])
    assert loud.cycles > quiet.cycles


def test_run_is_deterministic(bench):
    stalls = Stalls(seed=5, inputs=100, outputs=100)
    assert bench.run(frames(9), stalls=stalls).cycles == bench.run(frames(9), stalls=stalls).cycles


def test_interval_needs_two_frames(bench):
    assert bench.run(frames(1)).interval is None


@pytest.mark.parametrize(
    "inputs",
    [
        frames(2)[:1],
        [np.zeros((2, 3, 4), np.int8), np.zeros((3, 3, 4), np.int8)],
        [np.zeros((2, 4, 3), np.int8)] * 2,
    ],
)
def test_run_refuses_inputs_that_do_not_fit(bench, inputs):
    with raises(ValueError):
        bench.run(inputs)


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ({"STUCK": "count > 5"}, r"^harness: passed a limit before the last frame was out"),
        ({"DROP": "1"}, r"(?s)^harness: saw an output violate .*output 0 changed a beat"),
        ({"EXTRA": "1"}, r"(?s)^harness: saw an output violate .*output 0 sent more beats"),
    ],
)
def test_run_reports_broken_cores(tmp_path, faults, message):
    broken = make(tmp_path, **faults)
    with pytest.raises(SimulationError, match=message):
        broken.run(frames(4), stalls=Stalls(outputs=100))


def test_wrapper_is_lint_clean(tmp_path):
    (tmp_path / "t_top.sv").write_text(top_verilog(INTERFACE))
    core = CORE.replace("STUCK", "0").replace("DROP", "0").replace("EXTRA", "0")
    (tmp_path / "t_core.sv").write_text(core)
    (tmp_path / "lint.vlt").write_text('`verilator_config\nlint_off -file "t_core.sv"\n')
    lint(["lint.vlt", "t_core.sv", "t_top.sv"], "t_top", cwd=tmp_path)


def test_lint_refuses_a_warning(tmp_path):
    (tmp_path / "a.sv").write_text(
        "module a(input [3:0] x, output [7:0] y); assign y = x; endmodule\n"
    )
    with pytest.raises(
        SimulationError, match=r"(?s)^verilator_bin: failed with status 1.*WIDTHEXPAND"
    ):
        lint(["a.sv"], "a", cwd=tmp_path)


def test_find_verilator_gives_a_version():
    assert int(find_verilator().version.split(".")[0]) >= 5
