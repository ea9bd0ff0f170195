"""The array finds the table of an instruction, however many there are."""

import numpy as np
import pytest
from amaranth.sim import Simulator
from targets.fpga.architectures.engine.interpreter import program_of

from rlx.ir import Graph, i8
from rlx.ops.q import QTable
from rlx_fpga.architectures.engine.array import MultiplierArray
from rlx_fpga.architectures.engine.program import Mode
from rlx_fpga.architectures.engine.sequencer import Sequencer
from rlx_fpga.architectures.engine.timing import ARRAY_LATENCY

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("count", [1, 2, 3, 256, 258])
def test_every_table_is_found(count):
    tables = np.random.default_rng(count).integers(-128, 128, (count, 256)).tolist()
    graph = Graph("net")
    y = graph.input("x", i8(1))
    for table in tables:
        y = graph.apply(QTable(table=tuple(table)), y)
    graph.output(y)
    program = program_of(graph)
    array = MultiplierArray(program, Sequencer(program))
    places = {(place, 0) for place in range(count)} | {(place, 1) for place in range(count - 1)}
    chosen = sorted(places)[:4] + sorted(places)[-4:]
    wanted = [(*place, code) for place in chosen for code in (-128, -1, 0, 127)]
    found = []

    async def bench(ctx):
        ctx.set(array.mode, Mode.TABLE)
        for place, second, code in wanted:
            for name, value in {"tables": place, "second": second, "code": code}.items():
                ctx.set(getattr(array, name), value)
            for name in ("step", "in_image", "first", "last"):
                ctx.set(getattr(array, name), 1)
            for _ in range(ARRAY_LATENCY):
                assert not ctx.get(array.done)
                await ctx.tick()
                ctx.set(array.step, 0)
            assert ctx.get(array.done)
            found.append(ctx.get(array.totals.as_signed()))
            await ctx.tick()

    simulator = Simulator(array)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert found == [tables[place + second][code + 128] for place, second, code in wanted]
