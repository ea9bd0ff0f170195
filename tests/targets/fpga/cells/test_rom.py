"""Tables that are walked through in a circle."""

import numpy as np
import pytest
from amaranth import ResetInserter, Signal
from amaranth.back import rtlil
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx_fpga.cells.rom import (
    MAX_RIPPLE_WORDS,
    CyclicRom,
    Store,
    distinct_bits,
    pack,
    signed_bits,
    varying_bits,
)

DEEP = {2049: 18, 1440: 56, 3168: 48, 5504: 24}
"""Words in several banks, some of them longer than needed, and their bits."""


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2, 3, 8, 37, MAX_RIPPLE_WORDS, MAX_RIPPLE_WORDS + 3, *DEEP])
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
    few, many = (
        CyclicRom(range(depth), 9, store) for depth in (MAX_RIPPLE_WORDS, MAX_RIPPLE_WORDS + 1)
    )
    assert (few.logic.add, many.logic.add) == (0, MAX_RIPPLE_WORDS.bit_length())
    assert "$add" not in rtlil.convert(few)
    assert "$add" in rtlil.convert(many)


def read(rom, steps):
    """Return the word after each step."""
    found = []

    async def walk(ctx):
        ctx.set(rom.step, 1)
        for _ in range(steps):
            await ctx.tick()
            found.append(ctx.get(rom.data))

    simulator = Simulator(rom)
    if not rom.constant:
        simulator.add_clock(1e-6)
        simulator.add_testbench(walk)
        simulator.run()
        return found

    async def look(ctx):
        found.append(ctx.get(rom.data))

    simulator.add_testbench(look)
    simulator.run()
    return found * steps


@pytest.mark.slow
@settings(max_examples=20)
@given(data=st.data(), width=st.integers(1, 70), store=st.sampled_from(Store))
def test_any_words_of_any_width(data, width, store):
    """Words of all zeros or all ones, equal words, and words wider than a machine word."""
    top = (1 << width) - 1
    word = st.one_of(st.integers(0, top), st.sampled_from([0, top, top >> 1]))
    words = data.draw(st.lists(word, min_size=1, max_size=12))
    rom = CyclicRom(words, width, store)
    steps = 2 * len(words) + 1
    assert read(rom, steps) == [words[step % len(words)] for step in range(steps)]
    assert rom.memory_bits == (len(words) * width if len(set(words)) > 1 else 0)


def columns(words, width):
    """Return each bit's values, word by word."""
    return [tuple(word >> bit & 1 for word in words) for bit in range(width)]


@given(data=st.data(), width=st.integers(1, 70))
def test_bits_that_cost_nothing_are_not_counted(data, width):
    """Bits that are the same in all words; in short memories also equal columns."""
    words = data.draw(st.lists(st.integers(0, (1 << width) - 1), min_size=1, max_size=10))
    varying = [column for column in columns(words, width) if len(set(column)) > 1]
    assert varying_bits(words, width) == len(varying)
    expected = len(set(varying)) if len(words) <= 8 else len(varying)
    assert distinct_bits(words, width) == expected


@given(data=st.data(), width=st.sampled_from([1, 3, 8, 9, 20, 31, 40]), count=st.integers(1, 9))
def test_rows_are_packed_from_the_lowest_bits_on(data, width, count):
    """Three ways of packing, for narrow rows, bytes and wide rows, must agree."""
    half = 1 << (width - 1)
    values = st.lists(st.integers(-half, half - 1), min_size=count, max_size=count)
    rows = np.array(data.draw(st.lists(values, min_size=1, max_size=4)), np.int64)
    for word, row in zip(pack(rows, width), rows.tolist(), strict=True):
        lanes = [(word >> (width * lane)) & ((1 << width) - 1) for lane in range(count)]
        assert [lane - 2 * half * (lane >= half) for lane in lanes] == row
        assert word >> (width * count) == 0


@given(st.integers(-(1 << 40), 1 << 40), st.integers(-(1 << 40), 1 << 40))
def test_width_of_signed_numbers_is_the_smallest(a, b):
    low, high = min(a, b), max(a, b)
    bits = signed_bits(low, high)

    def fits(size):
        return -(1 << (size - 1)) <= low and high < 1 << (size - 1)

    assert fits(bits)
    assert bits == 1 or not fits(bits - 1)
