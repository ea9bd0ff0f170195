"""What a netlist needs to mean the same in every simulator."""

from __future__ import annotations

import re
from typing import Final

START: Final = "\\$start "
"""Variable that changes when a simulation starts; no name of a design begins with ``$start``."""

_YOSYS_START: Final = r"\\\$auto\$verilog_backend\.cc:\d+:dump_module\$\d+ "
_DECLARED: Final = re.compile(rf"^  reg {_YOSYS_START} = 0;$", re.MULTILINE)
_READ: Final = re.compile(rf"^    if \({_YOSYS_START}\) begin end$", re.MULTILINE)


def start_combinational(text: str) -> str:
    """Return a netlist whose ``always @*`` blocks all run when a simulation starts.

    Such a block waits for a change of what it reads. Yosys has each of them read a variable whose
    declaration gives it a value, which is a change in Verilog-2005. In SystemVerilog it comes
    before all processes, so that nothing changes: blocks that read constants and registers at rest
    leave their results unknown. An ``initial`` block changes the variable in both.

    Source:
        IEEE 1364-2005, 6.2.1; IEEE 1800-2012, 6.8.
    """
    assert START not in text
    declared = f"  reg {START};\n  initial {START} = 0;"
    text = _DECLARED.sub(lambda _: declared, text)
    text = _READ.sub(lambda _: f"    if ({START}) begin end", text)
    assert "verilog_backend" not in text, "Yosys makes blocks run in another way"
    return text
