"""Runs the cocotb bench that was emitted with a design, stand-alone as a user does."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import OutputError, SimulationError, ToolMissingError
from rlx.support.files.scratch import work_folder
from rlx.support.process import last_lines, run
from rlx_sim.hardware.plain import plain_folder
from rlx_sim.hardware.verilator import HINT, compilation_reader, find_verilator
from rlx_sim.seconds import Seconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TIMEOUT_S: Final = 1800.0

_TEST: Final = re.compile(r".*cocotb\.regression\s+running (?:\w+\.)*(\w+) \((\d+)/(\d+)\)")
"""The line of cocotb's log at the start of a test."""


@dataclass(frozen=True, slots=True)
class CocotbRun:
    """Result of the bench.

    Attributes:
        tests: Tests that ran.
        passed: Tests that passed.
        figures: Recorded by the tests: ``inputs``, ``equal``, ``latency``, ``interval`` ...
        log: Output of the bench.
        seconds: Time of its parts; the tests begin at the first one's line in the log.
    """

    tests: int
    passed: int
    figures: dict[str, Any]
    log: str
    seconds: Seconds = field(default_factory=lambda: Seconds("cocotb"), compare=False)


def run_bench(
    folder: Path,
    *,
    frames: int | None = None,
    seed: int = 1,
    timeout_s: float = TIMEOUT_S,
    show: Callable[[str], None] | None = None,
) -> CocotbRun:
    """Run ``tb/run.py`` of an emitted folder; nothing is written into the folder.

    A failed test does not raise: compare ``passed`` with ``tests``.

    Args:
        folder: The emitted design.
        frames: Frames of the first test; None for the bench's default.
        seed: Seed of the random pauses.
        timeout_s: Wall-clock limit, build included.
        show: Called with each file that is compiled, and with each test as it starts.

    Raises:
        OutputError: The folder holds no bench.
        ToolMissingError: cocotb or Verilator is not installed.
        SimulationError: The bench could not be built, or died.
        TimeLimitError: It took too long.
    """
    script = folder / "tb" / "run.py"
    if not script.is_file():
        raise OutputError(
            f"{folder} holds no bench tb/run.py",
            hint="emit the folder again with 'rlx emit --target fpga'",
        )
    if importlib.util.find_spec("cocotb") is None:
        raise ToolMissingError("cocotb is not installed", hint="pip install 'rlx[sim]'")
    find_verilator()
    with plain_folder(folder) as plain, work_folder("cocotb") as work:
        result = work / "result.json"
        argv = [sys.executable, "-B", str(plain / "tb/run.py"), "--build", str(work / "build")]
        argv += ["--result", str(result), "--seed", str(seed)]
        argv += ["--frames", str(frames)] if frames else []
        # The simulator embeds Python and must find the interpreter's packages again.
        extra = {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
        started, tests = time.monotonic(), _FirstTest(bench_reader(show))
        completed = run(
            argv, cwd=work, timeout_s=timeout_s, env=extra, check=False, hint=HINT, on_line=tests,
        )  # fmt: skip
        ended = time.monotonic()
        figures = json.loads(result.read_text(encoding="utf-8")) if result.is_file() else {}
    text = completed.stdout + completed.stderr
    verdict = re.search(r"^(\d+) of (\d+) tests passed$", completed.stdout, re.MULTILINE)
    if verdict is None:
        raise SimulationError("did not finish" + last_lines(text), where="cocotb bench")
    first = ended if tests.at is None else tests.at
    seconds = Seconds("cocotb")
    seconds.add("compile", first - started)
    seconds.add("simulate", ended - first)
    return CocotbRun(int(verdict[2]), int(verdict[1]), figures, text, seconds)


class _FirstTest:
    """Reads the lines of the bench, and notes when its first test begins.

    Args:
        read: Called with each line, if not None.
    """

    def __init__(self, read: Callable[[str], None] | None) -> None:
        self.at: float | None = None
        self._read = read

    def __call__(self, line: str) -> None:
        if self.at is None and _TEST.match(line):
            self.at = time.monotonic()
        if self._read is not None:
            self._read(line)


def bench_reader(show: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """Return a reader of the bench's lines that calls ``show`` for each compiled file and test."""
    compiled = compilation_reader(show)
    if show is None or compiled is None:
        return None

    def read(line: str) -> None:
        found = _TEST.match(line)
        if found:
            show(f"test {found[2]} of {found[3]}: {found[1]}")
        else:
            compiled(line)

    return read
