"""Runs the output of a target and compares it with the golden vectors (``rlx verify``).

:data:`CORTEXM` and :data:`FPGA` are found through the entry-point group ``rlx.verifiers``.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

from rlx.driver.description import output_names
from rlx.support.errors import OutputError, ToolMissingError, UsageError
from rlx.support.files.golden import check_frames, read_golden
from rlx.support.files.outputs import read_manifest
from rlx.support.parallel import IN_PROCESS
from rlx.support.text.units import counted
from rlx.targets.milliseconds import CycleRange
from rlx.targets.verifier import LayerCounts, Plan
from rlx_sim.bound.folder import folder_bounds
from rlx_sim.budgets import FIRMWARE, HARDWARE, firmware_taken, hardware_taken
from rlx_sim.c_run import CRun, run_c
from rlx_sim.cycles.folder import folder_cycles
from rlx_sim.firmware.firmware import FirmwareBuild, known_cpus
from rlx_sim.firmware.fit import check_fit
from rlx_sim.firmware.harness import arena_bytes
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.profile import layer_instructions
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.simulators import (
    emulation,
    is_emulated,
    kinds,
    missing_emulation,
    plan_of,
    simulator_of,
)
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.hardware.plain import plain_folder
from rlx_sim.hardware.plan import hardware_plan
from rlx_sim.names import FPGA_TOOLS, unknown_tool
from rlx_sim.toolchain import find, nothing_runs
from rlx_sim.verification import VerificationReport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rlx.driver.verification.budget import Quantity, Taken
    from rlx.support.files.golden import Golden
    from rlx.support.files.outputs import Manifest
    from rlx.support.parallel import Workers
    from rlx.targets.verifier import CountBounds, ModelledCycles, Verification
    from rlx_fpga.devices import FpgaDevice
    from rlx_sim.protocol import Simulator

    Progress = Callable[[str], None]

TIMEOUT_S: Final = 600.0


class CortexmVerifier:
    """Verifies emitted C: on the host, under sanitizers, under QEMU, under unicorn."""

    target: Final = "cortexm"

    def simulators(self) -> Mapping[str, Simulator]:
        """Return the host's compiler and both emulators; see ``rlx.targets.verifier.Verifier``."""
        return {"host-c": HostC(optimization="-O1"), "qemu": Qemu(), "unicorn": Unicorn()}

    def verify(
        self,
        folder: Path,
        *,
        inputs_limit: int | None = None,
        tools: Sequence[str] | None = None,
        timeout_s: float = TIMEOUT_S,
        waves: Path | None = None,
        progress: Progress | None = None,
        pool: Workers = IN_PROCESS,
    ) -> VerificationReport:
        """Build and run the C of ``folder``, and compare each output byte.

        Args:
            folder: An output folder of ``rlx emit --target cortexm``.
            inputs_limit: Frames of the golden vectors to run; None for all.
            tools: Some of ``host``, ``sanitize``, ``qemu``, ``unicorn``; the last two may name a
                compiler: ``qemu:gcc`` (as by default), ``unicorn:zig`` (as by default). None for
                ``host`` and ``qemu``, or ``unicorn`` in place of the latter where it is missing;
                simulations that cannot run here are in ``not_run`` of the result.
            timeout_s: Wall-clock limit of each run.
            waves: Must be None: waveforms are of hardware.
            progress: Called with a description of each step.
            pool: Runs the frames, in parts.

        Returns:
            The figures hold ``instructions`` (the maximum of a frame), ``text_bytes``,
            ``const_bytes``, ``ram_bytes`` (arena and variables), ``stack_bytes``, of the first
            firmware that was run, ``runs`` with the results of each simulation, and ``seconds``
            with the time of its parts.

        Raises:
            OutputError: The folder is not complete or of another target.
            UsageError: A tool's name is unknown.
            ToolMissingError: A requested tool is not installed, or no simulation can run.
            SimulationError: The C does not build, crashed, or violated its interface.
            TimeLimitError: A run took too long.
            DoesNotFitError: Measured bytes exceed the limits that the folder was emitted for.
        """
        if waves is not None:
            raise UsageError("C programs have no waveforms", hint="leave --waves out")
        manifest = manifest_of(folder, self.target)
        vectors = golden_of(folder, inputs_limit)
        cpu = _cpu(manifest)
        plan = self.plan(folder, tools)
        if not plan.tools:
            raise nothing_runs("C", plan.not_run)
        # Two names may mean the same: "unicorn" is "unicorn:zig".
        simulators = list(dict.fromkeys(simulator_of(name, cpu) for name in plan.tools))
        runs = []
        # GCC cannot write debugging information for a path with a line break.
        with plain_folder(folder) as plain:
            for simulator in simulators:
                if progress is not None:
                    progress(f"{simulator.name}: {counted(vectors.frames, 'frame')}")
                runs.append(run_c(simulator, plain, vectors, timeout_s, pool))
                if (firmware := runs[-1].firmware) is not None:
                    check_fit(firmware, runs[-1].simulation.log, manifest, folder)
        return _summary(runs, vectors.frames, plan, manifest)

    def plan(self, folder: Path, tools: Sequence[str] | None) -> Plan:
        """Return the simulations of :meth:`verify`; see ``rlx.targets.verifier.Verifier``."""
        if tools is not None:
            return Plan(tuple(tools), names=kinds(tools))
        return plan_of(_cpu(manifest_of(folder, self.target, check_files=False)))

    def tools_used(self, folder: Path, tools: Sequence[str] | None) -> Mapping[str, str]:
        """Return the tools of a verification; see ``rlx.driver.verification.repeat.Repeatable``."""
        cpu = _cpu(manifest_of(folder, self.target, check_files=False))
        names = self.plan(folder, tools).tools
        return {k: v for name in names for k, v in simulator_of(name, cpu).tools().items()}

    def restored(
        self, folder: Path, report: Mapping[str, Any], verified_at: str
    ) -> VerificationReport:
        """Return a kept verification; see ``rlx.driver.verification.repeat.Repeatable``."""
        return restore_report(folder, report, verified_at)

    @property
    def quantities(self) -> Mapping[str, Quantity]:
        """Limits that a budget may have; see ``rlx.driver.verification.budget.Budgeted``."""
        return FIRMWARE

    def taken(
        self, folder: Path, result: Verification, build: Mapping[str, Any] | None
    ) -> Mapping[str, Taken]:
        """Return the measured amounts; see ``rlx.driver.verification.budget.Budgeted``."""
        del folder, build
        return firmware_taken(result.figures)

    def layer_counts(
        self, folder: Path, *, timeout_s: float = TIMEOUT_S, progress: Progress | None = None
    ) -> LayerCounts | None:
        """Return the instructions of each layer (``rlx.targets.verifier.LayerCounts``).

        None for a processor that is not in any emulator.

        Raises:
            OutputError: The folder is not complete or of another target.
            ToolMissingError: No compiler for Arm, or no emulator, is installed.
            SimulationError: The C does not build or crashed.
            TimeLimitError: It took too long.
        """
        manifest = manifest_of(folder, self.target)
        cpu, prefix = _cpu(manifest), str(manifest.producer.facts["prefix"])
        if not is_emulated(cpu):
            return None
        if (missing := missing_emulation(cpu)) is not None:
            raise ToolMissingError(f"{missing.platform}: {missing.reason}", hint=missing.install)
        simulator = simulator_of(emulation(cpu)[0], cpu)
        assert not isinstance(simulator, HostC)
        if progress is not None:
            progress(f"{simulator.name}: instructions of each layer")
        with plain_folder(folder) as plain:
            counts = layer_instructions(
                plain, prefix, read_golden(folder), simulator=simulator, timeout_s=timeout_s
            )
        return LayerCounts("instructions", counts, simulator.tools())

    def count_bounds(self, folder: Path, *, progress: Progress | None = None) -> CountBounds:
        """Return the bounds on the instructions (``rlx.targets.verifier.CountBounds``)."""
        manifest = manifest_of(folder, self.target)
        prefix = str(manifest.producer.facts["prefix"])
        return folder_bounds(folder, _cpu(manifest), prefix, progress=progress)

    def modelled_cycles(self, folder: Path, **options: Any) -> ModelledCycles:  # noqa: ANN401
        """Return the cycles (``rlx.targets.verifier.modelled_cycles``)."""
        manifest = manifest_of(folder, self.target)
        return folder_cycles(folder, _cpu(manifest), manifest.producer.facts, **options)


class FpgaVerifier:
    """Verifies emitted hardware: lint, Verilator with and without stalls, the cocotb bench."""

    target: Final = "fpga"

    def simulators(self) -> Mapping[str, Simulator]:
        """Return Verilator with stalls on both sides; see ``rlx.targets.verifier.Verifier``."""
        from rlx_sim.hardware.fpga import VerilatorHarness
        from rlx_sim.hardware.stream import Stalls

        return {"verilator": VerilatorHarness(Stalls(seed=5, inputs=60, outputs=60))}

    def verify(
        self,
        folder: Path,
        *,
        inputs_limit: int | None = None,
        tools: Sequence[str] | None = None,
        timeout_s: float = TIMEOUT_S,
        waves: Path | None = None,
        progress: Progress | None = None,
        pool: Workers = IN_PROCESS,
    ) -> VerificationReport:
        """Build and run the design in ``folder``, and compare each output.

        Args:
            folder: An output folder of ``rlx emit --target fpga``.
            inputs_limit: Frames of the golden vectors to run; None for all.
            tools: Some of ``verilator`` (lint, and the C++ harness), ``cocotb``, ``testbench`` (the
                SystemVerilog testbench under Verilator), ``testbench:icarus`` (in Icarus Verilog)
                and ``netlist`` (the design mapped to its device by Yosys, under Verilator); None
                for the first two whose tools are installed, or ``testbench:icarus`` in place of
                both.
            timeout_s: Wall-clock limit of each step.
            waves: File for a waveform of ``verilator``, ``.vcd`` or ``.fst``, or None.
            progress: Called with a description of each step.
            pool: Runs the frames of Verilator, in parts.

        Returns:
            The figures hold ``latency`` and ``interval`` in cycles, and those that
            :func:`rlx_sim.hardware.fpga.verify_fpga` adds.

        Raises:
            OutputError: The folder is not complete or of another target.
            UsageError: A tool's name is unknown.
            ToolMissingError: A requested tool is not installed, or no simulation can run.
            SimulationError: A step failed for another reason than wrong outputs.
            TimeLimitError: A step took too long.
        """
        from rlx_sim.hardware.fpga import verify_fpga

        manifest = manifest_of(folder, self.target)
        vectors = golden_of(folder, inputs_limit)
        plan = self.plan(folder, tools)
        if tools is None and not plan.tools:
            raise nothing_runs("SystemVerilog", plan.not_run)
        self.tools_used(folder, tools)  # refuse missing tools before building
        if waves is not None:
            find("verilator")
        benches = {"testbench": "verilator", "testbench:icarus": "icarus"}
        testbenches = [benches[name] for name in plan.tools if name in benches]
        results = verify_fpga(
            folder, vectors, timeout_s=timeout_s, cocotb="cocotb" in plan.tools,
            bench_limit=inputs_limit,
            # Nothing else writes waveforms.
            verilator="verilator" in plan.tools or waves is not None,
            testbenches=testbenches, netlist=_netlist_device(manifest, tools), waves=waves,
            progress=progress, pool=pool,
        )  # fmt: skip
        return VerificationReport(
            target=self.target,
            inputs=results.pop("inputs"),
            equal=results.pop("equal"),
            mismatches=tuple(results.pop("mismatches")),
            tools=results.pop("tools"),
            figures=results,
            notes=plan.notes,
            not_run=plan.not_run,
            network=_network(manifest),
        )

    def plan(self, folder: Path, tools: Sequence[str] | None) -> Plan:
        """Return the simulations of :meth:`verify`; see ``rlx.targets.verifier.Verifier``."""
        del folder
        for name in tools or ():
            if name not in FPGA_TOOLS:
                raise unknown_tool(name, self.target)
        return hardware_plan() if tools is None else Plan(tuple(tools))

    def tools_used(self, folder: Path, tools: Sequence[str] | None) -> Mapping[str, str]:
        """Return the tools of a verification; see ``rlx.driver.verification.repeat.Repeatable``."""
        names = self.plan(folder, tools).tools
        used = set()
        if any(name != "testbench:icarus" for name in names):
            used |= {"verilator", "c++", "make"}
        if "cocotb" in names:
            used.add("cocotb")
        if "testbench:icarus" in names:
            used.add("icarus")
        if "netlist" in names:
            used.add("yosys")
        return {name: find(name).version for name in sorted(used)}

    def restored(
        self, folder: Path, report: Mapping[str, Any], verified_at: str
    ) -> VerificationReport:
        """Return a kept verification; see ``rlx.driver.verification.repeat.Repeatable``."""
        return restore_report(folder, report, verified_at)

    @property
    def quantities(self) -> Mapping[str, Quantity]:
        """Limits that a budget may have; see ``rlx.driver.verification.budget.Budgeted``."""
        return HARDWARE

    def taken(
        self, folder: Path, result: Verification, build: Mapping[str, Any] | None
    ) -> Mapping[str, Taken]:
        """Return the measured amounts; see ``rlx.driver.verification.budget.Budgeted``."""
        return hardware_taken(folder, result.figures, build)


CORTEXM: Final = CortexmVerifier()
"""Verifier of ``cortexm`` folders."""

FPGA: Final = FpgaVerifier()
"""Verifier of ``fpga`` folders."""


def manifest_of(folder: Path, target: str, *, check_files: bool = True) -> Manifest:
    """Return the manifest of a folder that was emitted for a target.

    Raises:
        OutputError: It was emitted for another one, or is not complete.
    """
    manifest = read_manifest(folder, check_files=check_files)
    if manifest.producer.target != target:
        raise OutputError(
            f"was emitted for {manifest.producer.target}, not for {target}",
            where=str(folder),
            hint=f"emit the model again with --target {target}",
        )
    return manifest


def golden_of(folder: Path, limit: int | None) -> Golden:
    """Return the golden vectors of a folder with the names of the outputs.

    Raises:
        UsageError: There are fewer than ``limit``.
    """
    golden = read_golden(folder)
    check_frames(limit, golden.frames, where=str(folder), hint="emit it with more frames")
    return replace(golden.first(limit), names=output_names(folder))


def _netlist_device(manifest: Manifest, tools: Sequence[str] | None) -> FpgaDevice | None:
    """Return the device whose netlist is simulated, if requested.

    Raises:
        UsageError: Yosys lacks models of its cells.
    """
    if "netlist" not in (tools or ()):
        return None
    from rlx_fpga.devices import DEFAULT_DEVICE
    from rlx_fpga.devices import device as find_device
    from rlx_sim.hardware.gates.models import FAMILIES

    device = find_device(str(manifest.producer.options.get("device", DEFAULT_DEVICE)))
    if device.family not in FAMILIES:
        raise UsageError(
            f"a netlist for {device.name} cannot be simulated: Yosys has no models of its cells",
            hint=f"emit for another family: {', '.join(FAMILIES.values())}; or leave netlist out",
        )
    return device


def restore_report(folder: Path, report: Mapping[str, Any], verified_at: str) -> VerificationReport:
    """Return the stored report of a verification of ``folder``."""
    network = _network(read_manifest(folder, check_files=False))
    return replace(VerificationReport.from_json(report, cached=verified_at), network=network)


def _network(manifest: Manifest) -> str:
    """Return the prefix of the emitted identifiers, which is the network's name by default."""
    return str(manifest.producer.facts.get("prefix", "the network"))


def _cpu(manifest: Manifest) -> str:
    """Return the processor that the folder was emitted for."""
    name = manifest.producer.facts.get("cpu", FirmwareBuild().cpu)
    if name not in known_cpus():
        raise UsageError(
            f"no emulated board has a {name}", hint=f"emit for one of {', '.join(known_cpus())}"
        )
    return str(name)


def _summary(
    runs: Sequence[CRun], frames: int, plan: Plan, manifest: Manifest
) -> VerificationReport:
    wrong = [one for run in runs for one in run.wrong]
    firmware = next((run for run in runs if run.firmware is not None), None)
    figures: dict[str, Any] = {}
    if firmware is not None:
        figures = _with_part(_firmware_figures(firmware), manifest.producer.facts)
    figures["runs"] = [_run_figures(run, frames) for run in runs]
    figures["seconds"] = [run.seconds.as_json() for run in runs]
    return VerificationReport(
        target=CORTEXM.target,
        inputs=frames,
        equal=frames - len({one.frame for one in wrong}),
        mismatches=tuple(asdict(one) for one in wrong),
        figures=figures,
        tools={name: version for run in runs for name, version in run.simulator.tools().items()},
        notes=plan.notes,
        not_run=plan.not_run,
        network=_network(manifest),
    )


def _with_part(figures: dict[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures with the part, the time on it, and the size of the weights' file."""
    cycles, part = CycleRange.of(facts), facts.get("part")
    figures = {**figures} if part is None else {**figures, "part": part}
    if "weights_file" in facts:
        figures["weights_file_bytes"] = facts["weights_file"]["bytes"]
    if cycles is not None and figures["instructions"] is not None:
        figures["milliseconds"] = cycles.milliseconds(figures["instructions"]).as_json()
    return figures


def _run_figures(run: CRun, frames: int) -> dict[str, Any]:
    """Return the figures of one run."""
    simulator = run.simulator
    compiler = simulator.compiler if isinstance(simulator, HostC) else simulator.build.compiler
    figures = {} if run.firmware is None else _firmware_figures(run)
    return {
        "simulator": simulator.name,
        "compiler": compiler,
        "equal": frames - len(run.wrong),
        **{name: figures.get(name) for name in ("instructions", "text_bytes", "stack_bytes")},
    }


def _firmware_figures(run: CRun) -> dict[str, Any]:
    """Return the counts and bytes of a run of firmware."""
    assert run.firmware is not None
    sizes, bound = run.firmware.sizes, run.firmware.stack
    arena = arena_bytes(run.simulation.log) or 0
    instructions = run.simulation.instructions
    measured = run.simulation.stack_bytes
    assert not isinstance(run.simulator, HostC)
    return {
        "cpu": run.firmware.cpu.name,
        "emulator": run.simulator.name,
        "compiler": run.simulator.build.compiler,
        "instructions": max(instructions) if instructions else None,
        "instructions_min": min(instructions) if instructions else None,
        "text_bytes": sizes.text,
        "const_bytes": sizes.const,
        "flash_bytes": sizes.text + sizes.const + sizes.data,
        "arena_bytes": arena,
        "ram_bytes": arena + sizes.data + sizes.bss,
        "stack_bytes": max(measured or 0, bound.bytes if bound else 0),
        "stack_measured_bytes": measured,
        "stack_bound_bytes": bound.bytes if bound else None,
    }
