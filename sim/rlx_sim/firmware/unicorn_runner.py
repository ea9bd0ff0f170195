"""Emitted C on an emulated core that pip installs (unicorn), with an exact instruction count.

Unicorn is a native library, so it runs in a process of its own
(:mod:`rlx_sim.firmware.unicorn_core`).

Tests: tests/sim/firmware/test_emulators.py
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rlx.support.errors import UsageError
from rlx.support.files.scratch import work_folder
from rlx.support.process import run
from rlx_sim.firmware.firmware import Firmware, FirmwareBuild
from rlx_sim.firmware.harness import frame_counter, prepare, result
from rlx_sim.toolchain import find

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.support.files.golden import Golden
    from rlx_sim.protocol import Simulation


@dataclass(frozen=True, slots=True)
class Unicorn:
    """Runs emitted C under unicorn.

    Attributes:
        build: Settings by which the firmware is built.
        trace: File for a trace of basic blocks; None for none.
        reads: Whether the trace includes reads of constants.
    """

    build: FirmwareBuild = field(default_factory=lambda: FirmwareBuild(compiler="zig"))
    trace: Path | None = None
    reads: bool = False

    @property
    def name(self) -> str:
        """``unicorn``."""
        return "unicorn"

    def tools(self) -> dict[str, str]:
        """Return name and version of each tool used."""
        return {tool.name: tool.version for tool in (self.build.tool(), find("unicorn"))}

    def simulate(self, folder: Path, vectors: Golden, *, timeout_s: float) -> Simulation:
        """Build and run the test firmware; see :class:`rlx_sim.protocol.Simulator`."""
        with work_folder("unicorn") as work:
            firmware = self.build.build(folder, work / "build")
            return self.run(firmware, vectors, work, timeout_s=timeout_s)

    def run(
        self, firmware: Firmware, vectors: Golden, work: Path, *, timeout_s: float
    ) -> Simulation:
        """Run ``firmware`` over ``vectors`` in the folder ``work``.

        Raises:
            UsageError: Unicorn does not emulate the processor.
            ToolMissingError: Unicorn is not installed.
            SimulationError: The firmware stopped early.
            TimeLimitError: It took longer than ``timeout_s``.
        """
        if not firmware.cpu.unicorn:
            raise UsageError(f"unicorn does not emulate a {firmware.cpu.name}", hint="use qemu")
        find("unicorn")
        prepare(work, vectors)
        command = [
            sys.executable,
            "-m",
            "rlx_sim.firmware.unicorn_core",
            str(firmware.elf),
            firmware.cpu.emulated,
        ]
        if self.trace is not None:
            command += [str(self.trace), *(["reads"] if self.reads else [])]
        # The package may be importable only through this process's path (a checkout under test).
        environment = {"PYTHONPATH": ":".join(part for part in sys.path if part)}
        completed = run(
            command,
            cwd=work,
            timeout_s=timeout_s,
            env=environment,
            check=False,
            on_line=frame_counter(vectors.frames),
        )
        return result(completed, work, vectors, name=self.name)
