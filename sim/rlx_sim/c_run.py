"""Verification of emitted C in one simulator.

Tests: tests/sim/test_verify.py
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rlx.support.files.scratch import work_folder
from rlx_sim.firmware.host_c import HostC
from rlx_sim.parts import run_program
from rlx_sim.protocol import Mismatch, compare
from rlx_sim.seconds import Seconds

if TYPE_CHECKING:
    from rlx.support.files.golden import Golden
    from rlx.support.parallel import Workers
    from rlx_sim.firmware.firmware import Firmware
    from rlx_sim.firmware.qemu import Qemu
    from rlx_sim.firmware.unicorn_runner import Unicorn
    from rlx_sim.protocol import Simulation


@dataclass(frozen=True, slots=True)
class CRun:
    """One simulation of a folder of C.

    Attributes:
        simulator: Simulator that ran it.
        simulation: Its results.
        wrong: First mismatch of each wrong frame.
        firmware: Firmware that it ran; None on the host.
        seconds: Time of the parts.
    """

    simulator: HostC | Qemu | Unicorn
    simulation: Simulation
    wrong: tuple[Mismatch, ...]
    firmware: Firmware | None
    seconds: Seconds


def run_c(
    simulator: HostC | Qemu | Unicorn,
    folder: Path,
    vectors: Golden,
    timeout_s: float,
    pool: Workers,
) -> CRun:
    """Build the C of ``folder``, run it over all frames and compare every output.

    Raises:
        SimulationError: It does not build, crashed, or violated its interface.
        TimeLimitError: A part of the run took longer than ``timeout_s``.
        WorkerError: A part ended its workers.
    """
    seconds = Seconds(simulator.name)
    with work_folder("verify") as work:
        with seconds.part("compile"):
            program = (
                simulator.build(folder, work / "build" / "host")
                if isinstance(simulator, HostC)
                else simulator.build.build(folder, work / "build")
            )
        with seconds.part("simulate"):
            simulation = run_program(simulator, program, vectors, pool, timeout_s=timeout_s)
        with seconds.part("compare"):
            wrong = tuple(compare(simulator.name, simulation, vectors))
    firmware = None if isinstance(program, Path) else program
    return CRun(simulator, simulation, wrong, firmware, seconds)
