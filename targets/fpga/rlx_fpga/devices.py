"""Devices as data: what each one has, and how open tools are told about it.

The data are in ``devices.toml``: a new device needs a table there and nothing else.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from rlx.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_DEVICE: Final = "ecp5-85k"
"""Device that designs are planned for unless told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device and its tools.

    Attributes:
        name: As ``--device`` takes it.
        family: ``ecp5``, ``ice40``, ``xc7`` or ``xcup``: devices of one have the same cells.
        maker: Of the device.
        part: The maker's name, package and speed grade included.
        package: The same that ``pnr`` names, or the maker's tools.
        board: A board that has it; pins and constraints default to this one.
        lut: Lookup tables.
        lut_inputs: Inputs of each.
        ff: Flip-flops.
        dsp: Multiplier blocks.
        dsp_cell: Their name in the cell library of Yosys.
        bram: Block memories.
        bram_cell: Their name.
        bram_bits: Bits of each, parity included.
        spram: Large memories with one port, which no bitstream fills.
        spram_cell: Their name.
        spram_bits: Bits of each, in words of 16.
        synth: Command of Yosys that maps a design to it, without ``-top`` and outputs.
        pnr: Program and arguments of nextpnr, without inputs and outputs; empty if there is none.
        clock_mhz: Clock that estimates assume unless told otherwise.
        clock_pin: Pin at which the board has a clock; empty if it has none for the logic alone.
    """

    name: str
    family: str
    maker: str
    part: str
    package: str
    board: str
    lut: int
    lut_inputs: int
    ff: int
    dsp: int
    dsp_cell: str
    bram: int
    bram_cell: str
    bram_bits: int
    synth: str
    pnr: tuple[str, ...]
    clock_mhz: float
    spram: int = 0
    spram_cell: str = ""
    spram_bits: int = 0
    clock_pin: str = ""

    @property
    def summary(self) -> str:
        """One line: what it has."""
        return (
            f"{self.part} ({self.board}): {self.lut} LUT{self.lut_inputs}, {self.ff} FF,"
            f" {self.dsp} {self.dsp_cell}, {self.bram} {self.bram_cell}"
            + (f", {self.spram} {self.spram_cell}" if self.spram else "")
        )


@cache
def devices() -> Mapping[str, Device]:
    """Return all devices by name, in the order of the file: families together, small ones first."""
    data = tomllib.loads(files("rlx_fpga").joinpath("devices.toml").read_text("utf-8"))
    return MappingProxyType(
        {name: _device(name, row, data["family"]) for name, row in data["device"].items()}
    )


def device(name: str) -> Device:
    """Return the device called ``name``.

    Raises:
        UsageError: There is none.
    """
    found = devices().get(name)
    if found is None:
        raise UsageError(f"no device is called {name!r}; devices: {', '.join(devices())}")
    return found


def _device(name: str, row: Mapping[str, Any], families: Mapping[str, Any]) -> Device:
    pnr = tuple(row.get("pnr", "").split())
    return Device(name=name, **{**families[row["family"]], **row, "pnr": pnr})
