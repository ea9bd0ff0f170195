"""Cells that a design uses on a device, predicted from the logic and memories of its parts.

Block RAMs follow from Yosys's own arithmetic (``memories``), DSP slices are declared by the cells.
LUTs and flip-flops are sums over the kinds of :class:`~rlx_fpga.cost.logic.Logic`, each times a
coefficient of the family. ``benchmarks/fpga/fit.py`` fits the coefficients in
``coefficients.json`` to Yosys's counts; the file has Yosys's version.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from rlx_fpga.cost.memories import LIBRARIES, mapping_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx_fpga.cost.logic import Logic


PACKED: Final = 0.37
"""Share of LUTs that nextpnr packs into a logic cell with a flip-flop.

Measured on five designs for iCE40. LUTs that only serve a carry chain are not packed.
"""

JOINT_SHARE: Final = 0.92
"""Share of logic cells (a LUT and a flip-flop each) to fill, unless no other design fits.

nextpnr needed up to 9 % more than predicted for the designs for iCE40 that were measured.
"""

PORTS: Final = "ports"
"""Name under which cells outside of layers are counted."""

PAIR_REGISTERS: Final = 16
"""Flip-flops of the second product of a pair that shares a slice, which lacks them."""

LUT_TERMS: Final = (
    "add",
    "compare",
    "test",
    "mux",
    "product",
    "scaled",
    "tree",
    "ram",
    "ram_mux",
    "table",
)
FF_TERMS: Final = ("register", "operand", "product", "scaled", "ram_register")


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


@dataclass(frozen=True, slots=True)
class CostTerms:
    """Amounts that a family's coefficients are multiplied with.

    Attributes:
        lut: For each of :data:`LUT_TERMS` its amount. ``ram``: LUTs that serve as memory;
            ``ram_mux``: bits of multiplexers after several memories; ``table``: LUTs that hold
            read-only words.
        ff: For each of :data:`FF_TERMS`. ``ram_register``: bits of synchronous memories without a
            register of their own.
        fixed: LUTs and flip-flops that are exact, without a coefficient.
        parts: Parts of block RAMs.
    """

    lut: tuple[float, ...]
    ff: tuple[float, ...]
    fixed: tuple[int, int]
    parts: int


def terms_of(logic: Logic, family: str) -> CostTerms:
    """Return the terms of ``logic`` on ``family``."""
    library = LIBRARIES[family]
    ram = ram_mux = table = ram_register = written = parts = 0
    # One LUT and one flip-flop for each packed pair's correction and its second product.
    lut, ff = logic.paired, PAIR_REGISTERS * logic.paired
    for memory in logic.memories:
        mapping = mapping_of(memory, family)
        ram, ram_mux, parts = ram + mapping.luts, ram_mux + mapping.muxed, parts + mapping.parts
        if mapping.kind == "block":
            if not (memory.read_only or memory.collision_free):
                # Registers that return the old word, where a block does not.
                lut, ff = lut + memory.width + 10, ff + 2 * memory.width + 10
            continue
        ram_register += memory.bits if memory.synchronous else 0
        if mapping.kind == "logic" and memory.read_only:
            table += memory.bits * -(-memory.depth // library.table_bits)
        elif mapping.kind == "logic":
            written += memory.width * memory.depth
    return CostTerms(
        (
            logic.add,
            logic.compare,
            logic.test,
            logic.mux + written,
            logic.product,
            logic.scaled,
            logic.tree,
            ram,
            ram_mux,
            table,
        ),
        (logic.register, logic.operand, logic.product, logic.scaled, ram_register),
        (lut, ff + written),
        parts,
    )


def resources_of(logic: Logic, family: str, dsp: int = 0) -> Resources:
    """Return the cells of ``logic``, which has ``dsp`` DSP slices, on ``family``."""
    terms = terms_of(logic, family)
    lut, ff = _coefficients(family)
    return Resources(
        lut=math.ceil(terms.fixed[0] + sum(map(float.__mul__, lut, map(float, terms.lut)))),
        ff=math.ceil(terms.fixed[1] + sum(map(float.__mul__, ff, map(float, terms.ff)))),
        dsp=dsp,
        bram=terms.parts / LIBRARIES[family].parts,
    )


def lut_of_product(family: str) -> tuple[float, float]:
    """Return about the LUTs of an int8 value times a bit of a weight, and of adding a product."""
    lut = dict(zip(LUT_TERMS, _coefficients(family)[0], strict=True))
    return 8 * lut["product"], 16 * lut["tree"]


@cache
def _coefficients(family: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    data: Any = json.loads(files("rlx_fpga.cost").joinpath("coefficients.json").read_text("utf-8"))
    found: Mapping[str, Mapping[str, float]] = data["families"][family]
    return (
        tuple(float(found["lut"][name]) for name in LUT_TERMS),
        tuple(float(found["ff"][name]) for name in FF_TERMS),
    )
