"""The default simulations of emitted hardware whose tools are installed.

Tests: tests/sim/test_verify.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.support.errors import ToolMissingError
from rlx.targets.verifier import NotRun, Plan
from rlx_sim.hardware.icarus import find_icarus
from rlx_sim.toolchain import absent, ways

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_VERILATOR: Final = {"simulator": ("verilator",), "C++ compiler": ("c++",), "make": ("make",)}
_COCOTB: Final = {**_VERILATOR, "test bench": ("cocotb",)}
ICARUS: Final = "testbench:icarus"


def hardware_plan() -> Plan:
    """Return the default simulations: Verilator and cocotb.

    Icarus Verilog, with the emitted testbench, replaces them where Verilator cannot run.
    """
    not_run = []
    for name, platform, parts in (
        ("verilator", "SystemVerilog in Verilator", _VERILATOR),
        ("cocotb", "cocotb bench", _COCOTB),
    ):
        if missing := absent(parts):
            not_run.append(_not_run(name, platform, missing))
    names = [one.name for one in not_run]
    if "verilator" not in names:
        return Plan(tuple(n for n in ("verilator", "cocotb") if n not in names), tuple(not_run))
    try:
        find_icarus()
    except ToolMissingError:
        icarus = _not_run(ICARUS, "testbench in Icarus Verilog", {"simulator": ("icarus",)})
        return Plan((), (*not_run, icarus))
    note = "Verilator cannot run: the emitted testbench ran in Icarus Verilog"
    return Plan((ICARUS,), tuple(not_run), (note,))


def _not_run(name: str, platform: str, missing: Mapping[str, Sequence[str]]) -> NotRun:
    reason = ", ".join(f"no {part}" for part in missing)
    return NotRun(name, platform, reason, ways(missing))
