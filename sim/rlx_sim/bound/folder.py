"""Bounds of an emitted folder: of its firmware, and of each layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.support.errors import ToolMissingError
from rlx.support.files.scratch import work_folder
from rlx.targets.verifier import CountBounds
from rlx_sim.bound.firmware_bound import instruction_bound
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.profile import hooked_firmware
from rlx_sim.firmware.simulators import emulation, is_emulated, missing_emulation
from rlx_sim.hardware.plain import plain_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def folder_bounds(
    folder: Path, cpu: str, prefix: str, *, progress: Callable[[str], None] | None = None
) -> CountBounds:
    """Return the instructions that no input exceeds, built as ``rlx verify`` builds by default.

    Args:
        folder: An output folder of ``rlx emit --target cortexm``.
        cpu: Its processor.
        prefix: Prefix of its C identifiers.
        progress: Called with a description of each step.

    Raises:
        ToolMissingError: No compiler for Arm is installed.
        SimulationError: The C does not build.
        TimeLimitError: A build took too long.
    """
    if is_emulated(cpu) and (missing := missing_emulation(cpu)) is not None:
        raise ToolMissingError(f"{missing.platform}: {missing.reason}", hint=missing.install)
    build = FirmwareBuild(cpu, emulation(cpu)[0].partition(":")[2])
    if progress is not None:
        progress("bound on the instructions for every input")
    with plain_folder(folder) as plain, work_folder("bound") as work:
        whole = instruction_bound(build.build(plain, work / "plain"))
        if whole.instructions is None:
            parts = whole
        else:
            parts = instruction_bound(hooked_firmware(plain, prefix, build, work))
    return CountBounds(
        unit="instructions",
        total=whole.instructions,
        layers=parts.layers,
        reason=whole.reason or parts.reason,
        is_exact=whole.is_exact,
        tools={build.tool().name: build.tool().version},
    )
