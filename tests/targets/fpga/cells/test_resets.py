"""After a reset in any cycle a cell does what it did after power-up, cycle by cycle.

The small cells are proved (``tests/targets/fpga/formal``); here all kinds are simulated. A counter,
a flag or a place in a memory that a reset leaves as it is gives other beats, or the same ones in
other cycles.
"""

import numpy as np
import pytest
from amaranth import Signal
from amaranth.sim import Simulator
from targets.fpga.harness import _bed, _geometry, _play

from benchmarks.fpga.samples import samples
from rlx.ops.numerics.exponential import softmax_scaling, softmax_table
from rlx_fpga.cells.argmax import Argmax
from rlx_fpga.cells.arith import Product, ScaledSum
from rlx_fpga.cells.channel_table import ChannelTable
from rlx_fpga.cells.channelwise import Depthwise, GlobalPool, Pool
from rlx_fpga.cells.concat import Concat
from rlx_fpga.cells.divide import Divide
from rlx_fpga.cells.fifo import Fifo
from rlx_fpga.cells.fork import Fork
from rlx_fpga.cells.mvu import MatrixVector
from rlx_fpga.cells.pad import Pad, Slice
from rlx_fpga.cells.repeat import Constant, Repeat
from rlx_fpga.cells.requantize import Requantize
from rlx_fpga.cells.softmax import Softmax
from rlx_fpga.cells.table import Table
from rlx_fpga.cells.unary import Clamp, Offset
from rlx_fpga.cells.whole_window import WholeWindow
from rlx_fpga.cells.width import WidthConverter
from rlx_fpga.cells.window import WindowGenerator

# Cycles that are compared, and cycles after which a reset comes.
CYCLES = 160
RESETS = (1, 2, 3, 7, 31, 64)
MANY = 1 << 30


def weights(*shape):
    return np.random.default_rng(len(shape)).integers(-128, 128, shape).astype(np.int8)


def table(seed):
    return np.random.default_rng(seed).integers(-128, 128, 256)


CELLS = {
    "argmax": lambda: Argmax(6),
    "channel table": lambda: ChannelTable(2, np.stack([table(n) for n in range(6)])),
    "concat": lambda: Concat(1, (3, 2, 4)),
    "concat in step": lambda: Concat(2, (3, 2), leading=1),
    "constant": lambda: Constant(weights(14), 2),
    "deep fifo": lambda: Fifo(1, 40),
    "depthwise": lambda: Depthwise(weights(12, 4), np.arange(12) * 100, channels=6, pe=2),
    "divide": lambda: Divide(2, 12, (2, 3, 2), (2, 3), pixel_beats=3, zero_point=-7),
    "fork": lambda: Fork(1, 3),
    "matrix, bias": lambda: MatrixVector(weights(6, 8), np.arange(6) * 99, pe=2, simd=4),
    "matrix, drained": lambda: MatrixVector(weights(12, 6), None, pe=4, simd=2),
    "matrix, odd": lambda: MatrixVector(weights(7, 6), None, pe=3, simd=1),
    "pad": lambda: Pad(2, (3, 2, 2), (1, 1, 0), (0, 1, 1), -3),
    "pool, max": lambda: Pool("max", taps=4, pe=2),
    "pool, sum": lambda: Pool("sum", taps=3, pe=3),
    "global pool": lambda: GlobalPool("sum", pixels=5, channels=6, lanes=2),
    "product": lambda: Product(2, 3, -5),
    "repeat": lambda: Repeat(1, 5, 3),
    "requantize": lambda: Requantize(
        channels=6, lanes=2, acc_width=20, multiplier=[(1 << 30) + 977 * n for n in range(6)],
        shift=[-8, -9, -10, -8, -7, -9], zero_point=3, low=-100, high=100, rounding="double",
    ),
    "scaled sum": lambda: ScaledSum(1, (table(1) * 1000).tolist(), (table(2) * 77).tolist()),
    "slice": lambda: Slice(1, (4, 5), (1, 0), (4, 5), (2, 3)),
    "softmax": lambda: Softmax(2, softmax_table(*softmax_scaling(0.1)).tolist()),
    "table": lambda: Table(2, table(3).tolist()),
    "clamp": lambda: Clamp(2, -5, 90),
    "offset": lambda: Offset(2, 8, -300),
    "width": lambda: WidthConverter(3, 4, 12),
    "whole window": lambda: WholeWindow(
        height=7, width=5, channels=2, kernel=(3, 2), stride=(2, 1)
    ),
    "window, dense": lambda: WindowGenerator(
        height=5, width=4, channels=2, lanes=1, kernel=(3, 2), stride=(2, 1), dilation=(1, 1),
        padding=((1, 1), (0, 1)), pad_value=-9, repeat=2, order="dense",
    ),
    "window, channelwise": lambda: WindowGenerator(
        height=4, width=4, channels=4, lanes=2, kernel=(2, 2), stride=(1, 2), dilation=(2, 1),
        padding=((0, 1), (1, 0)), pad_value=5, repeat=1, order="channelwise",
    ),
}  # fmt: skip


def names(cell):
    """Return the names of the input streams and those of the output streams."""
    ports = [name for name in cell.signature.members if name[0] in "io"]
    return [n for n in ports if n[0] == "i"], [n for n in ports if n[0] == "o"]


def beats_for(cell, port, count):
    """Return random beats; ends of the range are frequent."""
    lanes, width = _geometry(getattr(cell, port))
    half = 1 << (width - 1)
    rng = np.random.default_rng(width)
    codes = rng.integers(-half, half, (count, lanes))
    return np.where(rng.random(codes.shape) < 0.2, rng.choice([-half, half - 1]), codes)


def traces(cell, resets, stalls):
    """Return inputs and outputs after power-up, and after each reset: cycles and beats."""
    reset = Signal(name="harness_reset")
    simulator = Simulator(_bed(cell, reset))
    simulator.add_clock(1e-6)
    ins, outs = names(cell)
    inputs = {name: beats_for(cell, name, CYCLES) for name in ins}
    counts = dict.fromkeys(outs, MANY)
    found = []

    async def trace(ctx, cycles, seed):
        rng = np.random.default_rng(seed)
        taken, given = await _play(ctx, cell, inputs, counts, (*stalls, rng), cycles, 0)
        return [one.taken for one in taken.values()], [
            list(zip(one.given, one.words, strict=True)) for one in given.values()
        ]

    async def bench(ctx):
        found.append(await trace(ctx, CYCLES, 0))
        for cycles in resets:
            # In the middle of something else, with other pauses.
            ctx.set(reset, 1)
            await ctx.tick()
            ctx.set(reset, 0)
            await trace(ctx, cycles, cycles)
            ctx.set(reset, 1)
            await ctx.tick()
            ctx.set(reset, 0)
            found.append(await trace(ctx, CYCLES, 0))

    simulator.add_testbench(bench)
    simulator.run()
    return found


def check(cell, resets):
    first, *others = traces(cell, resets, (0.2, 0.3))
    assert any(first[1]), "nothing came out"
    for cycles, other in zip(resets, others, strict=True):
        assert other == first, f"after a reset in cycle {cycles}"


@pytest.mark.slow
@pytest.mark.parametrize("name", CELLS)
def test_cell_begins_anew(name):
    check(CELLS[name](), RESETS)


@pytest.mark.slow
def test_cells_of_layers_begin_anew():
    """Cells as the dataflow architecture makes them, one of each kind."""
    kinds = {}
    for name, cell in samples():
        kinds.setdefault(type(cell), (name, cell))
    assert len(kinds) >= 8
    for name, cell in kinds.values():
        first, second = traces(cell, (23,), (0.0, 0.1))
        assert first == second, name


def test_a_register_without_a_reset_is_found():
    """The comparison can fail."""
    cell = CELLS["repeat"]()
    built = cell.elaborate(None)
    cell.internals["turn"]._reset_less = True
    cell.elaborate = lambda _platform: built
    first, *others = traces(cell, RESETS, (0.2, 0.3))
    assert any(other != first for other in others)
