"""Matrix times vector with a folded array of multipliers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from amaranth import Cat, Module, Signal, Value
from amaranth.lib.wiring import In, Out, connect, flipped

from rlx_fpga.cells.accumulate import Accumulator, ranges_of
from rlx_fpga.cells.pipe import delayed, register
from rlx_fpga.cells.rom import CyclicRom, pack
from rlx_fpga.cells.streams import Cell, raw, require_divisor, stream_of

if TYPE_CHECKING:
    from rlx_fpga.cells.rom import Integers

# Words of a weight memory are split into several memories above this width.
MAX_WORD_BITS = 1024
# Operands of one adder; the tree has a register behind each level.
ADDER_OPERANDS = 3


class MatrixVector(Cell):
    """``weights @ x + bias`` for a stream of vectors ``x``; ``pe * simd`` products in a cycle.

    A vector takes ``terms / simd`` beats and is given ``ceil(outputs / pe)`` times (the window
    generator's ``dense`` order with ``repeat``). Each time yields the next ``pe`` results, with
    ``lanes`` of them in a beat: as few as keep up with the input.

    Members:
        i: In, ``simd`` times int8.
        o: Out, ``lanes`` times int ``acc_bits``; ``acc_bits`` follows from the weights.

    Takes a beat in every cycle, if the consumer keeps up. Cost: ``pe * simd`` multipliers,
    ``outputs * terms`` bytes of weight memory (``outputs`` as a multiple of ``pe``), the biases.

    Args:
        weights: int8 [outputs, terms].
        bias: int32 [outputs] or None.
        pe: Outputs computed at the same time. If it does not divide ``outputs``, some multipliers
            are idle in the last group.
        simd: Terms of a beat; divides ``terms``.
        beat_cycles: Cycles that the consumer of ``o`` needs for a beat.
    """

    def __init__(
        self,
        weights: Integers,
        bias: Integers | None,
        *,
        pe: int,
        simd: int,
        beat_cycles: int = 1,
    ) -> None:
        outputs: int = weights.shape[0]
        terms: int = weights.shape[1]
        require_divisor(simd, terms)
        if not 1 <= pe <= outputs:
            msg = f"pe must lie between 1 and the {outputs} outputs, not {pe}"
            raise ValueError(msg)
        self.weights = weights
        self.pe, self.simd = pe, simd
        self.group = terms // simd
        self.repeat = -(-outputs // pe)
        levels, term_bits = _tree_of(simd)
        ranges = ranges_of(weights, bias)
        self.accumulator = Accumulator(
            "sum",
            pe=pe,
            group=self.group,
            term_bits=min(term_bits, ranges.sum_bits),
            ranges=ranges,
            bias=bias,
            beat_cycles=beat_cycles,
            outputs=outputs,
        )
        self.lanes = self.accumulator.lanes
        self.acc_bits = ranges.out_bits
        self.roms = weight_roms(weights, pe, simd)
        self.latency = 3 + levels + self.accumulator.latency
        self.multipliers = pe * simd
        self.memory_bits = self.accumulator.memory_bits + sum(r.memory_bits for r in self.roms)
        super().__init__({"i": In(stream_of(simd)), "o": Out(stream_of(self.lanes, self.acc_bits))})

    @property
    def cycles_per_vector(self) -> int:
        """Cycles that a vector takes, all its repetitions together."""
        return self.group * self.repeat

    def elaborate(self, platform: object) -> Module:
        """Memory, operand registers, products, adder tree, accumulators."""
        m = Module()
        m.submodules.accumulator = accumulator = self.accumulator
        enable = accumulator.enable
        m.d.comb += self.i.ready.eq(enable)
        weights = step_through(m, self.roms, enable & self.i.valid)
        codes = register(m, enable, raw(self.i), "codes")
        operands = register(m, enable, codes, "operands")
        factors = [
            register(m, enable, part, f"factors_{index}") for index, part in enumerate(weights)
        ]
        matrix = Cat(*factors)
        sums = []
        for row in range(self.pe):
            products = [
                register(
                    m,
                    enable,
                    _byte(operands, column) * _byte(matrix, row * self.simd + column),
                    f"product_{row}_{column}",
                )
                for column in range(self.simd)
            ]
            sums.append(_tree(m, enable, products, f"sum_{row}"))
        for row, total in enumerate(sums):
            m.d.comb += accumulator.terms[row].eq(total)
        levels, _ = _tree_of(self.simd)
        m.d.comb += accumulator.valid.eq(delayed(m, enable, self.i.valid, "valid", 3 + levels))
        connect(m, accumulator.o, flipped(self.o))
        return m


def weight_roms(weights: Integers, pe: int, simd: int) -> list[CyclicRom]:
    """Return the weights as memories in the order in which a folded unit wants them.

    Each word holds ``pe * simd`` bytes; wide words are split between processing elements.
    """
    outputs, terms = weights.shape
    filled = np.pad(weights, ((0, -outputs % pe), (0, 0)))
    blocks = filled.reshape(-1, pe, terms // simd, simd).transpose(0, 2, 1, 3)
    folded = blocks.reshape(-1, pe, simd)
    together = max(1, MAX_WORD_BITS // (8 * simd))
    return [
        CyclicRom(pack(part.reshape(len(part), -1), 8), 8 * part.shape[1] * simd)
        for part in np.split(folded, range(together, pe, together), axis=1)
    ]


def step_through(m: Module, roms: list[CyclicRom], step: Value) -> list[Value]:
    """Add the memories to the module, let all of them go on with ``step``; return their words."""
    for index, rom in enumerate(roms):
        m.submodules[f"weights_{index}"] = rom
        m.d.comb += rom.step.eq(step)
    return [rom.data for rom in roms]


def _byte(value: Value, index: int) -> Value:
    return value[8 * index : 8 * index + 8].as_signed()


def _tree(m: Module, enable: Value, terms: list[Signal], name: str) -> Value:
    """Add ``terms`` with a register behind each level of adders."""
    level = 0
    while len(terms) > 1:
        groups = [
            terms[start : start + ADDER_OPERANDS] for start in range(0, len(terms), ADDER_OPERANDS)
        ]
        terms = [
            register(m, enable, _sum(group), f"{name}_{level}_{index}")
            for index, group in enumerate(groups)
        ]
        level += 1
    return terms[0]


def _sum(terms: list[Signal]) -> Value:
    """Return the sum of up to three numbers of the same width, in the least sufficient width."""
    total = sum(terms[1:], terms[0])
    growth = (len(terms) - 1).bit_length()
    return total[: max(len(term) for term in terms) + growth].as_signed()


def _tree_of(terms: int) -> tuple[int, int]:
    """Return the levels of an adder tree over int8 products, and the width of its result."""
    levels, bits = 0, 16
    while terms > 1:
        bits += (min(terms, ADDER_OPERANDS) - 1).bit_length()
        terms = -(-terms // ADDER_OPERANDS)
        levels += 1
    return levels, bits
