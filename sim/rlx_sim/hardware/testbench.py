"""Runs the emitted SystemVerilog testbench of a design in one of two simulators."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import OutputError, SimulationError
from rlx.support.files.scratch import work_folder
from rlx.support.process import last_lines, run
from rlx_sim.hardware import icarus, verilator
from rlx_sim.hardware.emitted_report import read_report
from rlx_sim.hardware.plain import plain_folder
from rlx_sim.seconds import Seconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TIMEOUT_S: Final = 1800.0

SIMULATORS: Final = {"verilator": verilator.build_testbench, "icarus": icarus.build_testbench}
"""Functions that compile a testbench to a command, by simulator."""

_PASS: Final = re.compile(r"^PASS: (\d+) frames .*latency (\d+), interval (\d+)$", re.MULTILINE)
_FAIL: Final = re.compile(r"^FAIL: .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TestbenchRun:
    """Result of the testbench.

    Attributes:
        passed: Whether every beat of all frames was correct, with and without pauses.
        frames: Frames that were sent without pauses; 0 if it failed.
        latency: Cycles from the first input beat to the last output beat of the first frame.
        interval: Cycles between the ends of the last two frames.
        verdict: The line with PASS or FAIL.
        log: Output of the simulator.
        seconds: Time of its parts.
    """

    __test__ = False  # not a test class

    passed: bool
    frames: int
    latency: int
    interval: int
    verdict: str
    log: str
    seconds: Seconds = field(default_factory=lambda: Seconds("testbench"), compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return the figures."""
        return {
            "inputs": self.frames,
            "equal": self.frames,
            "latency": self.latency,
            "interval": self.interval,
        }


def run_testbench(
    folder: Path,
    *,
    simulator: str = "verilator",
    frames: int | None = None,
    timeout_s: float = TIMEOUT_S,
    show: Callable[[str], None] | None = None,
) -> TestbenchRun:
    """Build and run ``tb/<prefix>_tb.sv`` of an emitted folder; nothing is written into it.

    A failed testbench does not raise.

    Args:
        folder: The emitted design.
        simulator: One of :data:`SIMULATORS`.
        frames: Frames to send; None for the testbench's own number.
        timeout_s: Wall-clock limit of the build, and of the run.
        show: Called with each C++ file that is compiled.

    Raises:
        OutputError: The folder holds no testbench.
        ToolMissingError: The simulator is not installed, or too old.
        SimulationError: The testbench does not build, or printed no verdict.
        TimeLimitError: It took too long.
    """
    top, files = _sources(folder)
    build, parameters = SIMULATORS[simulator], {} if frames is None else {"Frames": frames}
    seconds = Seconds("testbench" if simulator == "verilator" else "testbench, Icarus")
    with plain_folder(folder) as plain, work_folder("testbench") as work:
        with seconds.part("compile"):
            argv = build(
                files, top, parameters, cwd=plain, output=work, timeout_s=timeout_s, show=show
            )
        with seconds.part("simulate"):
            completed = run(argv, cwd=plain, timeout_s=timeout_s, check=False)
    return replace(verdict_of(completed.stdout + completed.stderr), seconds=seconds)


def verdict_of(text: str) -> TestbenchRun:
    """Return the result in the output of a testbench.

    Raises:
        SimulationError: It printed neither PASS nor FAIL.
    """
    good, bad = _PASS.search(text), _FAIL.search(text)
    if bad is not None:
        return TestbenchRun(False, 0, 0, 0, bad[0], text)
    if good is None:
        raise SimulationError("printed no verdict" + last_lines(text), where="testbench")
    frames, latency, interval = map(int, good.groups())
    return TestbenchRun(True, frames, latency, interval, good[0], text)


def _sources(folder: Path) -> tuple[str, list[str]]:
    """Return the testbench's module, and the files to compile, relative to the folder."""
    interface = read_report(folder)["interface"]
    top = interface["top"].removesuffix("_top") + "_tb"
    path = f"tb/{top}.sv"
    if not (folder / path).is_file():
        raise OutputError(
            f"{folder} holds no testbench {path}",
            hint="emit the folder again with 'rlx emit --target fpga'",
        )
    return top, [*interface["sources"], path]
