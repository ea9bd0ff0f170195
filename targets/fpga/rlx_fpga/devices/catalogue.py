"""Devices as data: their resources, and their names in open tools.

The data are in ``devices.toml``: a new device needs only a table there. A board is a device whose
pins are known.
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

from rlx.support.errors import UsageError
from rlx_fpga.devices.pins import board_pins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx_fpga.devices.pins import BoardPins

DEFAULT_DEVICE: Final = "ecp5-85k"
"""Default of ``--device``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FpgaDevice:
    """A device and its tools.

    Attributes:
        name: Value of ``--device``.
        family: ``ecp5``, ``ice40``, ``xc7`` or ``xcup``: devices of one have the same cells.
        maker: Vendor.
        part: Vendor's part number, package and speed grade included.
        package: Package as in ``pnr`` or in the vendor's tools.
        board: A common board with it; its clock pin is suggested in constraints.
        lut: LUTs.
        lut_inputs: Inputs of a LUT.
        ff: Flip-flops.
        joint_cells: Whether a logic cell is one LUT and one flip-flop: then ``lut``, ``ff`` and
            the number of logic cells are equal.
        dsp: DSP slices.
        dsp_cell: Their cell in Yosys's library.
        bram: Block RAMs.
        bram_cell: Their cell.
        bram_bits: Bits of each, parity included.
        spram: Single-port RAMs (SPRAM), which a bitstream cannot initialize.
        spram_cell: Their cell.
        spram_bits: Bits of each, in words of 16.
        synth: Yosys command that maps a design to it, without ``-top`` and outputs.
        pnr: Program and arguments of nextpnr, without inputs and outputs; empty if unsupported.
        clock_mhz: Default clock of predictions.
        max_mhz: Maximum of the global clock network.
        grid: Columns and rows of nextpnr's grid of tiles; zeros if unsupported.
        clock_pin: Pin of the board's clock; empty if the clock does not come from a pin.
        platform: Class of ``board`` in amaranth-boards; empty for a device without a board.
        reset: Reset button of ``board``; empty if no button is active low.
        pll_pad: Whether the clock of ``board`` is at the pin of a PLL, which then accepts no
            other (iCE40).
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
    max_mhz: float
    grid: tuple[int, int] = (0, 0)
    joint_cells: bool = False
    spram: int = 0
    spram_cell: str = ""
    spram_bits: int = 0
    clock_pin: str = ""
    platform: str = ""
    reset: str = ""
    pll_pad: bool = False

    @property
    def pins(self) -> BoardPins | None:
        """Pins of the board; None for a device without a board.

        Raises:
            ToolMissingError: The package amaranth-boards is not installed.
        """
        return board_pins(self.platform, self.reset) if self.platform else None

    @property
    def summary(self) -> str:
        """Its resources in one line."""
        return (
            f"{self.part} ({self.board}): {self.lut} LUT{self.lut_inputs}, {self.ff} FF,"
            f" {self.dsp} {self.dsp_cell}, {self.bram} {self.bram_cell}"
            + (f", {self.spram} {self.spram_cell}" if self.spram else "")
            + (", with the pins of the board" if self.platform else "")
        )


@cache
def devices() -> Mapping[str, FpgaDevice]:
    """Return all devices by name, in the order of the file: families together, small ones first."""
    data = _data()
    return MappingProxyType(
        {name: _device(name, row, data["family"]) for name, row in data["device"].items()}
    )


@cache
def boards() -> Mapping[str, FpgaDevice]:
    """Return all boards by name, in the order of the file, each as the device that it has.

    Their clocks are the defaults of the devices; :func:`device` returns the board's.
    """
    return MappingProxyType({name: _board(name, row) for name, row in _data()["board"].items()})


def device(name: str) -> FpgaDevice:
    """Return the device or board called ``name``; a board with its own clock.

    Raises:
        UsageError: The name is unknown.
        ToolMissingError: ``name`` is a board and amaranth-boards is not installed.
    """
    found = devices().get(name) or boards().get(name)
    if found is None:
        raise UsageError(
            f"no device is called {name!r}",
            hint=f"{_meant(name)}devices: {', '.join(devices())}; boards: {', '.join(boards())}",
        )
    return found if found.pins is None else replace(found, clock_mhz=found.pins.clock_mhz)


def _meant(name: str) -> str:
    """Return a suggestion of devices or boards with a similar name or part number."""
    plain = _plain(name)
    known = {_plain(one): one for one in (*devices(), *boards())}
    parts = {_plain(one.part): one.name for one in devices().values()}
    names = [one for text, one in (known | parts).items() if plain and plain in text]
    close = get_close_matches(plain, known, n=2, cutoff=0.75)
    found = [known[plain]] if plain in known else names or [known[one] for one in close]
    return f"did you mean {' or '.join(map(repr, dict.fromkeys(found)))}? " if found else ""


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _data() -> dict[str, Any]:
    return tomllib.loads(files("rlx_fpga.devices").joinpath("devices.toml").read_text("utf-8"))


def _device(name: str, row: Mapping[str, Any], families: Mapping[str, Any]) -> FpgaDevice:
    pnr = tuple(row.get("pnr", "").split())
    grid = tuple(row.get("grid", (0, 0)))
    return FpgaDevice(name=name, **{**families[row["family"]], **row, "pnr": pnr, "grid": grid})


def _board(name: str, row: Mapping[str, Any]) -> FpgaDevice:
    """Return the device of a board, with the entries that the board overrides."""
    own = {key: value for key, value in row.items() if key != "device"}
    pnr = {"pnr": tuple(row["pnr"].split())} if "pnr" in row else {}
    return replace(devices()[row["device"]], **{**own, **pnr, "name": name, "clock_pin": ""})
