"""Cost model of cells: their logic from linear formulas instead of a count of their netlists.

A netlist of Amaranth takes a second and more for a large design, and ``rlx estimate`` compares
dozens of them. Most logic of a design is of a few kinds, linear in a few features: bits of a beat,
words of a queue, loops of an address. ``_BREAKDOWNS`` computes for each class of cell its features,
its parts and its memories. ``cell_model.json`` has the bits of each kind of logic
(``structure.KINDS``) per unit of a feature; ``benchmarks/fpga/cell_model.py`` fits them to the
netlists of a few hundred cells. Cells without a formula are counted in their netlist.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from rlx_fpga.cells.accumulate import Accumulator
from rlx_fpga.cells.arith import ScaledSum
from rlx_fpga.cells.chain import Chain
from rlx_fpga.cells.channelwise import Depthwise, GlobalPool, Pool
from rlx_fpga.cells.credit import ResultQueue
from rlx_fpga.cells.fifo import Fifo, SkidBuffer
from rlx_fpga.cells.fork import Fork
from rlx_fpga.cells.multiply import Packing
from rlx_fpga.cells.mvu import MatrixVector, packed_pairs
from rlx_fpga.cells.pad import Pad
from rlx_fpga.cells.requantize import Requantize
from rlx_fpga.cells.rom import CyclicRom, distinct_bits, varying_bits
from rlx_fpga.cells.softmax import EXPONENTIAL_BITS, Softmax
from rlx_fpga.cells.whole_window import Replay, WholeWindow
from rlx_fpga.cells.width import Gather, Scatter, WidthConverter
from rlx_fpga.cells.window import AddressGenerator, WindowGenerator
from rlx_fpga.memories import Ram
from rlx_fpga.structure import Structure, structure_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx_fpga.cells.streams import Part


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Breakdown of a cell.

    Attributes:
        numbers: Features that its own logic is linear in.
        parts: Cells inside it, by name.
        rams: Its own memories.
        bits: Bits of kinds of logic that need no formula, or that no netlist shows.
    """

    numbers: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[str, Part] = field(default_factory=dict)
    rams: Sequence[Ram] = ()
    bits: Mapping[str, int] = field(default_factory=dict)


def predicted_structure(cell: Part) -> Structure:
    """Return the predicted counts of ``cell`` with everything inside it."""
    found = Structure()
    _add(found, cell)
    # After flattening, inner components no longer count as components.
    found.bits["one"] = 1
    return found


def breakdown_of(cell: Part) -> Breakdown | None:
    """Return the breakdown of ``cell``, or None if there is no formula for it."""
    rule = _BREAKDOWNS.get(type(cell))
    return None if rule is None else rule(cell)


def _add(found: Structure, cell: Part) -> None:
    own = breakdown_of(cell)
    if own is None:
        for counted in structure_of(cell).values():
            found.bits.update(counted.bits)
            found.rams += counted.rams
        return
    for kind, factors in _model().get(type(cell).__name__, {}).items():
        amount = sum(
            factor * own.numbers[name] for name, factor in factors.items() if name in own.numbers
        )
        found.bits[kind] += round(amount)
    found.bits.update(own.bits)
    found.rams += own.rams
    for part in own.parts.values():
        _add(found, part)


@cache
def _model() -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    found: Any = json.loads(files("rlx_fpga").joinpath("cell_model.json").read_text("utf-8"))
    return dict(found)


def _bits(count: int) -> int:
    """Return the bits of a counter of so many values."""
    return (count - 1).bit_length()


def _chain(cell: Chain) -> Breakdown:
    return Breakdown(parts=cell.parts)


def _skid_buffer(cell: SkidBuffer) -> Breakdown:
    return Breakdown({"one": 1, "bits": cell.bits})


def _fork(cell: Fork) -> Breakdown:
    return Breakdown({"one": 1, "readers": cell.count})


def _fifo(cell: Fifo) -> Breakdown:
    depth, sort = cell.depth, "deep" if cell.deep else "shallow"
    numbers = {sort: 1, f"{sort}_bits": _bits(depth)}
    if depth & (depth - 1):
        numbers[f"{sort}_round"] = _bits(depth)
    if cell.deep:
        numbers["out"] = cell.bits
    ram = Ram(cell.bits, depth, read_only=False, synchronous=cell.deep, collision_free=cell.deep)
    return Breakdown(numbers, rams=[ram])


def _width_converter(cell: WidthConverter) -> Breakdown:
    return Breakdown(parts=cell.parts)


def _gather(cell: Gather | Scatter) -> Breakdown:
    return Breakdown(
        {
            "one": 1,
            "wide": cell.bits,
            "narrow": cell.bits // cell.ratio,
            "count_bits": _bits(cell.ratio + 1),
        }
    )


def _result_queue(cell: ResultQueue) -> Breakdown:
    depth = max(cell.depth, 2)
    numbers = {
        "one": 1,
        "bits": cell.bits,
        "depth_bits": _bits(cell.depth + 1),
        "place_bits": _bits(depth),
        "burst_bits": _bits(cell.burst + 1) - 1,
    }
    return Breakdown(
        numbers, rams=[Ram(cell.bits, depth, read_only=False, synchronous=False, registered=True)]
    )


def _cyclic_rom(cell: CyclicRom) -> Breakdown:
    if cell.constant:
        return Breakdown()
    depth, banks = len(cell.words), len(cell.banks)
    bits = _bits(depth)
    # Without an adder, a bit waits for all below it.
    numbers: dict[str, float] = {"one": 1}
    numbers |= {"added_bits": bits} if cell.adds else {"bits": bits, "below": bits * (bits - 1)}
    if banks > 1:
        numbers |= {
            "banked": 1,
            "banks": banks,
            "bank_bits": _bits(banks + 1),
            "found_bits": sum(bits - _bits(words) for words in cell.banks[:-1]),
            "held": banks * cell.width,
            "chosen": (banks - 1) * cell.width,
            "begun": cell.width,
        }
    return Breakdown(numbers, rams=[_words(words, cell) for words in cell.banked if len(words) > 1])


def _words(words: Sequence[int], cell: CyclicRom) -> Ram:
    return Ram(
        varying_bits(words, cell.width),
        len(words),
        read_only=True,
        synchronous=True,
        style=cell.store.style,
        distinct=distinct_bits(words, cell.width),
    )


def _accumulator(cell: Accumulator) -> Breakdown:
    ranges, lanes = cell.ranges, cell.lanes
    sums = cell.pe * ranges.sum_bits
    numbers: dict[str, float] = {
        "one": 1,
        f"{cell.kind}_{'group' if cell.group > 1 else 'single'}": sums,
        "out": lanes * ranges.sum_bits,
        "group": cell.group > 1,
        "group_bits": _bits(cell.group),
    }
    if cell.rounds > 1:
        numbers |= {"rounds": 1, "held": sums, "round_bits": _bits(cell.rounds + 1)}
    if cell.idle:
        numbers |= {"idle": 1, "idle_bits": _bits(cell.groups)}
    parts: dict[str, Part] = {"queue": ResultQueue(lanes, ranges.out_bits, cell.depth, cell.rounds)}
    if cell.bias:
        if cell.bias.constant:
            numbers["added_constant"] = lanes * ranges.out_bits
        else:
            numbers |= {"added": lanes * ranges.out_bits, "bias": lanes * ranges.bias_bits}
        parts["bias"] = cell.bias
    return Breakdown(numbers, parts)


def _products(
    cell: MatrixVector | Depthwise, products: int, codes: int, roms: Sequence[CyclicRom]
) -> dict[str, int]:
    """Return the bits of LUT multipliers, of products in DSP slices, and of their operands.

    In a short memory, many bits of weights are the same in all words: products with them are
    products with a constant. Registers of equal bits are merged.
    """
    bits = 8 * cell.weight_bits
    width = sum(rom.width for rom in roms)
    product = round(cell.logic * bits * sum(rom.varying_bits for rom in roms) / width)
    distinct = sum(rom.distinct_bits for rom in roms)
    varying = sum(rom.varying_bits for rom in roms)
    held = distinct * cell.logic // products - (varying - distinct)
    return {
        "product": product,
        "scaled": cell.logic * bits - product,
        "multiply": (products - cell.logic) * bits,
        "operands": (products - cell.logic) * (8 + cell.weight_bits),
        "register": held + (8 * codes if cell.logic else 0),
    }


def _factors(roms: Sequence[CyclicRom]) -> dict[str, int]:
    """Return the bits of weights that come from memories, and those that are constants."""
    return {
        "constants": sum(rom.width for rom in roms if rom.constant),
        "factors": sum(rom.width for rom in roms if not rom.constant),
    }


def _matrix_vector(cell: MatrixVector) -> Breakdown:
    roms = {f"weights_{index}": rom for index, rom in enumerate(cell.roms)}
    numbers = {
        "one": 1,
        "codes": 8 * cell.simd,
        "held": cell.pe * cell.simd * (8 + cell.weight_bits),
        "tree": cell.pe * cell.tree_bits[0],
        **_factors(cell.roms),
    }
    products = _products(cell, cell.pe * cell.simd, cell.simd, cell.roms)
    shared = cell.packing is Packing.SHARED_OPERAND
    bits = {
        **products,
        "tree": cell.pe * cell.tree_bits[1],
        "paired": packed_pairs(cell.packing, cell.pe, cell.simd) if shared else 0,
    }
    return Breakdown(numbers, {"accumulator": cell.accumulator, **roms}, bits=bits)


def _depthwise(cell: Depthwise) -> Breakdown:
    numbers = {
        "one": 1,
        "codes": 8 * cell.pe,
        "held": cell.products * (8 + cell.weight_bits),
        **_factors([cell.rom]),
    }
    products = _products(cell, cell.products, cell.pe, [cell.rom])
    parts = {"accumulator": cell.accumulator, "weights_0": cell.rom}
    return Breakdown(numbers, parts, bits=products)


def _pool(cell: Pool) -> Breakdown:
    return Breakdown({"one": 1, "codes": 8 * cell.pe}, {"accumulator": cell.accumulator})


def _global_pool(cell: GlobalPool) -> Breakdown:
    bits = cell.lanes * cell.out_bits
    numbers = {
        "one": 1,
        "codes": 8 * cell.lanes,
        cell.kind: bits,
        "blocks": cell.blocks > 1,
        "block_bits": _bits(cell.blocks),
        "pixels": cell.pixels > 1,
        "pixel_bits": _bits(cell.pixels),
    }
    if cell.blocks == 1:
        return Breakdown({**numbers, "held": bits})
    return Breakdown(
        numbers, rams=[Ram(bits, cell.blocks, read_only=False, synchronous=False, registered=True)]
    )


def _pad(cell: Pad) -> Breakdown:
    axes = [*zip(cell.before, cell.sizes, cell.total, strict=True)]
    numbers = {
        "one": 1,
        "bits": 8 * cell.lanes,
        "counters": sum(total > 1 for *_, total in axes),
        "counter_bits": sum(_bits(total) for *_, total in axes),
        "starts": sum(before > 0 for before, *_ in axes),
        "start_bits": sum(_bits(total) for before, _, total in axes if before),
        "stops": sum(before + size < total for before, size, total in axes),
        "stop_bits": sum(_bits(total) for before, size, total in axes if before + size < total),
    }
    return Breakdown(numbers)


def _whole_window(cell: WholeWindow) -> Breakdown:
    geometry = cell.geometry
    numbers = {
        "one": 1,
        "taps": 8 * cell.lanes,
        "row_bits": _bits(max(geometry.height, 2)),
        "column_bits": _bits(geometry.width),
    }
    above = 8 * cell.channels * (geometry.kernel[0] - 1)
    if not above:
        return Breakdown(numbers)
    ram = Ram(above, geometry.width, read_only=False, synchronous=True, collision_free=True)
    return Breakdown({**numbers, "addresses": _bits(geometry.width)}, rams=[ram])


def _replay(cell: Replay) -> Breakdown:
    return Breakdown({"one": 1, "bits": 8 * cell.lanes, "left_bits": _bits(cell.beats + 1)})


def _softmax(cell: Softmax) -> Breakdown:
    codes = Ram(8, max(2, cell.count), read_only=False, synchronous=True)
    table = _table(cell.exponentials, EXPONENTIAL_BITS)
    return Breakdown({"one": 1, "count_bits": _bits(cell.count)}, rams=[codes, table])


def _scaled_sum(cell: ScaledSum) -> Breakdown:
    numbers = {
        "one": 1,
        "first": cell.lanes * sum(cell.widths),
        "out": cell.lanes * cell.width,
    }
    rams = [_table(*table) for table in zip(cell.tables, cell.widths, strict=True)]
    return Breakdown(numbers, rams=rams * cell.lanes)


def _table(entries: Sequence[int], width: int) -> Ram:
    """Return the memory of a function of one int8 value."""
    varying = varying_bits([entry & (1 << width) - 1 for entry in entries], width)
    return Ram(varying, len(entries), read_only=True, synchronous=True, distinct=varying)


def _requantize(cell: Requantize) -> Breakdown | None:
    scaling, lanes = cell.scaling, cell.lanes
    if scaling.rounding == "single":
        return None
    form = f"{scaling.parts if cell.multipliers else 'serial'}_{cell.beat_cycles}"
    wide = lanes * scaling.width
    numbers = {
        "one": 1,
        form: 1,
        f"{form}_lanes": lanes,
        f"{form}_width": wide,
        f"{form}_right": lanes * scaling.right_bits,
        "saturated": lanes * (cell.acc_width - cell.width),
        "right": lanes * scaling.right_bits,
        "right_width": wide * scaling.right_bits,
        "left_width": wide * scaling.left_bits,
        "constants": 0 if cell.rom.constant else cell.rom.width,
    }
    queue = ResultQueue(lanes, 8, cell.depth)
    return Breakdown(numbers, {"constants": cell.rom, "queue": queue})


def _window_generator(cell: WindowGenerator) -> Breakdown:
    numbers = {
        "one": 1,
        "bits": 8 * cell.lanes,
        "padding": 8 * cell.lanes * cell.geometry.is_padded,
        "depth_bits": _bits(cell.depth),
        "free_bits": _bits(cell.depth + cell.geometry.words + 1),
        "surplus_bits": max(cell.depth, cell.geometry.words).bit_length() + 1,
    }
    ram = Ram(8 * cell.lanes, cell.depth, read_only=False, synchronous=True, collision_free=True)
    return Breakdown(numbers, {"addresses": cell.addresses, "queue": cell.queue}, [ram])


def _address_generator(cell: AddressGenerator) -> Breakdown:
    geometry, loops = cell.geometry, cell.loops()
    steps = cell.steps()
    counters = [loop.count for loop in loops[:-1] if loop.count > 1]
    address = _bits(cell.depth)
    numbers: dict[str, float] = {
        "one": 1,
        "counters": len(counters),
        "counter_bits": sum(map(_bits, counters)),
        "address_bits": address,
        "address_steps": address * (len({step.word % cell.depth for step in steps}) - 1),
    }
    for size, reach, ways in (
        (geometry.height, geometry.padded[0], [step.row for step in steps]),
        (geometry.width, geometry.padded[1], [step.column for step in steps]),
    ):
        if reach != size:
            _count(numbers, "padded", 1)
            _count(numbers, "padded_bits", _bits(reach))
            _count(numbers, "padded_steps", _bits(reach) * (len(set(ways)) - 1))
    for size in (geometry.out_width, geometry.out_height):
        _count(numbers, "ahead", size > 1)
        _count(numbers, "ahead_bits", _bits(size))
    for name, values in cell.pieces().items():
        size = geometry.out_height if name.endswith("row") else geometry.out_width
        ends = sum(a != b for a, b in pairwise(values))
        most = max(map(abs, values), default=0) * geometry.blocks
        _count(numbers, "reached", ends * _bits(size))
        _count(numbers, "chosen", ends * most.bit_length())
    numbers["release_bits"] = _bits(geometry.words + 1)
    numbers["advance_bits"] = (geometry.words + geometry.needed[0]).bit_length() + 1
    return Breakdown(numbers)


def _count(numbers: dict[str, float], name: str, more: float) -> None:
    numbers[name] = numbers.get(name, 0) + more


_BREAKDOWNS: Final[Mapping[type[Part], Callable[[Any], Breakdown | None]]] = {
    Chain: _chain,
    SkidBuffer: _skid_buffer,
    Fork: _fork,
    Fifo: _fifo,
    WidthConverter: _width_converter,
    Gather: _gather,
    Scatter: _gather,
    ResultQueue: _result_queue,
    CyclicRom: _cyclic_rom,
    Accumulator: _accumulator,
    MatrixVector: _matrix_vector,
    Depthwise: _depthwise,
    Pool: _pool,
    GlobalPool: _global_pool,
    Pad: _pad,
    WholeWindow: _whole_window,
    Replay: _replay,
    Softmax: _softmax,
    ScaledSum: _scaled_sum,
    Requantize: _requantize,
    WindowGenerator: _window_generator,
    AddressGenerator: _address_generator,
}
"""Breakdown by class of cell."""
