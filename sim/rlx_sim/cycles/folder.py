"""Modelled cycles of an emitted folder, by layer, from a traced run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import SimulationError, UsageError
from rlx.support.files.golden import read_golden
from rlx.support.files.scratch import work_folder
from rlx.targets.verifier import ModelledCycles
from rlx_cortexm.parts import check_part_clock, flash_of
from rlx_cortexm.parts import part as part_named
from rlx_sim.cycles.instruction import instructions
from rlx_sim.cycles.model import CycleModel, UnknownCodeError
from rlx_sim.cycles.pipeline import UnknownTimingError
from rlx_sim.cycles.qemu_trace import read_log
from rlx_sim.cycles.timings import Bound, modelled_cores, timings_of
from rlx_sim.cycles.trace import Trace
from rlx_sim.firmware.disassembly import disassemble, listing
from rlx_sim.firmware.firmware import FirmwareBuild, cpu_named
from rlx_sim.firmware.profile import hooked_firmware, layer_counts
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.hardware.plain import plain_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rlx_cortexm.parts import CortexPart, Flash
    from rlx_sim.cycles.instruction import Instruction
    from rlx_sim.cycles.timings import CoreTimings

FIRST_LAYER: Final = 2
"""Readings of the timer before the end of the first layer: of the test program, and its begin."""


def folder_cycles(
    folder: Path,
    cpu: str,
    facts: Mapping[str, Any],
    *,
    part: str | None = None,
    clock: float | None = None,
    flash_wait: str | None = None,
    timeout_s: float,
    progress: Callable[[str], None] | None = None,
) -> ModelledCycles:
    """Return the modelled cycles; see :func:`rlx.targets.verifier.modelled_cycles`.

    Args:
        folder: An output folder of ``rlx emit --target cortexm``.
        cpu: Its core.
        facts: Entries of its manifest: the prefix of its C identifiers, part, clock, wait states.
        part: Value of ``--part``.
        clock: Clock in hertz.
        flash_wait: Value of ``--flash-wait``.
        timeout_s: Wall-clock limit of each step.
        progress: Called with a description of each step.

    Raises:
        UsageError: The core has no model, or part, clock or wait states do not fit.
        ToolMissingError: GCC for Arm or unicorn is not installed.
        SimulationError: The C does not build or crashed.
        TimeLimitError: It took too long.
    """
    timings = _timings(cpu)
    chip = _part(cpu, facts.get("part", {}).get("name") if part is None else part)
    if chip is not None and clock is not None:
        check_part_clock(chip, clock)
    if flash_wait is None and part is None:
        flash_wait = facts.get("flash_wait")
    flash = flash_of(chip, flash_wait)
    _check_wait_states(cpu, flash)
    if progress is not None:
        progress("cycles of each layer")
    with plain_folder(folder) as plain, work_folder("cycles") as work:
        run = traced_run(
            plain, cpu, str(facts["prefix"]), work, reads=flash.wait_states > 0, timeout_s=timeout_s
        )
    try:
        by_bound = [_layers(CycleModel(run.code, timings, flash, bound), run) for bound in Bound]
    except (UnknownCodeError, UnknownTimingError) as e:
        raise SimulationError(f"no model of the program: {e}", where=str(folder)) from e
    minimum, expected, maximum = by_bound
    return ModelledCycles(
        layers=tuple(zip(minimum, expected, maximum, strict=True)),
        instructions=run.instructions,
        core=cpu,
        device=cpu if chip is None else chip.name,
        memory=str(flash),
        note=timings.note,
        sources=timings.sources,
        is_published=timings.published,
        clock_mhz=_clock_mhz(clock, part, chip, facts),
        tools=run.tools,
    )


@dataclass(frozen=True, slots=True)
class TracedRun:
    """A run of one frame with hooks.

    Attributes:
        instructions: Count of each layer.
        trace: Executed blocks.
        code: Instructions of the program by address.
        tools: Name and version of each tool used.
    """

    instructions: tuple[int, ...]
    trace: Trace
    code: Mapping[int, Instruction]
    tools: Mapping[str, str]


def traced_run(
    folder: Path, cpu: str, prefix: str, work: Path, *, reads: bool, timeout_s: float
) -> TracedRun:
    """Build and run the firmware under unicorn, or QEMU if that alone has the core.

    Args:
        folder: An output folder with golden vectors.
        cpu: Core that it is built for.
        prefix: Prefix of its C identifiers.
        work: Folder for intermediate files.
        reads: Whether to trace reads of constants, if the core is unicorn's.
        timeout_s: Wall-clock limit of each step.

    Raises:
        ToolMissingError: GCC for Arm or an emulator is not installed.
        SimulationError: The C does not build or crashed.
        TimeLimitError: It took too long.
    """
    build = FirmwareBuild(cpu, "gcc")
    file = work / "trace"
    firmware = hooked_firmware(folder, prefix, build, work)
    simulator: Unicorn | Qemu = (
        Unicorn(build, file, reads=reads) if firmware.cpu.unicorn else Qemu(build, file)
    )
    run = simulator.run(firmware, read_golden(folder).first(1), work, timeout_s=timeout_s)
    if firmware.cpu.unicorn:
        trace = Trace.read(file)
    else:
        reading = disassemble(firmware.elf).addresses["platform_counter"]
        with file.open(encoding="utf-8", errors="replace") as lines:
            trace = read_log(lines, reading)
    code = {one.address: one for one in instructions(listing(firmware.elf))}
    return TracedRun(layer_counts(run.log, folder), trace, code, simulator.tools())


def _timings(cpu: str) -> CoreTimings:
    """Return the timings of a core.

    Raises:
        UsageError: It has no table.
    """
    timings = timings_of(cpu)
    if timings is None:
        raise UsageError(
            f"the cycles of a {cpu} are not modelled: no table of timings",
            where="--cycles",
            hint=f"emit for one of {', '.join(modelled_cores())}",
        )
    return timings


def _check_wait_states(cpu: str, flash: Flash) -> None:
    """Raise UsageError if the core's emulator does not trace what wait states depend on."""
    if flash.wait_states and not cpu_named(cpu).unicorn:
        raise UsageError(
            f"wait states are not modelled on a {cpu}: QEMU's trace has no reads of constants",
            where="--flash-wait",
            hint="write --flash-wait 0, for code and constants in tightly coupled memory",
        )


def _part(cpu: str, name: str | None) -> CortexPart | None:
    """Return a part with the core.

    Raises:
        UsageError: It is unknown or has another core.
    """
    if name is None:
        return None
    chip = part_named(name)
    if chip.core != cpu.partition("+")[0]:
        raise UsageError(
            f"{chip.name} has a {chip.core}, the folder is for a {cpu}",
            where="--part",
            hint=f"emit it again with --part {chip.key}",
        )
    return chip


def _clock_mhz(
    clock: float | None, part: str | None, chip: CortexPart | None, facts: Mapping[str, Any]
) -> float | None:
    """Return the clock: requested, of a requested part, or of the folder."""
    if clock is not None:
        return clock / 1e6
    if part is not None and chip is not None:
        return chip.clock_mhz
    emitted = facts.get("cycles")
    return None if emitted is None else float(emitted["clock_mhz"])


def _layers(model: CycleModel, run: TracedRun) -> Sequence[int]:
    """Return the cycles of each layer, without those of the hooks themselves."""
    trace, count = run.trace, len(run.instructions)
    intervals = trace.intervals[FIRST_LAYER:]
    # Two calls of the hook in a row are after the layers.
    hook = model.cycles(trace, intervals[count + 1])
    return [max(0, model.cycles(trace, one) - hook) for one in intervals[:count]]
