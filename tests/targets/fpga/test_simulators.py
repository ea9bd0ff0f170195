"""Netlists for simulators of SystemVerilog: all blocks run at the start."""

from __future__ import annotations

import pytest

from rlx_fpga.axi import Interface, StreamPort
from rlx_fpga.cells.concat import Concat
from rlx_fpga.netlist import netlist
from rlx_fpga.simulators import start_combinational

BY_YOSYS = r"""module one(a, b);
  reg \$auto$verilog_backend.cc:2355:dump_module$1  = 0;
  reg \$2 ;
  reg held = 1'h0;
  always @* begin
    if (\$auto$verilog_backend.cc:2355:dump_module$1 ) begin end
    \$2  = held;
  end
endmodule
"""

STARTED = r"""module one(a, b);
  reg \$start ;
  initial \$start  = 0;
  reg \$2 ;
  reg held = 1'h0;
  always @* begin
    if (\$start ) begin end
    \$2  = held;
  end
endmodule
"""


def test_a_block_reads_what_changes_at_the_start():
    assert start_combinational(BY_YOSYS) == STARTED


def test_text_of_another_yosys_is_no_silent_success():
    with pytest.raises(AssertionError, match="another way"):
        start_combinational(BY_YOSYS.replace(" = 0;", ";"))


def test_every_block_of_a_netlist_is_started():
    port = StreamPort(name="s0_axis", member="i0", direction="in", shape=(4, 1), bits=8, lanes=1)
    text, _ = netlist(Concat(1, (1, 1)), Interface("net", (port,), ()))
    blocks = text.count("always @* begin")
    assert blocks > 0
    assert text.count("if (\\$start ) begin end") == blocks
