"""Amounts that a verified network uses of each quantity that a budget may limit.

Tests: tests/sim/test_verify.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx.driver.verification.budget import Quantity, Taken
from rlx_sim.hardware.emitted_report import read_report

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FIRMWARE: Final = {
    "flash": Quantity.BYTES,
    "ram": Quantity.BYTES,
    "stack": Quantity.BYTES,
    "instructions": Quantity.COUNT,
}
"""Limits of a Cortex-M program; ``ram`` is arena and variables, ``stack`` comes on top."""

_CELLS: Final = ("lut", "ff", "dsp", "bram")

HARDWARE: Final = {
    "latency": Quantity.COUNT,
    "interval": Quantity.COUNT,
    **dict.fromkeys(_CELLS, Quantity.COUNT),
    "clock": Quantity.CLOCK,
}
"""Limits of a core: cycles, cells, and the clock that it must reach."""

_NO_FIRMWARE: Final = "not measured: no firmware was run"


def firmware_taken(figures: Mapping[str, Any]) -> dict[str, Taken]:
    """Return the amounts of a program, from the figures of its verification."""
    if "instructions" not in figures:
        return {name: Taken(None, _NO_FIRMWARE) for name in FIRMWARE}
    source = next(
        (run["simulator"] for run in figures["runs"] if run.get("instructions") is not None),
        "firmware",
    )
    values = {
        "flash": figures["flash_bytes"],
        "ram": figures["ram_bytes"],
        "stack": figures["stack_bytes"],
        "instructions": figures["instructions"],
    }
    return {name: Taken(value, f"measured by {source}") for name, value in values.items()}


def hardware_taken(
    folder: Path, figures: Mapping[str, Any], build: Mapping[str, Any] | None
) -> dict[str, Taken]:
    """Return the amounts of a core: cycles as simulated, cells and clock as built or estimated."""
    report = read_report(folder)
    amounts = {
        name: Taken(figures[name], "measured by verilator") for name in ("latency", "interval")
    }
    if build is None:
        cells = {name: Taken(report.get(name), "estimate, not built") for name in _CELLS}
        return amounts | cells | {"clock": _estimated_clock(report)}
    return amounts | _built_cells(build) | {"clock": _built_clock(build)}


def _estimated_clock(report: Mapping[str, Any]) -> Taken:
    megahertz = report.get("clock_mhz")
    value = None if megahertz is None else megahertz * 1e6
    return Taken(value, "assumed for the device, not built")


def _built_cells(build: Mapping[str, Any]) -> dict[str, Taken]:
    rows = {row["resource"]: row for row in build["resources"]}
    return {name: Taken(rows[name]["synthesis"], "synthesis") for name in _CELLS if name in rows}


def _built_clock(build: Mapping[str, Any]) -> Taken:
    megahertz = build["fmax_mhz"]
    if megahertz is None:
        return Taken(None, "not measured: built without place and route")
    return Taken(megahertz * 1e6, f"place and route, median of {len(build['seeds'])}")
