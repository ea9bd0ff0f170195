"""Cells that a design takes on a device, estimated from its structure.

Block RAMs follow from Yosys's own arithmetic (``memories``), DSP slices from what the cells state.
LUTs and flip-flops are sums over the kinds of logic that ``structure`` counts, each times a factor
of the family. The factors in ``costs.json`` are fitted to Yosys's results for networks and cells
(``benchmarks/fpga/fit.py``); the file has Yosys's version.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from rlx_fpga.memories import LIBRARIES, mapping_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx_fpga.structure import Structure


PACKED: Final = 0.37
"""Share of LUTs that nextpnr packs into a logic cell with a flip-flop.

Measured on five designs for iCE40. LUTs that only serve a carry chain are not packed.
"""

PORTS: Final = "ports"
"""Name under which cells are counted that belong to no layer."""


@dataclass(frozen=True, slots=True)
class Resources:
    """Cells of a device.

    Attributes:
        lut: LUTs, those of memories, shift registers and carry chains included.
        ff: Flip-flops.
        dsp: DSP slices.
        bram: Block RAMs; multiples of 0.5 where a device has half blocks.
    """

    lut: int = 0
    ff: int = 0
    dsp: int = 0
    bram: float = 0

    @property
    def logic_cells(self) -> int:
        """Logic cells, on devices where each has one LUT and one flip-flop."""
        return self.lut + self.ff - int(PACKED * min(self.lut, self.ff))

    def __add__(self, other: Resources) -> Resources:
        return Resources(
            self.lut + other.lut, self.ff + other.ff, self.dsp + other.dsp, self.bram + other.bram
        )


def resources_by_layer(
    structures: Mapping[str, Structure], multipliers: Mapping[str, int], family: str
) -> dict[str, Resources]:
    """Return the cells of each layer, and under :data:`PORTS` the others.

    Args:
        structures: Structures of the parts of a design. A part belongs to the layer whose name it
            has, or with whose name and an underscore it begins (registers, forks, queues).
        multipliers: DSP slices of each layer, by name.
        family: Family of the device.
    """
    found = dict.fromkeys([*multipliers, PORTS], Resources())
    for part, structure in structures.items():
        owner = next((n for n in multipliers if part == n or part.startswith(f"{n}_")), PORTS)
        found[owner] += resources_of(structure, family, multipliers.get(part, 0))
    return found


def resources_of(structure: Structure, family: str, dsp: int) -> Resources:
    """Return the cells of ``structure``, which has ``dsp`` DSP slices, on ``family``."""
    terms = terms_of(structure, family)
    factors = _factors(family)
    parts = sum(mapping_of(ram, family).parts for ram in structure.rams)
    return Resources(
        lut=_weighted(factors["lut"], terms),
        ff=_weighted(factors["ff"], terms),
        dsp=dsp,
        bram=parts / LIBRARIES[family].parts,
    )


def terms_of(structure: Structure, family: str) -> Counter[str]:
    """Return the kinds of logic, and what memories add to them on ``family``.

    ``memory_luts``: LUTs that serve as memory. ``memory_logic``: bits of memories that become
    logic, ``memory_tables``: LUTs that hold them. ``memory_written``: those bits that are written,
    each a flip-flop; its factors are given, not fitted: few samples have any. ``memory_choice``:
    bits of multiplexers behind several blocks. ``memory_register``: bits of synchronous memories
    without a register of their own. ``memory_shared``: bits of block RAMs in which a word may be
    read while it is written, ``memory_shares``: their number.
    """
    terms = Counter(structure.bits)
    for ram in structure.rams:
        place = mapping_of(ram, family)
        terms["memory_luts"] += place.luts
        terms["memory_choice"] += place.muxed
        if place.kind == "block":
            shared = not (ram.read_only or ram.collision_free)
            terms["memory_shared"] += ram.width if shared else 0
            terms["memory_shares"] += shared
        else:
            terms["memory_register"] += ram.bits if ram.synchronous else 0
        if place.kind == "logic":
            # Up to the capacity of a LUT, the number of words makes no difference.
            terms["memory_logic"] += ram.bits * ram.depth
            terms["memory_written"] += 0 if ram.read_only else ram.width * ram.depth
            terms["memory_tables"] += ram.bits * -(-ram.depth // LIBRARIES[family].table_bits)
    return terms


def _weighted(factors: Mapping[str, float], terms: Mapping[str, int]) -> int:
    return math.ceil(sum(factor * terms.get(kind, 0) for kind, factor in factors.items()))


@cache
def _factors(family: str) -> Mapping[str, Mapping[str, float]]:
    data: Any = json.loads(files("rlx_fpga").joinpath("costs.json").read_text("utf-8"))
    found: Mapping[str, Mapping[str, float]] = data["families"][family]
    return found
