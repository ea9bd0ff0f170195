"""Whether a network fits the memory that the user has for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.support.errors import DoesNotFitError
from rlx_cortexm.kernels.channel_table.tactic import CHANNEL_TABLE_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx_cortexm.parts import CortexPart


def check_budget(
    name: str,
    report: Mapping[str, Any],
    max_code: int,
    *,
    ram: int | None,
    flash: int | None,
    chip: CortexPart | None = None,
) -> None:
    """Check that a network fits.

    Args:
        name: Name of the network.
        report: Its estimate; see :func:`rlx_cortexm.estimate.estimate`.
        max_code: Bytes of code that a compiler keeps to: the predicted ones and a margin.
        ram: Maximum bytes of the arena, or None.
        flash: Maximum bytes of constants and code, or None.
        chip: Microcontroller that must hold it too, or None.

    Raises:
        DoesNotFitError: It does not; the hint has values of both limits with which it fits.
    """
    arena: int = report["arena_bytes"]
    constants: int = report["constant_bytes"]
    max_flash = constants + max_code
    arena += report.get("variable_bytes", 0) + _state_bytes(report)
    problems, suggestions, note = [], [], ""
    if ram is not None and arena > ram:
        peak = report["peak"]
        needed, limit = _sizes(arena, ram)
        problems.append(
            f"RAM: the arena needs {needed}, --ram is {limit};"
            f" the peak is in {peak['name']} ({peak['op']})"
        )
        suggestions.append(f"--ram {arena}")
    if flash is not None and max_flash > flash:
        needed, limit = _sizes(max_flash, flash)
        needs_flash = (
            f"code and constants need up to {needed}, of which {_size(constants)} for constants"
            if constants
            else f"the code needs up to {needed}"
        )
        problems.append(f"flash: {needs_flash}, --flash is {limit}")
        suggestions.append(f"--flash {max_flash}")
        note = "; this holds a margin for the size of code, which is predicted"
    if len(suggestions) > 1:
        note += "; each alone can be smaller, at the cost of the other"
    if problems:
        raise DoesNotFitError(
            "\n  ".join(["over the memory budget", *problems]),
            where=name,
            hint=f"use {' '.join(suggestions)}{note}",
        )
    if chip is not None:
        _check_part(name, report, max_code, chip)


def _check_part(name: str, report: Mapping[str, Any], max_code: int, chip: CortexPart) -> None:
    """Check that a microcontroller holds a network.

    Raises:
        DoesNotFitError: It does not.
    """
    flash, ram = report["constant_bytes"] + max_code, report["arena_bytes"]
    ram += report.get("variable_bytes", 0) + _state_bytes(report)
    constants = report["constant_bytes"] - _optional_bytes(report)
    problems, limits = [], []
    if ram > chip.block_bytes:
        where = "" if chip.block_bytes == chip.ram_bytes else " with consecutive addresses"
        problems.append(
            f"RAM: {ram:,} bytes needed for the arena, it has {chip.block_bytes:,}{where}"
        )
        limits.append(f"--ram {chip.block_bytes}")
    if chip.flash_bytes is not None and flash > chip.flash_bytes:
        problems.append(f"flash: up to {flash:,} bytes needed, it has {chip.flash_bytes:,}")
        limits.append(f"--flash {chip.flash_bytes}")
    if problems:
        hint = f"add {' '.join(limits)}, by which smaller kernels are chosen, or take a larger part"
        if chip.flash_bytes is not None and constants > chip.flash_bytes:
            problems[-1] += f"; the constants alone are {constants:,}"
            hint = "take a larger part, or fewer bits of a weight: --weights 4 of rlx quantize"
        raise DoesNotFitError(
            "\n  ".join([f"it does not fit {chip.name}", *problems]), where=name, hint=hint
        )


def _optional_bytes(report: Mapping[str, Any]) -> int:
    """Return the bytes of tables that other kernels do without."""
    layers = report.get("layers", ())
    return sum(row["constant_bytes"] for row in layers if row["kernel"] == CHANNEL_TABLE_NAME)


def _state_bytes(report: Mapping[str, Any]) -> int:
    """Return the bytes of the states."""
    return sum(state["bytes"] for state in report.get("states", ()))


def part_figures(report: Mapping[str, Any], chip: CortexPart) -> dict[str, Any]:
    """Return the memory of a microcontroller and the shares that a network needs, for JSON."""
    flash, ram = report["constant_bytes"] + report["code_bytes"], report["arena_bytes"]
    ram += _state_bytes(report)
    return {
        "key": chip.key,
        "name": chip.name,
        "core": chip.core,
        "flash_bytes": chip.flash_bytes,
        "ram_bytes": chip.block_bytes,
        "flash_percent": _percent(flash, chip.flash_bytes),
        "ram_percent": _percent(ram, chip.block_bytes),
    }


def _percent(nbytes: int, whole: int | None) -> float | None:
    return None if whole is None else round(100 * nbytes / whole, 1)


def _sizes(needed: int, limit: int) -> tuple[str, str]:
    """Return two different numbers of bytes with units, which do not hide the difference."""
    sizes = _size(needed), _size(limit)
    return sizes if sizes[0] != sizes[1] else (f"{needed:,} bytes", f"{limit:,} bytes")


def _size(nbytes: int) -> str:
    """Return bytes with a unit."""
    return f"{nbytes / 1024:.1f} KiB" if nbytes >= 1024 else f"{nbytes} bytes"
