"""Reads the netlist that Yosys wrote for one module, and checks that each net has one driver.

Tests: tests/sim/hardware/gates/test_cells.py
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import SimulationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    Bits = tuple[int | str, ...]

_HINT: Final = "try another version of Yosys; if the error persists, report the design"

BUFFERS: Final = {"BUFG": ("I", "O"), "DCCA": ("CLKI", "CLKO"), "SB_GB": (
    "USER_SIGNAL_TO_GLOBAL_BUFFER", "GLOBAL_BUFFER_OUTPUT")}  # fmt: skip
"""Input and output of cells that only pass a signal on."""


@dataclass(frozen=True, slots=True)
class NetlistCell:
    """An instance in a netlist.

    Attributes:
        name: Name of the instance.
        kind: Cell of the family's library.
        parameters: Values as Yosys writes them: bits, highest first, or text.
        pins: Net of each bit by port, lowest first: an index, or a constant ``0``, ``1``, ``x``.
        outputs: Names of the ports that drive nets.
    """

    name: str
    kind: str
    parameters: Mapping[str, str]
    pins: Mapping[str, Bits]
    outputs: frozenset[str]

    def bit(self, port: str, default: int | str = "0") -> int | str:
        """Return the net of a port of one bit; ``default`` if it is not connected."""
        bits = self.pins.get(port)
        return bits[0] if bits else default

    def value(self, name: str, default: int = 0) -> int:
        """Return a numeric parameter."""
        text = self.parameters.get(name)
        return default if text is None else int(text.replace("x", "0"), 2)

    def text(self, name: str, default: str = "") -> str:
        """Return a parameter that is a text. Yosys adds a space to one that looks like bits."""
        return self.parameters.get(name, default).removesuffix(" ")


@dataclass(frozen=True, slots=True)
class CellNetlist:
    """A module of cells.

    Attributes:
        top: Name of the module.
        ports: Direction (``input``, ``output``) and nets, lowest bit first, by name.
        cells: Instances, without buffers and cells that only carry information.
    """

    top: str
    ports: Mapping[str, tuple[str, Bits]]
    cells: tuple[NetlistCell, ...]


def read_netlist(path: Path, top: str) -> CellNetlist:
    """Return module ``top`` of a file of Yosys' ``write_json``.

    Raises:
        SimulationError: The file is missing or has another form, a net has several drivers, or one
            that is read is undriven.
    """
    try:
        module = json.loads(path.read_text(encoding="utf-8"))["modules"][top]
        cells = [
            _cell(name, cell) for name, cell in module["cells"].items() if cell["type"][0] != "$"
        ]
        ports = {
            name: (port["direction"], tuple(port["bits"])) for name, port in module["ports"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise SimulationError(f"wrote no netlist to {path.name}", where="yosys") from None
    _check_drivers(ports, cells)
    return _without_buffers(CellNetlist(top, ports, tuple(cells)))


def _cell(name: str, cell: Mapping[str, Any]) -> NetlistCell:
    directions = cell["port_directions"]
    return NetlistCell(
        name,
        cell["type"],
        cell["parameters"],
        {port: tuple(bits) for port, bits in cell["connections"].items()},
        frozenset(port for port, direction in directions.items() if direction == "output"),
    )


def _check_drivers(ports: Mapping[str, tuple[str, Bits]], cells: list[NetlistCell]) -> None:
    """Refuse nets with several drivers, and undriven nets that are read."""
    drivers: Counter[int | str] = Counter()
    readers: dict[int | str, str] = {}
    for name, bits, drives in _ends(ports, cells):
        if drives:
            drivers.update(bits)
        else:
            readers |= dict.fromkeys(bits, name)
    for net in (net for net, count in drivers.items() if count > 1 and isinstance(net, int)):
        reader = readers.get(net, "nothing")
        raise SimulationError(
            f"a net that {reader} reads has {drivers[net]} drivers", where="yosys", hint=_HINT
        )
    for net in (net for net in readers if net not in drivers and isinstance(net, int)):
        raise SimulationError(
            f"nothing drives a net that {readers[net]} reads", where="yosys", hint=_HINT
        )


def _ends(
    ports: Mapping[str, tuple[str, Bits]], cells: list[NetlistCell]
) -> Iterator[tuple[str, Bits, bool]]:
    """Yield name and nets of each port and pin, and whether it drives them."""
    for name, (direction, bits) in ports.items():
        yield f"port {name}", bits, direction == "input"
    for cell in cells:
        for port, bits in cell.pins.items():
            yield f"{cell.kind} {cell.name}", bits, port in cell.outputs


def _without_buffers(netlist: CellNetlist) -> CellNetlist:
    """Connect the readers of each buffer to the buffer's input."""
    sources = {
        cell.bit(BUFFERS[cell.kind][1]): cell.bit(BUFFERS[cell.kind][0])
        for cell in netlist.cells
        if cell.kind in BUFFERS
    }

    def source(net: int | str) -> int | str:
        while net in sources:
            net = sources[net]
        return net

    cells = tuple(
        NetlistCell(
            cell.name,
            cell.kind,
            cell.parameters,
            {
                port: bits if port in cell.outputs else tuple(map(source, bits))
                for port, bits in cell.pins.items()
            },
            cell.outputs,
        )
        for cell in netlist.cells
        if cell.kind not in BUFFERS
    )
    ports = {
        name: (direction, bits if direction == "input" else tuple(map(source, bits)))
        for name, (direction, bits) in netlist.ports.items()
    }
    return CellNetlist(netlist.top, ports, cells)
