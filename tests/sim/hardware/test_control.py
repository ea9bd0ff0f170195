"""A small core with registers, two inputs and one output: its bench, and a bug that it finds."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.support.files.golden import Golden, read_golden
from rlx_fpga.cells.concat import Concat
from rlx_fpga.devices import device
from rlx_fpga.packaging.axi import Interface, StreamPort, control_files, top_verilog
from rlx_fpga.packaging.netlist import design_files
from rlx_fpga.packaging.registers import Control, packed_version
from rlx_sim.hardware.cocotb_bench import run_bench
from rlx_sim.hardware.fpga import verify_fpga
from rlx_sim.hardware.verilator import lint
from support.design_report import TOTALS

pytestmark = pytest.mark.sim

PIXELS = 6
CONTROL = Control(0x0123456789ABCDEF, packed_version("1.2.3"))
REPORT = {
    **TOTALS,
    "interval": 4 * PIXELS,
    "layers": [{"name": "n0", "op": "q.concat", "cycles": 24}],
}


def port(name, member, direction, channels, lanes=2, bits=8):
    shape = (1, 1, PIXELS, channels)
    return StreamPort(
        name=name, member=member, direction=direction, shape=shape, bits=bits, lanes=lanes
    )


def write(folder):
    """Write a core that joins channels 4 + 4, with registers."""
    ports = Interface(
        "tiny",
        (port("s0_axis", "i0", "in", 4), port("s1_axis", "i1", "in", 4)),
        (port("m_axis", "o", "out", 8),),
        CONTROL,
    )
    rng = np.random.default_rng(0)
    x, y = rng.integers(-128, 128, (2, 3, 1, 1, PIXELS, 4)).astype(np.int8)
    golden = Golden((x, y), (np.concatenate([x, y], axis=-1),))
    files = design_files(Concat(2, (2, 2)), ports, REPORT, device("ecp5-25k"))
    for path, content in {**files, **golden.files()}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def test_bench_and_harness_pass_with_registers(tmp_path):
    folder = write(tmp_path)
    found = verify_fpga(folder, read_golden(folder), timeout_s=600)
    assert found["mismatches"] == []
    assert (found["cocotb"]["tests"], found["cocotb"]["passed"]) == (5, 5)
    assert [(row["simulation"], row["equal"]) for row in found["runs"]][-2:] == [
        ("cocotb, registers", 3), ("cocotb, counters", found["cocotb"]["inputs"]),
    ]  # fmt: skip


def test_bench_finds_an_interrupt_that_stays_and_a_counter_that_is_wrong(tmp_path):
    folder = write(tmp_path)
    path = folder / "rtl" / "tiny_control.sv"
    text = path.read_text()
    for right, wrong in (
        ("write_bits_q[0]) frame_done_q <= 1'b0;", "write_bits_q[0]) frame_done_q <= 1'b1;"),
        ("latency_q <= now - timed", "latency_q <= 32'd1 + now - timed"),
    ):
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    path.write_text(text)
    found = run_bench(folder)
    assert (found.tests, found.passed) == (5, 3)
    assert "the interrupt was not cleared" in found.log
    assert "LATENCY reads" in found.log


@pytest.mark.parametrize(("inputs", "outputs"), [(1, 2), (3, 1)])
def test_wrapper_with_several_ports_is_lint_clean(tmp_path, inputs, outputs):
    members = [(f"s{n}_axis", f"i{n}", "in") for n in range(inputs)]
    members += [(f"m{n}_axis", f"o{n}", "out") for n in range(outputs)]
    ports = [port(*names, 2 * (n + 1), lanes=1) for n, names in enumerate(members)]
    found = Interface("net", tuple(ports[:inputs]), tuple(ports[inputs:]), CONTROL)
    streams = "".join(
        f", {'input' if p.direction == 'in' else 'output'} wire [7:0] {p.stream}_data"
        f", {'input' if p.direction == 'in' else 'output'} wire {p.stream}_valid"
        f", {'output' if p.direction == 'in' else 'input'} wire {p.stream}_ready"
        for p in ports
    )
    core = f"(* blackbox *) module net_core (input wire clk, input wire rst{streams}); endmodule\n"
    files = {
        "rtl/net_core.sv": "/* verilator lint_off UNUSEDSIGNAL */"
        "/* verilator lint_off UNDRIVEN */\n" + core,
        "rtl/net_top.sv": top_verilog(found),
        **control_files(found),
    }
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(content)
    lint(list(found.sources), found.top, cwd=tmp_path)
