"""Memories with one port: what was written is read, byte by byte, a cycle later."""

import numpy as np
import pytest
from amaranth.sim import Simulator

from rlx_fpga.cells.one_port import ByteRam, OnePortRam, large_blocks


def accesses(cell, address, write, code, strobe=None):
    """Return the values that the cell reads for each cycle, in the cycle after it."""
    simulator = Simulator(cell)
    simulator.add_clock(1e-6)
    found = []

    async def bench(ctx):
        for cycle in range(len(address)):
            ctx.set(cell.address, int(address[cycle]))
            ctx.set(cell.write, int(write[cycle]))
            ctx.set(cell.code, int(code[cycle]))
            if strobe is not None:
                ctx.set(cell.strobe, int(strobe[cycle]))
            await ctx.tick()
            found.append(ctx.get(cell.data))

    simulator.add_testbench(bench)
    simulator.run()
    return found


@pytest.mark.sim
def test_bytes_of_words_are_written_apart():
    rng = np.random.default_rng(0)
    count, depth = 400, 5
    address, write = rng.integers(0, depth, count), rng.integers(0, 2, count)
    code, strobe = rng.integers(0, 1 << 16, count), rng.integers(0, 4, count)
    words = [0] * depth
    found = accesses(OnePortRam(16, depth, large=False), address, write, code, strobe)
    for place, writes, value, halves, read in zip(address, write, code, strobe, found, strict=True):
        if writes:
            mask = 0xFF * (halves & 1) | 0xFF00 * (halves >> 1)
            words[place] = words[place] & ~mask | int(value) & mask
        else:
            assert read == words[place]


@pytest.mark.sim
def test_two_bytes_share_a_word():
    rng = np.random.default_rng(1)
    count, size = 400, 7
    address, write = rng.integers(0, size, count), rng.integers(0, 2, count)
    code = rng.integers(0, 256, count)
    known = [0] * size
    found = accesses(ByteRam(size, large=False), address, write, code)
    for place, writes, value, read in zip(address, write, code, found, strict=True):
        if writes:
            known[place] = value
        else:
            assert read == known[place]


@pytest.mark.parametrize(
    ("width", "depth", "blocks"), [(8, 9, 1), (16, 1 << 14, 1), (16, (1 << 14) + 1, 2), (32, 9, 2)]
)
def test_large_blocks_hold_words_of_16_bits(width, depth, blocks):
    assert large_blocks(width, depth) == blocks
