"""Devices as data: what each one has, and how open tools are told about it.

The data are in ``devices.toml``: a new device needs a table there and nothing else. A board is a
device whose pins are known.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from rlx.errors import UsageError
from rlx_fpga.boards import board_pins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx_fpga.boards import BoardPins

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
        joint_cells: Whether a lookup table and a flip-flop share a logic cell, of which there are
            as many as of either.
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
        platform: Where amaranth-boards has the pins of ``board``; empty for a device alone.
        reset: The button of ``board`` that is the reset; empty if none is low while pressed.
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
    joint_cells: bool = False
    spram: int = 0
    spram_cell: str = ""
    spram_bits: int = 0
    clock_pin: str = ""
    platform: str = ""
    reset: str = ""

    @property
    def pins(self) -> BoardPins | None:
        """Pins of the board; None for a device alone.

        Raises:
            ToolMissingError: The package that tells them is not installed.
        """
        return board_pins(self.platform, self.reset) if self.platform else None

    @property
    def summary(self) -> str:
        """One line: what it has."""
        return (
            f"{self.part} ({self.board}): {self.lut} LUT{self.lut_inputs}, {self.ff} FF,"
            f" {self.dsp} {self.dsp_cell}, {self.bram} {self.bram_cell}"
            + (f", {self.spram} {self.spram_cell}" if self.spram else "")
            + (", with the pins of the board" if self.platform else "")
        )


@cache
def devices() -> Mapping[str, Device]:
    """Return all devices by name, in the order of the file: families together, small ones first."""
    data = _data()
    return MappingProxyType(
        {name: _device(name, row, data["family"]) for name, row in data["device"].items()}
    )


@cache
def boards() -> Mapping[str, Device]:
    """Return all boards by name, in the order of the file, each as the device that it has.

    Their clocks are still those of the devices; see :func:`device`.
    """
    return MappingProxyType({name: _board(name, row) for name, row in _data()["board"].items()})


def device(name: str) -> Device:
    """Return the device or board called ``name``; a board with the clock that it gives.

    Raises:
        UsageError: There is none.
        ToolMissingError: The package with the pins of boards is not installed.
    """
    found = devices().get(name) or boards().get(name)
    if found is None:
        raise UsageError(
            f"no device is called {name!r}; devices: {', '.join(devices())};"
            f" boards: {', '.join(boards())}",
            hint=_meant(name),
        )
    return found if found.pins is None else replace(found, clock_mhz=found.pins.clock_mhz)


def _meant(name: str) -> str | None:
    """Return the devices that a name like theirs, or one of a part, may stand for, in words."""
    plain = _plain(name)
    known = {_plain(one): one for one in (*devices(), *boards())}
    parts = {_plain(one.part): one.name for one in devices().values()}
    names = [one for text, one in (known | parts).items() if plain and plain in text]
    close = get_close_matches(plain, known, n=2, cutoff=0.75)
    found = [known[plain]] if plain in known else names or [known[one] for one in close]
    return f"did you mean {' or '.join(dict.fromkeys(found))}?" if found else None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _data() -> dict[str, Any]:
    return tomllib.loads(files("rlx_fpga").joinpath("devices.toml").read_text("utf-8"))


def _device(name: str, row: Mapping[str, Any], families: Mapping[str, Any]) -> Device:
    pnr = tuple(row.get("pnr", "").split())
    return Device(name=name, **{**families[row["family"]], **row, "pnr": pnr})


def _board(name: str, row: Mapping[str, Any]) -> Device:
    """Return the device of a board, with what the board says otherwise."""
    told = {key: value for key, value in row.items() if key != "device"}
    pnr = {"pnr": tuple(row["pnr"].split())} if "pnr" in row else {}
    return replace(devices()[row["device"]], **{**told, **pnr, "name": name, "clock_pin": ""})
