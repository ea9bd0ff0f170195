"""The simulations of emitted C, by the names that ``rlx verify --with`` accepts.

Tests: tests/sim/test_verify.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rlx.targets.verifier import NotRun, Plan
from rlx_sim.firmware.firmware import COMPILERS, cpu_named
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.names import CORTEXM_TOOLS, unknown_tool
from rlx_sim.toolchain import absent, search, ways

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMPILERS: Final = ("arm-none-eabi-gcc", "zig")


def plan_of(cpu: str) -> Plan:
    """Return the default simulations: on this machine, and on an emulated core."""
    host = {"compiler": ("cc",)}
    tools: list[str] = []
    not_run: list[NotRun] = []
    notes: list[str] = []
    if absent(host):
        not_run.append(NotRun("host", "C on this machine", "no compiler", ways(host)))
    else:
        tools.append("host")
    if (missing := missing_emulation(cpu)) is not None:
        not_run.append(missing)
    else:
        name, notes = emulation(cpu)
        tools.append(name)
    return Plan(tuple(tools), tuple(not_run), tuple(notes), kinds(tools))


def missing_emulation(cpu: str) -> NotRun | None:
    """Return the emulation of a core that lacks tools; None if it can run."""
    missing = absent(_needs(cpu))
    if not missing:
        return None
    reason = ", ".join(f"no {part}" for part in missing)
    return NotRun("qemu", f"C on a {cpu}", reason, ways(missing))


def kinds(tools: Sequence[str]) -> tuple[str, ...]:
    """Return simulators without their compilers: ``qemu`` for ``qemu:zig``."""
    return tuple(tool.partition(":")[0] for tool in tools)


def emulation(cpu: str) -> tuple[str, list[str]]:
    """Return the default emulation of a core, with a note for each tool that it replaces."""
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
    return f"{emulator}:{compiler}", notes


def is_emulated(cpu: str) -> bool:
    """Whether an emulator has the core."""
    return bool(_needs(cpu)["emulator"])


def _needs(cpu: str) -> dict[str, list[str]]:
    """Return the tools for each part of an emulation; one of them is enough."""
    emulators = {
        "qemu-system-arm": cpu_named(cpu).machine is not None,
        "unicorn": cpu_named(cpu).unicorn,
    }
    return {
        "compiler": list(_COMPILERS),
        "emulator": [name for name, has_core in emulators.items() if has_core],
    }


def simulator_of(name: str, cpu: str) -> HostC | Qemu | Unicorn:
    """Return the simulation with a name such as ``unicorn:gcc``.

    Raises:
        UsageError: The name is unknown.
    """
    kind, _, compiler = name.partition(":")
    if kind not in CORTEXM_TOOLS or (compiler and compiler not in COMPILERS):
        raise unknown_tool(name, "cortexm")
    if kind in ("host", "sanitize"):
        return HostC(sanitize=kind == "sanitize")
    simulator = Qemu() if kind == "qemu" else Unicorn()
    build = replace(simulator.build, cpu=cpu, compiler=compiler or simulator.build.compiler)
    return replace(simulator, build=build)
