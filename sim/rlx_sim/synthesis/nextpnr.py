"""Finds nextpnr, places and routes netlists with it, and reads its reports: clock, cells.

Tests: tests/sim/synthesis/test_build.py
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import DoesNotFitError, SimulationError, ToolMissingError
from rlx.support.process import failure, run
from rlx_fpga.packaging.synthesis import UNCONSTRAINED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rlx.support.process import Completed
    from rlx_fpga.devices import FpgaDevice

MIN_NEXTPNR_VERSION: Final = (0, 6)
"""Oldest system nextpnr that writes the reports read here."""

HINT: Final = "install nextpnr for ECP5 and iCE40: pip install 'rlx[synth]'"
TIMEOUT_S: Final = 3600.0

# Cell types in nextpnr's report, by resource.
_PLACED: Final = {
    "ecp5": {
        "lut": "TRELLIS_COMB",
        "ff": "TRELLIS_FF",
        "dsp": "MULT18X18D",
        "bram": "DP16KD",
    },
    "ice40": {"lut": "ICESTORM_LC", "dsp": "ICESTORM_DSP", "bram": "ICESTORM_RAM"},
}

_PHASES: Final = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"Info: Packing (\w+)", "packing {0}"),
        (r"Info: +at initial placer iter (\d+)", "placing, start {0}"),
        (r"Info: +at iteration #(\d+), type", "placing, iteration {0}"),
        (r"Info: +at iteration #(\d+): temp", "refining the placement, iteration {0}"),
        (r"Info: Routing globals", "routing clocks"),
        (r"Info: Routing (\d+) arcs", "routing {0} arcs"),
        (r"Info: +\d+ \|[^|]*\|[^|]*\| *(\d+)\|", "routing, {0} arcs left"),
        (r"Info: Critical path report", "timing analysis"),
    )
)
"""Lines of nextpnr's log, and the progress that each of them means."""

_USED: Final = re.compile(r"^Info:\s+(\w+):\s*(\d+)/\s*(\d+)\s+\d+%", re.MULTILINE)
_FULL: Final = re.compile(
    r"ERROR: (.*(?:no BELs remaining|Unable to find (?:legal )?placement|unable to place"
    r"|failed to place|No Bels? (?:of type|available)|no more).*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Nextpnr:
    """An installed nextpnr.

    Attributes:
        name: ``nextpnr-ecp5``, ``nextpnr-ice40``.
        command: Program and its first arguments.
        version: As ``0.11.1``.
    """

    name: str
    command: tuple[str, ...]
    version: str


@dataclass(frozen=True, slots=True)
class TimingPath:
    """The longest path between two registers of a clock.

    Attributes:
        start: Cell and port that it leaves.
        end: Cell and port that it arrives at.
        logic_ns: Time in cells.
        routing_ns: Time on wires.
    """

    start: str
    end: str
    logic_ns: float
    routing_ns: float

    def to_json(self) -> dict[str, object]:
        """Return the path as one JSON object."""
        return {
            "from": self.start,
            "to": self.end,
            "logic_ns": round(self.logic_ns, 3),
            "routing_ns": round(self.routing_ns, 3),
        }


@dataclass(frozen=True, slots=True)
class RoutedDesign:
    """A design that was placed and routed.

    Attributes:
        seed: Seed of the placement.
        fmax_mhz: Highest clock that every path between registers allows.
        used: Number of placed cells by nextpnr's types.
        longest: The path that limits the clock; None if no path between registers was reported.
    """

    seed: int
    fmax_mhz: float
    used: Mapping[str, int]
    longest: TimingPath | None


@cache
def find_nextpnr(name: str) -> Nextpnr:
    """Return the system's nextpnr if it is new enough, else that of the YoWASP wheel.

    Args:
        name: ``nextpnr-ecp5`` or ``nextpnr-ice40``.

    Raises:
        ToolMissingError: There is neither.
    """
    system = shutil.which(name)
    if system is not None:
        version = _version((system,))
        if tuple(int(part) for part in version.split(".")[:2]) >= MIN_NEXTPNR_VERSION:
            return Nextpnr(name, (system,), version)
    module = name.replace("-", "_")
    if importlib.util.find_spec(f"yowasp_{module}") is None:
        raise ToolMissingError(
            f"found no {name} {'.'.join(map(str, MIN_NEXTPNR_VERSION))} or later, neither on PATH"
            " nor as YoWASP wheel",
            hint=HINT,
        )
    start = f"from yowasp_{module} import _run_{module}_argv as run; run()"
    command = (sys.executable, "-c", start)
    return Nextpnr(name, command, _version(command))


def place_and_route(
    folder: Path,
    device: FpgaDevice,
    *,
    seed: int,
    target_mhz: float,
    locations: Path | None = None,
    timeout_s: float = TIMEOUT_S,
    show: Callable[[str], None] | None = None,
) -> RoutedDesign:
    """Place and route ``<device>.json`` of ``folder``.

    Args:
        folder: Holds the netlist; a report and a log are written next to it.
        device: The device to place it in; its ``pnr`` must not be empty.
        seed: Seed of the placement.
        target_mhz: Clock that nextpnr optimizes for; a lower result is not an error.
        locations: File in ``folder`` for the placed netlist, or None.
        timeout_s: Wall-clock limit.
        show: Called with the phase of nextpnr and its progress.

    Raises:
        DoesNotFitError: The device has too few cells of a kind.
        ToolMissingError: nextpnr is not installed.
        SimulationError: nextpnr failed for another reason.
        TimeLimitError: It took too long.
    """
    program, *arguments = device.pnr
    tool = find_nextpnr(program)
    stem = f"{device.name}_seed{seed}"
    # Relative paths only: YoWASP's tools see another temporary folder than we do.
    argv = [
        *tool.command,
        *arguments,
        *("--json", f"{device.name}.json", "--report", f"{stem}.json", "--log", f"{stem}.log"),
        *("--seed", str(seed), "--freq", f"{target_mhz:g}"),
        *("--timing-allow-fail", UNCONSTRAINED[device.family]),
        *(() if locations is None else ("--write", locations.name)),
    ]
    completed = run(
        argv, cwd=folder, timeout_s=timeout_s, hint=HINT, check=False, on_line=phase_reader(show)
    )
    if completed.returncode != 0:
        raise _refusal(completed, device, folder / f"{stem}.log")
    return read_routed(folder / f"{stem}.json", seed)


def phase_reader(show: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """Return a reader of nextpnr's lines that calls ``show`` with the phase and its progress."""
    if show is None:
        return None

    def read(line: str) -> None:
        for pattern, text in _PHASES:
            found = pattern.match(line)
            if found:
                show(text.format(*found.groups()))
                return

    return read


def placed(used: Mapping[str, int], family: str) -> dict[str, int]:
    """Return the number of placed cells of each resource that nextpnr reports for ``family``."""
    return {name: used[cell] for name, cell in _PLACED[family].items() if cell in used}


def read_routed(path: Path, seed: int) -> RoutedDesign:
    """Return the content of nextpnr's report.

    Raises:
        SimulationError: The report is missing or has another form.
    """
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        clocks = {name: float(found["achieved"]) for name, found in report["fmax"].items()}
        used = {name: int(row["used"]) for name, row in report["utilization"].items()}
        slowest = min(clocks, key=lambda name: clocks[name])
        longest = _longest(report.get("critical_paths", []), slowest)
    except (OSError, ValueError, KeyError, TypeError):
        raise SimulationError(f"wrote no report to {path.name}", where="nextpnr") from None
    return RoutedDesign(seed, clocks[slowest], used, longest)


def _longest(paths: Sequence[Mapping[str, Any]], clock: str) -> TimingPath | None:
    """Return the longest path from ``clock`` to itself."""
    for path in paths:
        if path["from"] == path["to"] == f"posedge {clock}":
            steps = path["path"]
            wires = [step["delay"] for step in steps if step["type"] == "routing"]
            return TimingPath(
                _end(steps[0]["from"]),
                _end(steps[-1]["to"]),
                sum(step["delay"] for step in steps) - sum(wires),
                sum(wires),
            )
    return None


def _end(pin: Mapping[str, Any]) -> str:
    return f"{pin['cell']}.{pin['port']}" if "port" in pin else str(pin["cell"])


def _refusal(
    completed: Completed, device: FpgaDevice, log: Path
) -> SimulationError | DoesNotFitError:
    """Return the error for a run that failed: too few cells, or another reason."""
    text = completed.stderr + completed.stdout
    if log.is_file():
        text += log.read_text(errors="replace")
    rows = [(cell, int(used), int(available)) for cell, used, available in _USED.findall(text)]
    over = [f"{used} {cell} of {available}" for cell, used, available in rows if used > available]
    full = _FULL.search(text)
    if over or full:
        excess = ", ".join(over) if over else full[1] if full else ""
        return DoesNotFitError(
            f"the design does not fit {device.name}: {excess}",
            hint="emit with a smaller budget (--dsp), or for a larger device (--device)",
        )
    return failure(completed, hint=HINT)


def _version(command: tuple[str, ...]) -> str:
    # The first start of the YoWASP wheel translates its WebAssembly, which takes a minute.
    done = run((*command, "--version"), timeout_s=600, hint=HINT)
    match = re.search(r"Version (?:nextpnr-)?(\d+\.\d+(?:\.\d+)?)", done.stdout + done.stderr)
    if match is None:
        raise SimulationError(f"printed no version: {done.stdout[:100]!r}", where="nextpnr")
    return match[1]
