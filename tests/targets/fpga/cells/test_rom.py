"""Tables that are walked through in a circle."""

import pytest
from amaranth import ResetInserter, Signal
from amaranth.back import rtlil
from amaranth.sim import Simulator

from rlx_fpga.cells.rom import RIPPLE_WORDS, CyclicRom, Store

DEEP = {2049: 18, 1440: 56, 3168: 48, 5504: 24}
"""Words in several banks, some of them longer than needed, and their bits."""


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2, 3, 8, 37, RIPPLE_WORDS, RIPPLE_WORDS + 3, *DEEP])
def test_words_come_in_a_circle(depth):
    width = DEEP.get(depth, 9)
    words = [(7 * place + 1) % 509 << (width - 9) for place in range(depth)]
    rom = CyclicRom(words, width, Store.BANKS)
    assert (len(rom.banks) > 1) == (depth in DEEP)
    found = []

    async def walk(ctx):
        for round_ in range(2 * depth + 3):
            # Between two steps nothing moves.
            ctx.set(rom.step, 0)
            await ctx.tick()
            before = ctx.get(rom.data)
            ctx.set(rom.step, 1)
            await ctx.tick()
            assert round_ == 0 or before == found[-1]
            found.append(ctx.get(rom.data))

    simulator = Simulator(rom)
    simulator.add_clock(1e-6)
    simulator.add_testbench(walk)
    simulator.run()
    assert found == [words[step % depth] for step in range(2 * depth + 3)]


@pytest.mark.parametrize("depth", [37, 1440])
def test_a_reset_begins_with_the_first_word_again(depth):
    words = [(7 * place + 1) % 509 for place in range(depth)]
    rom = CyclicRom(words, 56, Store.BANKS)
    reset = ResetInserter(again := Signal())(rom)
    found = []

    async def walk(ctx):
        ctx.set(rom.step, 1)
        for steps in (1, 2, 5, depth - 1):
            await ctx.tick().repeat(steps)
            ctx.set(again, 1)
            await ctx.tick()
            ctx.set(again, 0)
            found.append([])
            for _ in range(4):
                await ctx.tick()
                found[-1].append(ctx.get(rom.data))

    simulator = Simulator(reset)
    simulator.add_clock(1e-6)
    simulator.add_testbench(walk)
    simulator.run()
    assert found == [words[:4]] * 4


@pytest.mark.parametrize("store", Store)
def test_addresses_of_few_words_feed_no_carry_chain(store):
    few, many = (CyclicRom(range(depth), 9, store) for depth in (RIPPLE_WORDS, RIPPLE_WORDS + 1))
    assert (few.logic.add, many.logic.add) == (0, RIPPLE_WORDS.bit_length())
    assert "$add" not in rtlil.convert(few)
    assert "$add" in rtlil.convert(many)
