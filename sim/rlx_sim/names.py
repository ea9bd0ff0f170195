"""Names of simulators by the target whose output they run.

Tests: tests/sim/test_verify.py
"""

from __future__ import annotations

from typing import Final

from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean

CORTEXM_TOOLS: Final = ("host", "sanitize", "qemu", "unicorn")
HOST_TOOLS: Final = ("host", "sanitize")
FPGA_TOOLS: Final = ("verilator", "cocotb", "testbench", "testbench:icarus", "netlist")

_NAMES: Final = {
    "cortexm": (*CORTEXM_TOOLS, "qemu:zig", "unicorn:gcc"),
    "fpga": FPGA_TOOLS,
    "host": HOST_TOOLS,
}


def unknown_tool(name: str, target: str) -> UsageError:
    """Return (not raise) the error of a name that a target has no simulator of."""
    other = next((other for other, names in _NAMES.items() if name in names), None)
    if other is not None:
        return UsageError(
            f"simulator {name!r} is for the target {other}, and the folder is for {target}",
            hint=f"simulators: {', '.join(_NAMES[target])}",
        )
    return UsageError(
        f"no simulator is called {name!r}",
        hint=did_you_mean(name, _NAMES[target], what="simulators"),
    )
