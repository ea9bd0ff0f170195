"""Counters over the beats of a frame, sizes of signals, and memories without collisions."""

import numpy as np
import pytest
from amaranth import Module, Signal
from amaranth.lib.wiring import Component, In, Out
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx_fpga.cells.ram import block_ram, go_round
from rlx_fpga.cells.raster import Raster, within
from rlx_fpga.cells.sizes import depth_of, index_signal
from support.messages import raises


def simulate(component, bench):
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


class Walk(Component):
    """The counters of a frame of ``sizes``; ``box`` is whether they are between two corners."""

    def __init__(self, sizes, start, stop):
        self.sizes, self.start, self.stop = sizes, start, stop
        places = {f"index{axis}": Out(range(max(2, n))) for axis, n in enumerate(sizes)}
        super().__init__({"step": In(1), "last": Out(1), "box": Out(1), **places})

    def elaborate(self, platform):
        m = Module()
        raster = Raster(m, self.sizes, self.step)
        inside = 1
        for axis, index in enumerate(raster.index):
            m.d.comb += getattr(self, f"index{axis}").eq(index)
            inside = inside & within(index, self.start[axis], self.stop[axis], self.sizes[axis])
        m.d.comb += [self.last.eq(raster.last), self.box.eq(inside)]
        # A frame of one beat has no register.
        ticks = Signal()
        m.d.sync += ticks.eq(~ticks)
        return m


@pytest.mark.slow
@settings(max_examples=25)
@given(data=st.data())
def test_counters_walk_in_row_major_order_at_any_pace(data):
    """Wrong where an inner axis does not carry, a size is not a power of two, or an axis is 1."""
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    start = [data.draw(st.integers(0, n - 1)) for n in sizes]
    stop = [data.draw(st.integers(s + 1, n)) for s, n in zip(start, sizes, strict=True)]
    places = list(np.ndindex(*sizes))
    steps = data.draw(st.lists(st.booleans(), min_size=30, max_size=2 * len(places) + 30))
    walk = Walk(sizes, start, stop)

    async def bench(ctx):
        at = 0
        for step in steps:
            place = places[at % len(places)]
            found = tuple(ctx.get(getattr(walk, f"index{axis}")) for axis in range(len(sizes)))
            assert found == place
            assert ctx.get(walk.last) == (place == places[-1])
            corners = zip(start, place, stop, strict=True)
            assert ctx.get(walk.box) == all(a <= n < b for a, n, b in corners)
            ctx.set(walk.step, step)
            await ctx.tick()
            at += step

    simulate(walk, bench)


@given(count=st.integers(1, 1 << 20))
def test_sizes_are_valid_and_no_larger_than_needed(count):
    """A width of zero would be two bits in Verilog."""
    assert len(index_signal(count)) == max(1, (count - 1).bit_length())
    assert depth_of(count) == max(2, count)


class Ram(Component):
    """A memory whose ports go round it, each with its own step."""

    def __init__(self, depth, width=6):
        self.depth, self.width = depth, width
        super().__init__({
            "write": In(1), "read": In(1), "wanted": In(1), "x": In(width), "y": Out(width),
        })  # fmt: skip

    def elaborate(self, platform):
        m = Module()
        write, read = block_ram(m, platform, "words", self.width, self.depth, self.wanted)
        m.d.comb += [
            write.en.eq(self.write), write.data.eq(self.x), read.en.eq(self.read),
            self.y.eq(read.data),
        ]  # fmt: skip
        go_round(m, self.write, write.addr, self.depth)
        go_round(m, self.read, read.addr, self.depth)
        return m


@pytest.mark.slow
@settings(max_examples=20)
@given(depth=st.integers(2, 9), seed=st.integers(0, 99))
def test_words_come_back_in_order_whatever_the_depth(depth, seed):
    """A queue of random steps: addresses must wrap after ``depth`` words, not after 2^n."""
    rng = np.random.default_rng(seed)
    ram = Ram(depth)
    inside, expected = [], []

    async def bench(ctx):
        ctx.set(ram.wanted, 1)
        for _ in range(6 * depth):
            write = len(inside) < depth and rng.random() < 0.6
            read = bool(inside) and rng.random() < 0.5
            code = int(rng.integers(64))
            ctx.set(ram.write, write)
            ctx.set(ram.read, read)
            ctx.set(ram.x, code)
            await ctx.tick()
            if read:
                expected.append(inside.pop(0))
            if expected:
                # Without a read the word stays.
                assert ctx.get(ram.y) == expected[-1]
            if write:
                inside.append(code)

    simulate(ram, bench)


@pytest.mark.parametrize("wanted", [0, 1])
def test_reading_a_word_that_is_written_is_found_by_simulation(wanted):
    """Block RAMs differ in what they return: it is an error unless nobody uses the word."""
    ram = Ram(4)

    async def bench(ctx):
        ctx.set(ram.wanted, wanted)
        ctx.set(ram.write, 1)
        ctx.set(ram.read, 1)
        await ctx.tick()

    if wanted:
        with raises(AssertionError):
            simulate(ram, bench)
    else:
        simulate(ram, bench)
