"""Simulators of an emitted hardware folder, and its verification with all of them.

Tests: tests/sim/hardware/test_cocotb_bench.py
"""

from __future__ import annotations

import importlib.metadata
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import UsageError
from rlx.support.files.outputs import new_file
from rlx.support.files.scratch import work_folder
from rlx.support.parallel import IN_PROCESS
from rlx.support.steps import steps_of
from rlx.support.text.units import counted
from rlx_sim.hardware.cocotb_bench import run_bench
from rlx_sim.hardware.duration import expected
from rlx_sim.hardware.emitted_report import read_report
from rlx_sim.hardware.plain import plain_folder
from rlx_sim.hardware.stream import Stalls, StreamBench
from rlx_sim.hardware.testbench import run_testbench
from rlx_sim.hardware.verilator import find_verilator, lint
from rlx_sim.parts import run_stream
from rlx_sim.protocol import Simulation, compare
from rlx_sim.seconds import Seconds
from rlx_sim.toolchain import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rlx.support.files.golden import Golden
    from rlx.support.parallel import Workers
    from rlx.support.steps import Steps
    from rlx_fpga.devices import FpgaDevice
    from rlx_sim.hardware.cocotb_bench import CocotbRun
    from rlx_sim.hardware.stream import StreamRun

STALLED_FRAMES: Final = 2
STALLED: Final = Stalls(seed=2, inputs=77, outputs=102, reset_after=9)
"""Disturbance in the second run of a verification: stalls in 30 % and 40 % of cycles, a reset."""

_READ: Final = ("rtl", "mem", "synth")
"""Folders that synthesis reads."""


@dataclass(frozen=True, slots=True)
class VerilatorHarness:
    """The emitted ``tb/harness.cpp`` under Verilator.

    Attributes:
        stalls: Disturbance of the core, or None.
    """

    stalls: Stalls | None = None
    name: str = "verilator"

    def simulate(self, folder: Path, vectors: Golden, *, timeout_s: float) -> Simulation:
        """Build the core of ``folder`` and send it ``vectors.inputs``, one after the other.

        Raises:
            OutputError: The folder does not hold a hardware design.
            SimulationError: It does not build, got stuck, or violated the stream protocol.
            TimeLimitError: It took longer than ``timeout_s``, for the build or for the run.
        """
        with _built(folder, timeout_s) as bench:
            return _simulation(bench.run(vectors.inputs, stalls=self.stalls, timeout_s=timeout_s))


def verify_fpga(
    folder: Path,
    vectors: Golden,
    *,
    timeout_s: float,
    cocotb: bool = True,
    bench_limit: int | None = None,
    verilator: bool = True,
    testbenches: Sequence[str] = (),
    netlist: FpgaDevice | None = None,
    waves: Path | None = None,
    progress: Callable[[str], None] | None = None,
    pool: Workers = IN_PROCESS,
) -> dict[str, Any]:
    """Run the requested benches of an emitted design, and compare with ``vectors``.

    Lint and the C++ harness over all frames without stalls, then over two with random stalls on
    both sides after a reset in mid-frame; the cocotb bench with the folder's own golden vectors;
    the SystemVerilog testbench; the harness with the mapped netlist in place of the design.

    Args:
        folder: The emitted design.
        vectors: Inputs and the reference's outputs.
        timeout_s: Wall-clock limit of each step.
        cocotb: Whether to run the cocotb bench.
        bench_limit: Frames of its first test, and of the testbenches; None for their defaults.
        verilator: Whether to lint the design and to run the C++ harness.
        testbenches: Simulators for the SystemVerilog testbench: ``verilator``, ``icarus``.
        netlist: Device that the design is mapped to, to simulate the netlist; None for no netlist.
        waves: File for a waveform of the run without stalls, ``.vcd`` or ``.fst``.
        progress: Called with a description of each step.
        pool: Runs the frames of the harness without stalls, in parts.

    Returns:
        ``target``, ``inputs``, ``equal`` (inputs with correct outputs), ``mismatches`` (the first
        of each wrong frame; one more if a test of the cocotb bench failed), ``latency`` and
        ``interval`` in cycles, the ``predicted_interval`` of the report, ``stalled``, ``cocotb``,
        ``testbench``, ``testbench_icarus``, ``netlist``, ``lint``, ``waves`` and its ``layouts``,
        ``tools``, ``runs``: the results of each simulation, as rows of a table, and ``seconds``:
        the time of the parts of each.

    Raises:
        OutputError: The folder does not hold a hardware design.
        UsageError: The waveform's file has another suffix.
        SimulationError: A step failed for another reason than wrong outputs.
        TimeLimitError: A step took too long.
    """
    notify = steps_of(progress)
    report = read_report(folder)
    if waves is None and netlist is None:  # the time for waves depends on activity
        size = _megabytes(folder, report["interface"]["sources"])
        expected_steps = expected(
            report,
            size,
            vectors.frames,
            verilator=verilator,
            cocotb=cocotb,
            bench_limit=bench_limit,
            testbenches=testbenches,
        )
        notify.expect(*expected_steps)
    result = _nothing_run(report)
    if verilator:
        result |= _harness_result(report, folder, vectors, waves, timeout_s, notify, pool)
    _add_benches(
        result, folder, bench_limit, timeout_s, notify, cocotb=cocotb, testbenches=testbenches
    )
    result["runs"] = _runs(result)
    if not verilator:
        result |= _of_first_run(result["runs"], vectors.frames)
    if netlist is not None:
        _add_netlist(result, folder, report, netlist, vectors, timeout_s, notify, pool)
    return result


def _nothing_run(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results before the first simulation."""
    return {
        "target": "fpga",
        "mismatches": [],
        "latency": None,
        "interval": None,
        "predicted_interval": report.get("interval"),
        "lint": "not run",
        "tools": {},
        "seconds": [],
    }


def _harness_result(
    report: Mapping[str, Any],
    folder: Path,
    vectors: Golden,
    waves: Path | None,
    timeout_s: float,
    notify: Steps,
    pool: Workers,
) -> dict[str, Any]:
    """Lint the design, and return the results of the C++ harness."""
    design = report["interface"]
    notify("lint")
    seconds = [Seconds("lint"), Seconds("verilator")]
    with seconds[0].part("lint"):
        _lint(folder, design, timeout_s)
    plain, stalled = _harness_runs(folder, vectors, waves, timeout_s, notify, seconds[1], pool)
    with seconds[1].part("compare"):
        result = _result(vectors, plain, stalled)
    result["seconds"] = [one.as_json() for one in seconds]
    if waves is not None:
        result |= {"waves": str(waves), "layouts": layouts(folder, design["top"])}
    return result


def _of_first_run(runs: Sequence[Mapping[str, Any]], frames: int) -> dict[str, Any]:
    """Return the totals of a verification without the harness: those of its first bench.

    Args:
        runs: Rows of the benches.
        frames: Frames of a bench that failed before it counted any, or of the netlist.
    """
    if not runs:
        return {"inputs": frames, "equal": frames}
    first = runs[0]
    return {
        "inputs": first["inputs"] or frames,
        "equal": first["equal"] or 0,
        "latency": first["latency"] or None,
        "interval": first["interval"] or None,
    }


def _add_benches(
    result: dict[str, Any],
    folder: Path,
    bench_limit: int | None,
    timeout_s: float,
    notify: Steps,
    *,
    cocotb: bool,
    testbenches: Sequence[str],
) -> None:
    """Run the requested emitted benches, and add their results."""
    if cocotb:
        notify("cocotb: the emitted bench")
        bench_run = run_bench(folder, frames=bench_limit, timeout_s=timeout_s, show=notify.detail)
        result["seconds"].append(bench_run.seconds.as_json())
        _add_bench(result, bench_run)
    for simulator in testbenches:
        notify(f"{simulator}: the emitted testbench")
        _add_testbench(result, folder, simulator, bench_limit, timeout_s, notify.detail)


def _megabytes(folder: Path, sources: Sequence[str]) -> float:
    return sum((folder / path).stat().st_size for path in sources) / 1e6


def _lint(folder: Path, design: Mapping[str, Any], timeout_s: float) -> None:
    with plain_folder(folder) as path:
        lint(["lint.vlt", *design["sources"]], design["top"], cwd=path, timeout_s=timeout_s)


def trace_format(waves: Path | None) -> str | None:
    """Return ``vcd`` or ``fst`` for a file of that suffix, None for no file.

    Raises:
        UsageError: The file has another suffix.
    """
    if waves is None:
        return None
    form = waves.suffix.removeprefix(".").lower()
    if form not in ("vcd", "fst"):
        raise UsageError(
            f"expected a waveform file .vcd or .fst, got {waves.name!r}",
            hint="use --waves out.vcd",
        )
    return form


def layouts(folder: Path, top: str) -> list[str]:
    """Return the viewer configurations for a waveform of the harness, if there are any."""
    found = (folder / "tb" / f"{top}.{kind}" for kind in ("gtkw", "sucl"))
    return [str(path) for path in found if path.is_file()]


def _harness_runs(
    folder: Path,
    vectors: Golden,
    waves: Path | None,
    timeout_s: float,
    notify: Steps,
    seconds: Seconds,
    pool: Workers,
) -> tuple[Simulation, Simulation]:
    """Return the runs over all frames without stalls, and over a few with stalls and a reset."""
    few = vectors.first(STALLED_FRAMES)
    notify("verilator: build")
    with ExitStack() as stack:
        with seconds.part("compile"):
            bench = stack.enter_context(
                _built(folder, timeout_s, trace=trace_format(waves), show=notify.detail)
            )
        stack.enter_context(seconds.part("simulate"))
        notify(f"verilator: {counted(vectors.frames, 'frame')}")
        if waves is None:
            plain = run_stream("verilator", bench, vectors, pool, timeout_s=timeout_s)
        else:
            with new_file(waves) as path:
                plain = _simulation(bench.run(vectors.inputs, waves=path, timeout_s=timeout_s))
        notify(f"verilator: {counted(few.frames, 'frame')}, pauses and a reset")
        stalled = bench.run(few.inputs, stalls=STALLED, timeout_s=timeout_s)
    return plain, _simulation(stalled)


def _result(vectors: Golden, plain: Simulation, stalled: Simulation) -> dict[str, Any]:
    """Return the results of the harness runs."""
    few = vectors.first(STALLED_FRAMES)
    wrong = compare("verilator", plain, vectors)
    disturbed = compare("verilator, stalled", stalled, few)
    return {
        "inputs": vectors.frames,
        "equal": vectors.frames - len(wrong),
        "mismatches": [asdict(one) for one in (*wrong, *disturbed)],
        "latency": plain.latency,
        "interval": plain.interval,
        "stalled": {"inputs": few.frames, "equal": few.frames - len(disturbed)},
        "lint": "clean",
        "tools": {"verilator": find_verilator().version},
    }


def _add_bench(result: dict[str, Any], bench_run: CocotbRun) -> None:
    """Add the results of the cocotb bench; a failed test is a mismatch."""
    result["cocotb"] = {"tests": bench_run.tests, "passed": bench_run.passed, **bench_run.figures}
    cocotb = importlib.metadata.version("cocotb")
    result["tools"] |= {"cocotb": cocotb, "verilator": find_verilator().version}
    if bench_run.passed != bench_run.tests:
        result["mismatches"].append({"simulator": "cocotb", **result["cocotb"]})


def _add_testbench(
    result: dict[str, Any],
    folder: Path,
    simulator: str,
    frames: int | None,
    timeout_s: float,
    show: Callable[[str], None],
) -> None:
    """Add the results of the SystemVerilog testbench; a failure is a mismatch."""
    bench_run = run_testbench(
        folder, simulator=simulator, frames=frames, timeout_s=timeout_s, show=show
    )
    name = "testbench" if simulator == "verilator" else f"testbench_{simulator}"
    result[name] = bench_run.to_json()
    result["seconds"].append(bench_run.seconds.as_json())
    result["tools"] |= {simulator: find(simulator).version}
    if not bench_run.passed:
        result["mismatches"].append({"simulator": name, "verdict": bench_run.verdict})


def _add_netlist(
    result: dict[str, Any],
    folder: Path,
    report: Mapping[str, Any],
    device: FpgaDevice,
    vectors: Golden,
    timeout_s: float,
    notify: Steps,
    pool: Workers,
) -> None:
    """Map the design to a device, and add the results of its netlist."""
    from rlx_fpga.packaging.synthesis import synthesize
    from rlx_sim.hardware.gates.run import run_netlist

    design = report["interface"]
    notify(f"yosys: {device.name}")
    seconds = Seconds("netlist")
    with work_folder("synthesis") as work:
        with seconds.part("synthesize"):
            synthesis = synthesize(
                design_sources(folder), design["sources"], design["top"], device, netlist=True,
                keep=work, timeout_s=timeout_s, show=notify.detail,
            )  # fmt: skip
        run = run_netlist(
            folder, work / f"{device.name}_netlist.json", design, device, vectors,
            stalls=STALLED, timeout_s=timeout_s, notify=notify, seconds=seconds, pool=pool,
        )  # fmt: skip
    result["seconds"].append({**seconds.as_json(), "simulation": run.name})
    tool, _, version = str(synthesis["tool"]).partition(" ")
    result["tools"] |= {tool: version, "verilator": find_verilator().version}
    result["netlist"] = run.as_json()
    for figure in ("latency", "interval"):
        result[figure] = result[figure] or result["netlist"][figure]
    result["runs"] += run.rows()
    result["mismatches"] += run.mismatches()
    wrong = {one["frame"] for one in result["mismatches"] if "frame" in one}
    result["equal"] = result["inputs"] - len(wrong)


def design_sources(folder: Path) -> dict[str, bytes]:
    """Return the files of an emitted folder that synthesis reads, by relative path."""
    found = (path for part in _READ for path in sorted((folder / part).rglob("*")))
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in found if path.is_file()
    }


def _runs(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each simulation."""
    bench = result.get("cocotb", {})

    def part(prefix: str) -> dict[str, Any]:
        return {k.removeprefix(prefix): n for k, n in bench.items() if k.startswith(prefix)}

    rows = {
        "verilator": result if "stalled" in result else {},
        "verilator, pauses and a reset": result.get("stalled", {}),
        "cocotb": bench,
        "cocotb, pauses": part("stalled_"),
        "cocotb, a reset": part("reset_"),
        "cocotb, registers": part("registers_"),
        "cocotb, counters": part("counters_"),
        "testbench": result.get("testbench", {}),
        "testbench, Icarus": result.get("testbench_icarus", {}),
    }
    columns = ("inputs", "equal", "latency", "interval")
    return [
        {"simulation": name, **{column: row.get(column) for column in columns}}
        for name, row in rows.items()
        if row
    ]


@contextmanager
def _built(
    folder: Path,
    timeout_s: float,
    *,
    trace: str | None = None,
    show: Callable[[str], None] | None = None,
) -> Iterator[StreamBench]:
    """Build the harness outside the folder; it exists as long as the context."""
    interface = read_report(folder)["interface"]
    files = ["lint.vlt", *interface["sources"], "tb/harness.cpp"]
    with plain_folder(folder) as plain, work_folder("verilator") as work:
        yield StreamBench.build(
            interface, files, folder=plain, output=work, trace=trace, timeout_s=timeout_s, show=show
        )


def _simulation(run: StreamRun) -> Simulation:
    return Simulation(
        run.outputs, cycles=run.cycles, latency=run.latency, interval=run.interval, log=run.log
    )
