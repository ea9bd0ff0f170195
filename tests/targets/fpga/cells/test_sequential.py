"""The multiplier of several cycles against the definition."""

import numpy as np
import pytest
from amaranth.sim import Simulator
from hypothesis import example, given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean

from rlx.ops.numerics.fixed_point import saturating_rounding_doubling_high_multiply
from rlx_fpga.cells.sequential import CYCLES, SequentialMultiply

MINIMUM, MAXIMUM = -(2**31), 2**31 - 1
EDGES = [MINIMUM, MINIMUM + 1, -65537, -65536, -1, 0, 1, 65535, 65536, 1 << 30, MAXIMUM]


def multiply(pairs):
    cell = SequentialMultiply()
    simulator = Simulator(cell)
    simulator.add_clock(1e-6)
    results = []

    async def bench(ctx):
        for a, b in pairs:
            ctx.set(cell.a, a)
            ctx.set(cell.b, b)
            ctx.set(cell.start, 1)
            await ctx.tick()
            ctx.set(cell.start, 0)
            for _ in range(CYCLES - 1):
                assert not ctx.get(cell.done)
                await ctx.tick()
            assert ctx.get(cell.done)
            results.append(ctx.get(cell.result))

    simulator.add_testbench(bench)
    simulator.run()
    return results


def wanted(pairs):
    a, b = np.array(pairs, np.int64).T
    return saturating_rounding_doubling_high_multiply(a, b).tolist()


def test_multiply_is_right_at_the_edges():
    pairs = [(a, b) for a in EDGES for b in EDGES if (a, b) != (MINIMUM, MINIMUM)]
    assert multiply(pairs) == wanted(pairs)


@settings(max_examples=20)
@given(
    pairs=st.lists(
        st.tuples(st.integers(MINIMUM + 1, MAXIMUM), st.integers(MINIMUM, MAXIMUM)),
        min_size=20,
        max_size=20,
    )
)
@example(pairs=[(-(1 << 30), 1), ((1 << 30) - 1, 1), (-(1 << 30) - 1, 1), (1 << 30, -1)])
def test_multiply_equals_the_definition(pairs):
    assert multiply(pairs) == wanted(pairs)


@pytest.mark.sim
def test_multiply_is_lint_clean(tmp_path):
    assert_lint_clean(SequentialMultiply(), tmp_path)
