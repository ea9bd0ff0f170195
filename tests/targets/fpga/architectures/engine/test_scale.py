"""The machine's requantizer is the definition's."""

import numpy as np
import pytest
from amaranth.sim import Simulator

from rlx.ops.numerics.fixed_point import Rescale, Rounding, wrap_int32
from rlx_fpga.architectures.engine.scale import LATENCY, ROUNDINGS, AnyRounding, Requantizer


@pytest.mark.sim
@pytest.mark.parametrize("rounding", [None, *ROUNDINGS])
def test_every_result_is_that_of_the_definition(rounding):
    """Of the machine that rounds twice only, and of each rounding of the other one."""
    rng = np.random.default_rng(0)
    count = 1500
    reach = 2.0 ** rng.integers(0, 32, count)
    total = (rng.uniform(-0.49, 0.49, count) * reach).astype(np.int64)
    bias = (rng.uniform(-0.49, 0.49, count) * reach).astype(np.int64)
    multiplier = rng.integers(1 << 30, 1 << 31, count)
    multiplier[::7] = 1 << 30
    shift = rng.integers(-31, 31, count)
    # Halves: an odd number by 1/2, or by 3/2.
    multiplier[1::7] = 3 << 29
    for first in (0, 1):
        places = slice(first, None, 7)
        shift[places] = -rng.integers(0, 20, len(shift[places]))
        odd = 2 * rng.integers(-30, 30, len(shift[places])) + 1
        total[places], bias[places] = odd << (first - shift[places]), 0
    defined = rounding or Rounding.DOUBLE
    if defined is not Rounding.DOUBLE:
        # One rounding does not wrap around: what needs more than 32 bits is refused.
        space = [30 - int(abs(t + b)).bit_length() for t, b in zip(total, bias, strict=True)]
        shift = np.minimum(shift, space)
    zero_point, low, high = 5, -100, 90
    expected = [
        int(np.clip(Rescale((int(m),), (int(s),), defined).apply(wrap_int32(np.array(t + b)))
                    + zero_point, low, high))
        for t, b, m, s in zip(total, bias, multiplier, shift, strict=True)
    ]  # fmt: skip
    cell = Requantizer() if rounding is None else AnyRounding()
    simulator = Simulator(cell)
    simulator.add_clock(1e-6)
    found = []

    async def bench(ctx):
        ctx.set(cell.zero_point, zero_point)
        ctx.set(cell.low, low)
        ctx.set(cell.high, high)
        if rounding is not None:
            ctx.set(cell.rounding, ROUNDINGS[rounding])
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
