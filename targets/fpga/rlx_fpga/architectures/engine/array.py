"""The array of the engine: products, sums, maxima and tables of the values that it reads."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from amaranth import Cat, Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from rlx_fpga.architectures.engine.program import Feed, Mode
from rlx_fpga.architectures.engine.timing import ARRAY_LATENCY
from rlx_fpga.cells.multiply import has_blocks, multiply_moving, multiply_sum
from rlx_fpga.cells.one_port import OnePortRam
from rlx_fpga.cells.pipe import follow
from rlx_fpga.cells.rom import pack, varying_bits
from rlx_fpga.cells.sizes import depth_of
from rlx_fpga.cells.table import table_ram
from rlx_fpga.cost.logic import Logic, total
from rlx_fpga.cost.memories import Ram

if TYPE_CHECKING:
    from amaranth.hdl import Value

    from rlx_fpga.architectures.engine.program import EngineProgram
    from rlx_fpga.architectures.engine.sequencer import Sequencer

SUMMING: Final = ("ice40", "xc7")
"""Families whose DSP slices keep the sums of lanes: on iCE40 those of all but the first one, as
instances; on Xilinx 7 Yosys 0.70 packs the accumulators into them."""


class MultiplierArray(Component):
    """Lanes that multiply and accumulate; the first one has the other modes too.

    Members:
        code: In, int8, the value read, a cycle after its step.
        done: Out, results of a block are valid, ``ARRAY_LATENCY`` cycles after its last step.
        totals: Out, int32 for each lane.
        fill: In, write a word of weights in this cycle (if they are not built in).
        fill_word: In, its address.
        fill_code: In, the word.

    Latency ``ARRAY_LATENCY``, initiation interval 1: a value in every cycle. The other inputs come
    from the sequencer.
    """

    _MustUse__silence = True

    def __init__(
        self, program: EngineProgram, sequencer: Sequencer, *, large: bool = False
    ) -> None:
        self.program, self.sequencer, self.large = program, sequencer, large
        self.multipliers = program.lanes if program.weights else 0
        tables = max(1, (len(program.tables) - 1).bit_length())
        super().__init__({
            "code": In(signed(8)), "done": Out(1), "totals": Out(32 * program.lanes),
            "step": In(1), "in_image": In(1), "first": In(1), "last": In(1), "second": In(1),
            "word": In(len(sequencer.word)), "part": In(len(sequencer.part)),
            "mode": In(3), "padding": In(signed(8)), "tables": In(tables),
            "fill": In(1), "fill_word": In(len(sequencer.word)), "fill_code": In(8 * program.lanes),
        })  # fmt: skip

    def sums(self, family: str) -> Logic:
        """Return the products and sums of all lanes, where DSP slices do not keep them."""
        lanes = self.program.lanes
        if self.multipliers and family in SUMMING:
            return Logic()
        return Logic(48 * lanes, 32 * lanes, mux=32 * lanes)

    @cached_property
    def logic(self) -> Logic:
        """Modes of the first lane, weights and tables; without ``sums``."""
        lanes, memories = self.program.lanes, []
        tables = [entry for table in self.program.tables for entry in table]
        if tables:
            memories.append(table_ram(tables, 32))
        lane_logic = Logic(20, 0, 32, 45 + lanes, 110)
        if not self.program.weights:
            return lane_logic + Logic(memories=tuple(memories))
        if self.program.feed is not Feed.BUILT_IN:
            ram = OnePortRam(8 * lanes, self.program.weight_depth, large=self.large)
            return total([lane_logic, ram.logic, Logic(memories=tuple(memories))])
        words = pack(np.array(self.program.weights), 8)
        varying = varying_bits(words, 8 * lanes)
        memories.append(
            Ram(varying, depth_of(len(words)), read_only=True, synchronous=True, distinct=varying)
        )
        return lane_logic + Logic(memories=tuple(memories))

    def elaborate(self, platform: object) -> Module:
        """Read, multiply, add: one register after each."""
        m = Module()

        def late(value: Value, name: str, cycles: int) -> Value:
            return follow(m, value, name, cycles, reset=True)

        code = Signal(signed(8))
        m.d.comb += code.eq(Mux(late(self.in_image, "in_image", 1), self.code, self.padding))
        second, part = late(self.second, "second", 1), late(self.part, "part", 1)
        terms, other_factors = self._terms(m, platform, code, second, part)
        step, first = late(self.step, "step", 2), late(self.first, "first", 2)
        for lane, factors in enumerate(other_factors, len(terms)):
            summed = multiply_sum(m, platform, factors, step, first, f"total_{lane}")
            m.d.comb += self.totals[32 * lane : 32 * lane + 32].eq(summed)
        for lane, term in enumerate(terms):
            total = Signal(signed(32), name=f"total_{lane}", reset_less=True)
            with m.If(step):
                m.d.sync += total.eq(Mux(first, Const(0, total.shape()), total) + term)
                if lane == 0:
                    with m.If((self.mode == Mode.MAX) & ~first & (total > term)):
                        m.d.sync += total.eq(total)
                    with m.Elif(self.mode == Mode.MAX):
                        m.d.sync += total.eq(term)
            m.d.comb += self.totals[32 * lane : 32 * lane + 32].eq(total)
        m.d.comb += self.done.eq(late(self.step & self.last, "done", ARRAY_LATENCY))
        return m

    def _terms(
        self, m: Module, platform: object, code: Value, second: Value, part: Value
    ) -> tuple[list[Value], list[tuple[Value, Value]]]:
        """Return the term that each lane adds, two cycles after the step.

        And the factors of further lanes, a cycle before: of those whose sum is in a DSP slice that
        is an instance.
        """
        factors = self._factors(m, code, part)
        products = []
        if has_blocks(platform) and factors:
            moving_product = multiply_moving(
                m, platform, *factors[0], "product_0", move=Const(1), stages=1
            )
            products, factors = [moving_product], factors[1:]
        else:
            for lane, pair in enumerate(factors):
                product = Signal(signed(16), name=f"product_{lane}", reset_less=True)
                m.d.sync += product.eq(pair[0] * pair[1])
                products.append(product)
            factors = []
        plain = Signal(signed(8), reset_less=True)
        m.d.sync += plain.eq(code)
        entry = self._entry(m, code, second)
        product = products[0] if products else 0
        term = Signal(signed(32))
        if {moving_product.mode for moving_product in self.program.instructions} <= {
            Mode.WIDE,
            Mode.NARROW,
        }:
            # Yosys drops a default that is never reached, and infers a latch from the rest.
            m.d.comb += term.eq(product)
            return [term, *products[1:]], factors
        with m.Switch(self.mode):
            with m.Case(Mode.WIDE, Mode.NARROW):
                m.d.comb += term.eq(product)
            with m.Case(Mode.TABLE):
                m.d.comb += term.eq(entry)
            with m.Default():
                m.d.comb += term.eq(plain)
        return [term, *products[1:]], factors

    def _factors(self, m: Module, code: Value, part: Value) -> list[tuple[Value, Value]]:
        """Return value and weight of all lanes; empty without weights."""
        lanes = self.program.lanes
        if not self.program.weights:
            return []
        word = self._word(m)
        factors = []
        for lane in range(lanes):
            weight = word[8 * lane : 8 * lane + 8]
            if lane == 0 and lanes > 1:
                narrow = word.word_select(part, 8)
                weight = Mux(self.mode == Mode.NARROW, narrow, weight)
            factors.append((code, weight.as_signed()))
        return factors

    def _word(self, m: Module) -> Value:
        """Return the word of weights at the previous cycle's address."""
        lanes = self.program.lanes
        if self.program.feed is not Feed.BUILT_IN:
            m.submodules.weights = ram = OnePortRam(
                8 * lanes, self.program.weight_depth, large=self.large
            )
            m.d.comb += [
                ram.address.eq(Mux(self.fill, self.fill_word, self.word)), ram.write.eq(self.fill),
                ram.strobe.eq(-1), ram.code.eq(self.fill_code),
            ]  # fmt: skip
            filled: Value = ram.data
            return filled
        words = pack(np.array(self.program.weights), 8)
        m.submodules.weights = memory = Memory(
            shape=unsigned(8 * lanes), depth=depth_of(len(words)), init=words
        )
        port = memory.read_port()
        m.d.comb += [port.addr.eq(self.word), port.en.eq(1)]
        word: Value = port.data
        return word

    def _entry(self, m: Module, code: Value, second: Value) -> Value:
        """Return the entry of the current table, or 0 in a program without tables."""
        tables = self.program.tables
        if not tables:
            return Signal(signed(32), name="no_entry")
        # Entries are stored in the order of two's complement.
        entries = [entry for table in tables for entry in (*table[128:], *table[:128])]
        m.submodules.tables = memory = Memory(shape=signed(32), depth=len(entries), init=entries)
        port = memory.read_port()
        number = (self.tables + second)[: len(self.tables)]
        m.d.comb += [
            port.addr.eq(Cat(code.as_unsigned(), number)[: len(port.addr)]),
            port.en.eq(1),
        ]
        entry: Value = port.data
        return entry
