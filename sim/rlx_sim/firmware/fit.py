"""Comparison of a firmware's bytes with the memory that it was emitted for.

Tests: tests/targets/cortexm/test_budget.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.support.errors import DoesNotFitError
from rlx_sim.firmware.harness import arena_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.support.files.outputs import Manifest
    from rlx_sim.firmware.firmware import Firmware


def check_fit(firmware: Firmware, log: str, manifest: Manifest, folder: Path) -> None:
    """Compare the bytes of a firmware with ``--flash``, ``--ram`` and ``--part`` of the emitter.

    Args:
        firmware: The firmware.
        log: Output of its test program.
        manifest: Manifest of the folder.
        folder: The emitted folder.

    Raises:
        DoesNotFitError: It needs more.
    """
    sizes, limits = firmware.sizes, manifest.producer.options
    needs = {
        "ram": (arena_bytes(log) or 0) + sizes.data + sizes.bss,
        "flash": sizes.text + sizes.const + sizes.data,
    }
    exceeded = {
        name: need
        for name, need in needs.items()
        if isinstance(limits.get(name), int) and need > limits[name]
    }
    problems = [
        f"--{name}: expected at most {limits[name]} bytes, measured {need}"
        for name, need in exceeded.items()
    ]
    options = " ".join(f"--{name} {need}" for name, need in exceeded.items())
    hint = f"emit again with {options}" if problems else "emit for a larger part"
    part = manifest.producer.facts.get("part", {})
    problems += [
        f"{part['name']} has {available} bytes of {memory}, measured {needs[name]}"
        for name, memory in (("ram", "RAM"), ("flash", "flash"))
        if (available := part.get(f"{name}_bytes")) is not None and needs[name] > available
    ]
    if problems:
        raise DoesNotFitError("; ".join(problems), where=str(folder), hint=hint)
