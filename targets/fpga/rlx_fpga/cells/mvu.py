"""Matrix-vector product with a folded array of multipliers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from amaranth import Module, Value
from amaranth.lib.wiring import In, Out, connect, flipped

from rlx_fpga.cells.accumulate import Accumulator, ranges_of
from rlx_fpga.cells.multiply import LATENCY, Packing, multiply_each, multiply_shared
from rlx_fpga.cells.pipe import follow
from rlx_fpga.cells.rom import Store
from rlx_fpga.cells.streams import Cell, raw, require_divisor, stream_of
from rlx_fpga.cells.weights import WeightMemories, weight_bits
from rlx_fpga.cost.logic import Logic, total

if TYPE_CHECKING:
    from collections.abc import Mapping

    from amaranth.lib import stream

    from rlx_fpga.cells.accumulate import Ranges
    from rlx_fpga.cells.rom import CyclicRom, Integers, RomSizes

# Operands of an adder in the tree, which has a register after each level.
ADDER_OPERANDS = 3
# Registers before the multipliers: the beat, again while memories are read, then both.
OPERAND_STAGES = 3


class MatrixVector(Cell):
    """``weights @ x + bias`` for a stream of vectors ``x``; ``pe * simd`` products in a cycle.

    A vector takes ``terms / simd`` beats and is sent ``ceil(outputs / pe)`` times (the window
    generator's ``dense`` order with ``repeat``). Each time yields the next ``pe`` results, with
    ``lanes`` of them in a beat: the minimum that keeps up with the input.

    Members:
        i: In, ``simd`` times int8.
        o: Out, ``lanes`` times int ``acc_bits``; ``acc_bits`` follows from the weights.

    Latency ``latency`` from the last beat of a vector to its first results, which take ``drain``
    more cycles; initiation interval 1: a beat in every cycle. Cost: ``pe * simd`` products;
    ``outputs * terms`` weights of ``weight_bits`` in memory (``outputs`` rounded up to a multiple
    of ``pe``); the biases. Products use DSP slices, except with 2-bit weights and for ``logic`` of
    them, which are LUT multipliers. Packed, they take half the slices, and one more bit for
    each weight if any of them is the minimum of its width.

    Args:
        weights: int8 [outputs, terms].
        bias: int32 [outputs] or None.
        pe: Outputs computed at the same time. If it does not divide ``outputs``, some multipliers
            are idle in the last group.
        simd: Terms of a beat; divides ``terms``.
        beat_cycles: Cycles that the consumer of ``o`` needs for a beat.
        logic: Number of LUT multipliers.
        store: Storage of the weights.
        packing: Packing of products in a DSP slice; ``SHARED_OPERAND`` for those of two outputs.
    """

    def __init__(
        self,
        weights: Integers,
        bias: Integers | None,
        *,
        pe: int,
        simd: int,
        beat_cycles: int = 1,
        logic: int = 0,
        store: Store = Store.FREE,
        packing: Packing = Packing.NONE,
    ) -> None:
        outputs: int = weights.shape[0]
        terms: int = weights.shape[1]
        require_divisor(simd, terms)
        if not 1 <= pe <= outputs:
            msg = f"expected a pe between 1 and the {outputs} outputs, got {pe}"
            raise ValueError(msg)
        self.weights, self.store = WeightMemories(weights), store
        self.pe, self.simd = pe, simd
        self.group = terms // simd
        self.repeat = -(-outputs // pe)
        self.array = MultiplierArray.of(pe, simd, weight_bits(weights), logic, packing)
        ranges = ranges_of(weights, bias)
        self.accumulator = matrix_accumulator(
            (outputs, terms), self.array, ranges, bias, beat_cycles
        )
        self.lanes = self.accumulator.lanes
        self.acc_bits = ranges.out_bits
        self.latency = self.accumulator.delay + self.accumulator.latency
        self.drain = self.accumulator.drain
        self.multipliers = self.array.multipliers
        super().__init__({"i": In(stream_of(simd)), "o": Out(stream_of(self.lanes, self.acc_bits))})

    @cached_property
    def roms(self) -> list[CyclicRom]:
        """The memories of the weights; their words are packed on first access."""
        return self.weights.roms(self.pe, self.simd, self.array.packing, self.store)

    @cached_property
    def memory_bits(self) -> int:
        """Bits of weights and biases."""
        roms = self.weights.sizes(self.pe, self.simd, self.array.packing, self.store)
        return self.accumulator.memory_bits + sum(count * rom.bits for rom, count in roms.items())

    @cached_property
    def logic(self) -> Logic:
        """Operand and product registers, adder trees, memories, accumulators."""
        roms = self.weights.sizes(self.pe, self.simd, self.array.packing, self.store)
        return matrix_logic(self.array, roms) + self.accumulator.logic

    def elaborate(self, platform: object) -> Module:
        """Memory, operand registers, products, adder tree, accumulators."""
        m = Module()
        m.submodules.accumulator = accumulator = self.accumulator
        codes, factors, valid = enter(m, self.i, accumulator, self.roms)
        products = self._products(m, platform, codes, factors)
        array = self.array
        levels, _ = _tree_of(self.simd, 8 + array.weight_bits)
        for row in range(self.pe):
            mine = products[row * self.simd : (row + 1) * self.simd]
            m.d.comb += accumulator.terms[row].eq(_tree(m, mine, f"sum_{row}"))
        stages = LATENCY + levels
        m.d.comb += accumulator.valid.eq(follow(m, valid, "valid", stages, reset=True))
        connect(m, accumulator.o, flipped(self.o))
        return m

    def _products(
        self, m: Module, platform: object, codes: Value, factors: list[Value]
    ) -> list[Value]:
        """Return the products of all outputs, those of the first output first."""
        x = [field(codes, column, 8) for column in range(self.simd)]
        array = self.array
        stored = self.weights.bits[array.packing]
        # Fields of the registers: Amaranth would traverse their concatenation for each field.
        y = [field(word, place, stored) for word in factors for place in range(len(word) // stored)]
        rows = [y[row * self.simd : (row + 1) * self.simd] for row in range(self.pe)]
        products: list[Value] = []
        paired = self.pe - self.pe % 2 if array.packing is Packing.SHARED_OPERAND else 0
        for row in range(0, paired, 2):
            pairs = [
                multiply_shared(m, platform, x[k], pair, array.weight_bits, f"product_{row}_{k}")
                for k, pair in enumerate(zip(rows[row], rows[row + 1], strict=True))
            ]
            products += [low for low, _ in pairs] + [high for _, high in pairs]
        single = {
            f"product_{row}_{k}": (x[k], rows[row][k][: array.weight_bits].as_signed())
            for row in range(paired, self.pe)
            for k in range(self.simd)
        }
        return products + multiply_each(
            m, platform, single, logic=array.logic, packing=array.packing
        )


@dataclass(frozen=True, slots=True)
class MultiplierArray:
    """An array of multipliers, for int8 values and weights.

    Attributes:
        pe: Results, or input channels of a depthwise unit, at the same time.
        simd: Terms of each.
        weight_bits: Bits of a weight.
        logic: LUT multipliers.
        packing: Packing of two of the other products in a DSP slice.
    """

    pe: int
    simd: int
    weight_bits: int
    logic: int
    packing: Packing

    @staticmethod
    def of(pe: int, simd: int, bits: int, logic: int, packing: Packing) -> MultiplierArray:
        """Return the array: products with ternary weights are additions, in LUTs."""
        logic = logic if needs_multiplier(bits) else pe * simd
        return MultiplierArray(pe, simd, bits, logic, Packing.NONE if logic else packing)

    @property
    def multipliers(self) -> int:
        """DSP slices."""
        return self.pe * self.simd - self.logic - packed_pairs(self.packing, self.pe, self.simd)


def matrix_accumulator(
    shape: tuple[int, int],
    array: MultiplierArray,
    ranges: Ranges,
    bias: Integers | None,
    beat_cycles: int,
) -> Accumulator:
    """Return the accumulators after an array for weights of ``shape``: outputs, terms."""
    levels, term_bits = _tree_of(array.simd, 8 + array.weight_bits)
    outputs, terms = shape
    return Accumulator(
        "sum",
        pe=array.pe,
        group=terms // array.simd,
        term_bits=min(term_bits, ranges.sum_bits),
        ranges=ranges,
        delay=OPERAND_STAGES + LATENCY + levels,
        bias=bias,
        beat_cycles=beat_cycles,
        outputs=outputs,
    )


def matrix_logic(array: MultiplierArray, roms: Mapping[RomSizes, int]) -> Logic:
    """Return the logic of a ``MatrixVector``, without its accumulators."""
    registers, sums = _tree_bits(array.simd, 8 + array.weight_bits)
    shared = array.packing is Packing.SHARED_OPERAND
    control = Logic(
        register=7 + array.pe * registers,
        test=22,
        tree=array.pe * sums,
        paired=packed_pairs(array.packing, array.pe, array.simd) if shared else 0,
    )
    return control + array_logic(roms, array, 8 * array.simd)


def array_logic(roms: Mapping[RomSizes, int], array: MultiplierArray, codes: int) -> Logic:
    """Return memories, operands and products of an array of multipliers.

    In a short memory, many bits of weights are the same in all words: products with them are
    products with a constant. Registers of equal bits are merged.

    Args:
        roms: Number of memories of the weights by their sizes.
        array: The array.
        codes: Bits of a beat of the input.
    """
    products = array.pe * array.simd
    width = sum(count * rom.width for rom, count in roms.items())
    varying = sum(count * rom.varying for rom, count in roms.items())
    distinct = sum(count * rom.distinct for rom, count in roms.items())
    bits = array.logic * 8 * array.weight_bits
    product = bits * varying / width
    merged = distinct * array.logic // products - (varying - distinct)
    factors = sum(count * rom.width for rom, count in roms.items() if not rom.constant)
    operands = Logic(
        register=(4 if array.logic else 3) * codes + merged,
        operand=factors + products * (8 + array.weight_bits),
        product=product,
        scaled=bits - product,
    )
    return total([operands, *(rom.logic.times(count) for rom, count in roms.items())])


def packed_pairs(packing: Packing, pe: int, simd: int) -> int:
    """Return the number of pairs of products of an array that share a DSP slice."""
    match packing:
        case Packing.NONE:
            return 0
        case Packing.SHARED_OPERAND:
            return pe // 2 * simd
        case Packing.INDEPENDENT:
            return pe * simd // 2


def needs_multiplier(bits: int) -> bool:
    """Return whether products with weights of ``bits`` bits justify a multiplier.

    With two bits (ternary weights) additions are enough.
    """
    return bits > 2


def enter(
    m: Module, i: stream.Interface, accumulator: Accumulator, roms: list[CyclicRom]
) -> tuple[Value, list[Value], Value]:
    """Return input values, the corresponding words of the memories, and whether they are valid.

    All come from registers next to the multipliers, ``OPERAND_STAGES`` cycles after a beat was
    accepted. The memories advance by a word with every beat.
    """
    m.d.comb += [i.ready.eq(accumulator.open), accumulator.offered.eq(i.valid)]
    accepted = follow(m, i.valid & i.ready, "taken", reset=True)
    for index, rom in enumerate(roms):
        m.submodules[f"weights_{index}"] = rom
        m.d.comb += rom.step.eq(accepted)
    codes = follow(m, raw(i), "codes", OPERAND_STAGES)
    factors = [follow(m, rom.data, f"factors_{index}") for index, rom in enumerate(roms)]
    return codes, factors, follow(m, accepted, "entered", OPERAND_STAGES - 1, reset=True)


def field(value: Value, index: int, bits: int) -> Value:
    """Return the signed number of ``bits`` bits at place ``index`` of ``value``."""
    return value[bits * index : bits * (index + 1)].as_signed()


def _tree(m: Module, terms: list[Value], name: str) -> Value:
    """Add ``terms`` with a register after each level of adders."""
    level = 0
    while len(terms) > 1:
        groups = [
            terms[start : start + ADDER_OPERANDS] for start in range(0, len(terms), ADDER_OPERANDS)
        ]
        terms = [
            follow(m, _sum(group), f"{name}_{level}_{index}") for index, group in enumerate(groups)
        ]
        level += 1
    return terms[0]


def _sum(terms: list[Value]) -> Value:
    """Return the sum of up to three numbers of the same width, in the minimum width."""
    total = sum(terms[1:], terms[0])
    growth = (len(terms) - 1).bit_length()
    return total[: max(len(term) for term in terms) + growth].as_signed()


def _tree_of(terms: int, bits: int) -> tuple[int, int]:
    """Return the levels of an adder tree over products of ``bits``, and the width of its result."""
    levels = 0
    while terms > 1:
        bits += (min(terms, ADDER_OPERANDS) - 1).bit_length()
        terms = -(-terms // ADDER_OPERANDS)
        levels += 1
    return levels, bits


def _tree_bits(terms: int, bits: int) -> tuple[int, int]:
    """Return the bits of all registers of an adder tree over products of ``bits``, and its sums."""
    registers = sums = 0
    while terms > 1:
        groups = -(-terms // ADDER_OPERANDS)
        bits += (min(terms, ADDER_OPERANDS) - 1).bit_length()
        registers += groups * bits
        sums += (terms - groups) * bits
        terms = groups
    return registers, sums
