"""The simulations of emitted C, by the names that ``rlx verify --with`` takes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean
from rlx_sim.firmware.firmware import COMPILERS, cpu_named
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.toolchain import search

if TYPE_CHECKING:
    from collections.abc import Sequence

CORTEXM_TOOLS: Final = ("host", "sanitize", "qemu", "unicorn")
_COMPILERS: Final = ("arm-none-eabi-gcc", "zig")


def default_tools(cpu: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return the default simulators, and notes about missing ones."""
    absent = _absent(cpu)
    if absent:
        return ("host",), (f"not run: {cpu} ({absent}; 'rlx doctor' shows what to install)",)
    notes = []
    compiler = "gcc"
    if search("arm-none-eabi-gcc") is None:
        compiler = "zig"
        notes.append("arm-none-eabi-gcc is not installed: firmware was built with zig")
    emulator = "unicorn"
    if cpu_named(cpu).machine is None:
        notes.append(f"qemu-system-arm has no board with a {cpu}: firmware ran under unicorn")
    elif search("qemu-system-arm") is None:
        notes.append("qemu-system-arm is not installed: firmware ran under unicorn")
    else:
        emulator = "qemu"
    return ("host", f"{emulator}:{compiler}"), notes


def _absent(cpu: str) -> str:
    """Return the missing tools that firmware cannot be built or run without; empty for none."""
    emulators = [
        name
        for name, has_core in (
            ("qemu-system-arm", cpu_named(cpu).machine is not None),
            ("unicorn", cpu_named(cpu).unicorn),
        )
        if has_core
    ]
    needed = {"compiler": list(_COMPILERS), "emulator": emulators}
    return ", ".join(
        f"no {part}: {' or '.join(tools)}"
        for part, tools in needed.items()
        if not any(search(tool) for tool in tools)
    )


def simulator_of(name: str, cpu: str) -> HostC | Qemu | Unicorn:
    """Return the simulation that a name stands for, such as ``unicorn:gcc``.

    Raises:
        UsageError: There is none of that name.
    """
    kind, _, compiler = name.partition(":")
    if kind not in CORTEXM_TOOLS or (compiler and compiler not in COMPILERS):
        raise unknown_tool(name, (*CORTEXM_TOOLS, "qemu:zig", "unicorn:gcc"))
    if kind in ("host", "sanitize"):
        return HostC(sanitize=kind == "sanitize")
    simulator = Qemu() if kind == "qemu" else Unicorn()
    build = replace(simulator.build, cpu=cpu, compiler=compiler or simulator.build.compiler)
    return replace(simulator, build=build)


def unknown_tool(name: str, known: Sequence[str]) -> UsageError:
    """Return (not raise) the error of a name that is none of ``known``."""
    return UsageError(
        f"no simulator is called {name!r}", hint=did_you_mean(name, known, what="simulators")
    )
