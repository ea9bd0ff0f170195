"""A picture of where nextpnr placed the cells of each layer, as SVG.

nextpnr's own picture has every cell and wire of the device, without names, and takes megabytes.
This one has a square for each tile in use, in the colour of the layer that has most cells there.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from rlx_fpga.packaging.render import render
from rlx_fpga.packaging.synthesis import CORE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rlx_fpga.devices import FpgaDevice

TOP: Final = "u_top"
"""Instance of the core's wrapper in the one with few pins."""

WRAPPER: Final = "pins, cells added"
"""Name of the cells outside of the core: shift registers, and cells that nextpnr adds, such as
those at the ends of carry chains."""

LOGIC: Final = {"ecp5": 16, "ice40": 8}
"""LUTs and flip-flops of a tile, or logic cells, by family."""

LARGE_CELLS: Final = {
    "DP16KD": "memory",
    "ICESTORM_RAM": "memory",
    "ICESTORM_SPRAM": "memory",
    "MULT18X18D": "multiplier",
    "ICESTORM_DSP": "multiplier",
}
"""Cells that have a tile of their own, and their names in the legend."""

_FLIPPED: Final = ("ice40",)
"""Families whose first row is the lowest."""

_KEY: Final = re.compile(r'^\s*("(?:[^"\\]|\\.)*"): \{\s*$')
_TYPE: Final = re.compile(r'^\s*"type": "(\w+)"')
_PLACE: Final = re.compile(r'^\s*"NEXTPNR_BEL": "X(\d+)/Y(\d+)/')


@dataclass(frozen=True, slots=True)
class PlacedCell:
    """A cell and its tile.

    Attributes:
        name: With the path of its instance.
        type: Its type in nextpnr.
        x: Column of the tile.
        y: Row.
    """

    name: str
    type: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Patch:
    """Drawing of a layer.

    Attributes:
        name: The layer, or the name of the cells outside of layers.
        colour: Its colour.
        cells: Number of its cells.
        full: Path of the tiles at least half of whose logic is in use.
        rest: Path of the others.
        large: Corners of the tiles of memories and multipliers: column, row, and which it is.
    """

    name: str
    colour: str
    cells: int
    full: str
    rest: str
    large: tuple[tuple[int, int, str], ...]


def read_placed(path: Path) -> Iterator[PlacedCell]:
    """Yield the cells of a netlist that nextpnr wrote (``--write``), line by line: it is large."""
    key = name = kind = ""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if match := _KEY.match(line):
                key = match[1]
            elif '"hide_name":' in line:  # the first entry of a cell
                name = json.loads(key)
            elif match := _TYPE.match(line):
                kind = match[1]
            elif match := _PLACE.match(line):
                yield PlacedCell(name, kind, int(match[1]), int(match[2]))


def placement_svg(
    cells: Iterable[PlacedCell],
    device: FpgaDevice,
    *,
    title: str,
    layers: Sequence[str],
    rest: str,
    captions: Mapping[str, str] | None = None,
) -> str:
    """Return the picture.

    Args:
        cells: The placed cells.
        device: Device that they are placed on.
        title: Title of the picture.
        layers: Names of the instances in the core that have a colour, in order.
        rest: Name of the other cells of the core.
        captions: Names of layers by those of their instances, where they differ.
    """
    captions = captions or {}
    names = [*layers, rest, WRAPPER]
    tiles: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    large: dict[tuple[int, int], str] = {}
    counts: Counter[str] = Counter()
    for cell in cells:
        owner = owner_of(cell.name, layers, rest)
        tile = (cell.x, _row(cell.y, device))
        counts[owner] += 1
        tiles[tile][owner] += 1
        if cell.type in LARGE_CELLS:
            large[tile] = LARGE_CELLS[cell.type]
    owners = {tile: max(names, key=found.__getitem__) for tile, found in tiles.items()}
    half = {tile for tile, found in tiles.items() if 2 * found.total() >= LOGIC[device.family]}
    columns, rows = device.grid
    return render(
        "placement.svg.j2",
        title=title,
        columns=columns,
        rows=rows,
        first=(0 if device.family not in _FLIPPED else rows - 1),
        patches=[
            _patch(name, captions.get(name, name), colour, counts[name], owners, half, large)
            for name, colour in zip(names, _colours(len(layers)), strict=True)
            if counts[name]
        ],
    )


def owner_of(name: str, layers: Sequence[str], rest: str) -> str:
    """Return the layer that a cell is in, by its name."""
    if not name.startswith(f"{TOP}."):
        return WRAPPER
    match = re.match(rf"{TOP}\.{CORE}\.(u_)?(\w+)", name)
    if match is None:
        return rest
    if match[1]:
        return match[2] if match[2] in layers else rest
    # The core calls a wire after the part that it connects, as in conv1_out_data.
    return max((one for one in layers if match[2].startswith(f"{one}_")), key=len, default=rest)


def _row(y: int, device: FpgaDevice) -> int:
    return device.grid[1] - 1 - y if device.family in _FLIPPED else y


def _colours(count: int) -> list[str]:
    """Return a colour for each layer, neighbours far apart, then two greys for the others."""
    hues = [
        f"hsl({round(k * 137.508) % 360},{(62, 48)[k % 2]}%,{(46, 60, 36)[k % 3]}%)"
        for k in range(count)
    ]
    return [*hues, "#555", "#bbb"]


def _patch(
    name: str,
    caption: str,
    colour: str,
    cells: int,
    owners: Mapping[tuple[int, int], str],
    half: set[tuple[int, int]],
    large: Mapping[tuple[int, int], str],
) -> Patch:
    owned_tiles = {place for place, owner in owners.items() if owner == name and place not in large}
    return Patch(
        caption,
        colour,
        cells,
        _path(owned_tiles & half),
        _path(owned_tiles - half),
        tuple(sorted((x, y, large[x, y]) for x, y in large if owners[x, y] == name)),
    )


def _path(tiles: set[tuple[int, int]]) -> str:
    """Return a line through each run of neighbours in a row, relative to the last one's end."""
    runs: list[list[int]] = []
    for y, x in sorted((y, x) for x, y in tiles):
        if runs and runs[-1][0] == y and runs[-1][2] == x:
            runs[-1][2] += 1
        else:
            runs.append([y, x, x + 1])
    steps = [(0, 0, 0), *runs]
    return "".join(
        f"m{x - before[2]} {y - before[0]}h{end - x}" for before, (y, x, end) in pairwise(steps)
    )
