"""Runs emitted host programs and compares every bit of their outputs (``rlx verify``).

:data:`HOST` is found through the entry-point group ``rlx.verifiers``.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.ir.file import load as load_network
from rlx.runtime import CompileOptions
from rlx.runtime.lowering import lower
from rlx.support.errors import UsageError
from rlx.support.files.scratch import work_folder
from rlx.support.parallel import IN_PROCESS
from rlx.support.text.units import counted
from rlx.targets.verifier import NotRun, Plan
from rlx_host import BACKEND
from rlx_host.emission import REFERENCE_NETWORK
from rlx_sim.host_program import HostProgram
from rlx_sim.names import HOST_TOOLS, unknown_tool
from rlx_sim.protocol import compare
from rlx_sim.seconds import Seconds
from rlx_sim.toolchain import absent, nothing_runs, ways
from rlx_sim.verification import VerificationReport
from rlx_sim.verify import TIMEOUT_S, golden_of, manifest_of, restore_report

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rlx.ir import Array
    from rlx.support.files.golden import Golden
    from rlx.support.files.outputs import Manifest
    from rlx.support.parallel import Workers
    from rlx_sim.protocol import Mismatch, Simulator

_COMPILER: Final = {"compiler": ("cc",)}


class HostVerifier:
    """Verifies an emitted host program: built and run on this machine, also under sanitizers."""

    target: Final = "host"

    def simulators(self) -> Mapping[str, Simulator]:
        """Return this machine's compiler; see ``rlx.targets.verifier.Verifier``."""
        return {"host-program": HostProgram(optimization="-O1")}

    def verify(
        self,
        folder: Path,
        *,
        inputs_limit: int | None = None,
        tools: Sequence[str] | None = None,
        timeout_s: float = TIMEOUT_S,
        waves: Path | None = None,
        progress: Callable[[str], None] | None = None,
        pool: Workers = IN_PROCESS,
    ) -> VerificationReport:
        """Build and run the program of ``folder``, and compare each output bit for bit.

        Outputs that consist of integers on the whole way are compared with NumPy. Where a sum of
        floats leads to one, all are compared with the native backend on this machine, which
        computes the same network; ``largest_difference`` is then that from NumPy.

        Args:
            folder: An output folder of ``rlx emit --target host``.
            inputs_limit: Frames of the golden vectors to run; None for all.
            tools: ``host``, ``sanitize`` or both; None for ``host``.
            timeout_s: Wall-clock limit of each run.
            waves: Must be None: waveforms are of hardware.
            progress: Called with a description of each step.
            pool: Not used.

        Raises:
            OutputError: The folder is not complete or of another target.
            UsageError: A tool's name is unknown, or this machine lacks the instruction set.
            ToolMissingError: There is no compiler.
            SimulationError: The C does not build, or crashed.
            TimeLimitError: A run took too long.
        """
        del pool
        if waves is not None:
            raise UsageError("C programs have no waveforms", hint="leave --waves out")
        manifest = manifest_of(folder, self.target)
        vectors = golden_of(folder, inputs_limit)
        plan = self.plan(folder, tools)
        if not plan.tools:
            raise nothing_runs("C", plan.not_run)
        simulators = [_simulator(name) for name in dict.fromkeys(plan.tools)]
        figures: dict[str, Any] = {"compared_with": manifest.producer.facts["compared_with"]}
        expected = vectors
        if figures["compared_with"] == "native":
            expected = _native(folder, vectors, str(manifest.producer.facts["instruction_set"]))
            figures["largest_difference"] = _largest_difference(expected, vectors)
        runs = [_run(one, folder, expected, timeout_s, progress) for one in simulators]
        return _summary(runs, vectors.frames, plan, manifest, figures)

    def plan(self, folder: Path, tools: Sequence[str] | None) -> Plan:
        """Return the runs of :meth:`verify`; see ``rlx.targets.verifier.Verifier``."""
        del folder
        if tools is not None:
            return Plan(tuple(tools))
        if missing := absent(_COMPILER):
            no_run = NotRun("host", "C on this machine", "no compiler", ways(missing))
            return Plan((), (no_run,))
        return Plan(("host",))

    def tools_used(self, folder: Path, tools: Sequence[str] | None) -> Mapping[str, str]:
        """Return the tools of a verification; see ``rlx.driver.verification.repeat.Repeatable``."""
        names = self.plan(folder, tools).tools
        return {k: v for name in names for k, v in _simulator(name).tools().items()}

    def restored(
        self, folder: Path, report: Mapping[str, Any], verified_at: str
    ) -> VerificationReport:
        """Return a kept verification; see ``rlx.driver.verification.repeat.Repeatable``."""
        return restore_report(folder, report, verified_at)


HOST: Final = HostVerifier()
"""Verifier of ``host`` folders."""

_Run = tuple[HostProgram, list["Mismatch"], Seconds]


def _simulator(name: str) -> HostProgram:
    """Return the run of a name.

    Raises:
        UsageError: There is none.
    """
    if name not in HOST_TOOLS:
        raise unknown_tool(name, HostVerifier.target)
    return HostProgram(sanitize=True, optimization="-O1") if name == "sanitize" else HostProgram()


def _run(
    simulator: HostProgram,
    folder: Path,
    expected: Golden,
    timeout_s: float,
    progress: Callable[[str], None] | None,
) -> _Run:
    """Build the program, run it over all frames and compare every output."""
    if progress is not None:
        progress(f"{simulator.name}: {counted(expected.frames, 'frame')}")
    seconds = Seconds(simulator.name)
    with work_folder("verify") as work:
        with seconds.part("compile"):
            program = simulator.build(folder, work)
        with seconds.part("simulate"):
            simulation = simulator.run(program, expected, work, timeout_s=timeout_s)
        with seconds.part("compare"):
            wrong = compare(simulator.name, simulation, expected)
    return simulator, wrong, seconds


def _native(folder: Path, vectors: Golden, instruction_set: str) -> Golden:
    """Return the vectors with the outputs of the native backend on this machine."""
    graph = load_network(folder / REFERENCE_NETWORK).graph
    options = CompileOptions(backend=BACKEND.name, instruction_set=instruction_set)
    module = lower(graph, BACKEND, options).module
    program = BACKEND.compile(module, options)
    for name, value in graph.initial_states.items():
        program.write_state(name, value)
    is_output = [name not in graph.initial_states for name in graph.output_names]
    frames: list[list[Array]] = []
    for index in range(vectors.frames):
        outputs = program.run([array[index] for array in vectors.inputs])
        pairs = zip(outputs, is_output, strict=True)
        frames.append([np.array(output) for output, is_kept in pairs if is_kept])
    return replace(vectors, outputs=tuple(np.stack(a) for a in zip(*frames, strict=True)))


def _largest_difference(actual: Golden, reference: Golden) -> float:
    """Return the largest difference between two sets of outputs; infinite where one is not."""
    largest = 0.0
    for got, expected in zip(actual.outputs, reference.outputs, strict=True):
        with np.errstate(invalid="ignore"):
            difference = np.abs(got.astype(np.float64) - expected.astype(np.float64))
        equal = (got == expected) | (np.isnan(got) & np.isnan(expected))
        difference = np.where(equal, 0.0, np.where(np.isnan(difference), np.inf, difference))
        largest = max(largest, float(difference.max(initial=0.0)))
    return largest


def _summary(
    runs: Sequence[_Run], frames: int, plan: Plan, manifest: Manifest, figures: Mapping[str, Any]
) -> VerificationReport:
    wrong = [one for _, mismatches, _ in runs for one in mismatches]
    rows = [
        {"simulator": s.name, "compiler": s.compiler, "equal": frames - len(mismatches)}
        for s, mismatches, _ in runs
    ]
    return VerificationReport(
        target=HostVerifier.target,
        inputs=frames,
        equal=frames - len({one.frame for one in wrong}),
        mismatches=tuple(asdict(one) for one in wrong),
        figures={
            **figures,
            "instruction_set": manifest.producer.facts["instruction_set"],
            "runs": rows,
            "seconds": [seconds.as_json() for _, _, seconds in runs],
        },
        tools={k: v for simulator, *_ in runs for k, v in simulator.tools().items()},
        notes=plan.notes,
        not_run=plan.not_run,
        network=str(manifest.producer.facts["prefix"]),
    )
