"""The machine's requantizer is the definition's."""

import numpy as np
import pytest
from amaranth.sim import Simulator

from rlx.numerics.fixed_point import Rescale, wrap_int32
from rlx_fpga.architectures.engine.scale import LATENCY, Requantizer


@pytest.mark.sim
def test_every_result_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    count = 1500
    reach = 2.0 ** rng.integers(0, 32, count)
    total = (rng.uniform(-0.49, 0.49, count) * reach).astype(np.int64)
    bias = (rng.uniform(-0.49, 0.49, count) * reach).astype(np.int64)
    multiplier = rng.integers(1 << 30, 1 << 31, count)
    multiplier[::7] = 1 << 30
    shift = rng.integers(-31, 31, count)
    zero_point, low, high = 5, -100, 90
    expected = [
        int(np.clip(Rescale((int(m),), (int(s),)).apply(wrap_int32(np.array(t + b)))
                    + zero_point, low, high))
        for t, b, m, s in zip(total, bias, multiplier, shift, strict=True)
    ]  # fmt: skip
    cell = Requantizer()
    simulator = Simulator(cell)
    simulator.add_clock(1e-6)
    found = []

    async def bench(ctx):
        ctx.set(cell.zero_point, zero_point)
        ctx.set(cell.low, low)
        ctx.set(cell.high, high)
        for place in range(count + LATENCY):
            if place < count:
                ctx.set(cell.total, int(total[place]))
                ctx.set(cell.bias, int(bias[place]))
                ctx.set(cell.multiplier, int(multiplier[place]))
                ctx.set(cell.left, int(max(shift[place], 0)))
                ctx.set(cell.right, int(max(-shift[place], 0)))
            if place >= LATENCY:
                found.append(ctx.get(cell.code))
            await ctx.tick()

    simulator.add_testbench(bench)
    simulator.run()
    assert found == expected
    assert len(set(found)) > 60
