"""Compiles SystemVerilog testbenches with Icarus Verilog.

Tests: tests/sim/hardware/test_testbench.py
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from rlx.support.errors import ToolMissingError
from rlx.support.process import run
from rlx_sim.toolchain import find

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MIN_ICARUS_VERSION: Final = 11
"""Oldest version that reads the SystemVerilog of emitted wrappers."""


def find_icarus() -> tuple[Path, str]:
    """Return ``iverilog`` and its version.

    Raises:
        ToolMissingError: It is not installed, or too old.
    """
    tool = find("icarus")
    if int(tool.version.split(".")[0]) < MIN_ICARUS_VERSION:
        raise ToolMissingError(
            f"expected Icarus Verilog {MIN_ICARUS_VERSION} or later, got {tool.version}",
            hint="Debian: apt-get install iverilog",
        )
    return Path(tool.command[0]), tool.version


def build_testbench(
    files: Sequence[str],
    top: str,
    parameters: Mapping[str, int] = MappingProxyType({}),
    *,
    cwd: Path,
    output: Path,
    timeout_s: float,
    show: Callable[[str], None] | None = None,
) -> tuple[str, ...]:
    """Compile a testbench and the design under test, and return the command that runs it.

    Args:
        files: Verilog, relative to ``cwd``.
        top: Module of the testbench.
        parameters: Its parameters that differ from their defaults.
        cwd: Working folder of the compiler.
        output: Folder for all built files.
        timeout_s: Wall-clock limit.
        show: Not called: all files are compiled in one step.

    Raises:
        ToolMissingError: Icarus Verilog is not installed, or too old.
        SimulationError: It refused; carries the last lines.
        TimeLimitError: It took longer than ``timeout_s``.
    """
    del show
    compiler, _ = find_icarus()
    program = output.resolve() / f"{top}.vvp"
    defined = [f"-P{top}.{name}={value}" for name, value in parameters.items()]
    argv = [str(compiler), "-g2012", "-s", top, *defined, "-o", str(program), *files]
    run(argv, cwd=cwd, timeout_s=timeout_s)
    return (str(compiler.with_name("vvp")), "-n", str(program))
