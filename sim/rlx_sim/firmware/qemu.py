"""Emitted C on an emulated MPS2 board, with an exact count of instructions.

Tests: tests/sim/firmware/test_emulators.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rlx.support.errors import UsageError
from rlx.support.files.scratch import work_folder
from rlx.support.process import run
from rlx_sim.firmware.firmware import CPUS, Firmware, FirmwareBuild
from rlx_sim.firmware.harness import frame_counter, prepare, result
from rlx_sim.toolchain import find

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.support.files.golden import Golden
    from rlx_sim.protocol import Simulation

INSTRUCTION_SHIFT = 6
"""QEMU's ``-icount shift``: one instruction takes 2^6 ns, 1.6 ticks of the board's 25 MHz timer,
so every count has a reading of its own."""


@dataclass(frozen=True, slots=True)
class Qemu:
    """Runs emitted C under QEMU.

    Attributes:
        build: Settings by which the firmware is built.
        log: File for the executed blocks (:mod:`rlx_sim.cycles.qemu_trace`); None for none.
    """

    build: FirmwareBuild = field(default_factory=FirmwareBuild)
    log: Path | None = None

    @property
    def name(self) -> str:
        """``qemu``."""
        return "qemu"

    def tools(self) -> dict[str, str]:
        """Return name and version of each tool used."""
        return {tool.name: tool.version for tool in (self.build.tool(), find("qemu-system-arm"))}

    def simulate(self, folder: Path, vectors: Golden, *, timeout_s: float) -> Simulation:
        """Build and run the test firmware; see :class:`rlx_sim.protocol.Simulator`."""
        with work_folder("qemu") as work:
            firmware = self.build.build(folder, work / "build")
            return self.run(firmware, vectors, work, timeout_s=timeout_s)

    def run(
        self, firmware: Firmware, vectors: Golden, work: Path, *, timeout_s: float
    ) -> Simulation:
        """Run ``firmware`` over ``vectors`` in the folder ``work``.

        Raises:
            UsageError: QEMU has no board with that processor.
            ToolMissingError: QEMU is not installed.
            SimulationError: The firmware stopped early.
            TimeLimitError: It took longer than ``timeout_s``.
        """
        machine = firmware.cpu.machine
        if machine is None:
            boards = ", ".join(cpu.name for cpu in CPUS.values() if cpu.machine)
            raise UsageError(
                f"QEMU has no board with a {firmware.cpu.name}",
                hint=f"use unicorn, or one of {boards}",
            )
        prepare(work, vectors)
        command = [
            *(*find("qemu-system-arm").command, "-M", machine),
            *("-display", "none", "-monitor", "none", "-serial", "none"),
            *("-semihosting-config", "enable=on,target=native"),
            *("-icount", f"shift={INSTRUCTION_SHIFT}", "-kernel", str(firmware.elf)),
        ]
        if self.log is not None:
            command += ["-d", "in_asm,exec,nochain", "-D", str(self.log)]
        completed = run(
            command,
            cwd=work,
            timeout_s=timeout_s,
            check=False,
            on_line=frame_counter(vectors.frames),
        )
        return result(completed, work, vectors, name=self.name)
