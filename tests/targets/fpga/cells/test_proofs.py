"""Small cells proved with the solver in Yosys: for all inputs and pauses, up to some cycles.

A cell that only moves elements is proved with one marked element: it must come out at the place at
which it went in, and no other element may be marked. That rules out loss, repetition and disorder.
"""

import pytest
from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.back import rtlil
from amaranth.lib.wiring import In, Out

from rlx.errors import SimulationError
from rlx.process import run
from rlx_fpga.cells.fifo import Fifo, SkidBuffer
from rlx_fpga.cells.fork import Fork
from rlx_fpga.cells.pipe import follow
from rlx_fpga.cells.scale import ROUNDING_STAGES, Lane
from rlx_fpga.cells.scaling import Scaling
from rlx_fpga.cells.streams import Cell, raw, stream_of
from rlx_fpga.cells.width import Gather, Scatter, WidthConverter
from rlx_fpga.synthesis import find_yosys

pytestmark = pytest.mark.synth

STEPS = 14
PLACE_BITS = 5


def prove(m, good, inputs, folder, steps, skip=0):
    """Let the solver look for inputs with which ``good`` is low after ``skip`` steps from reset."""
    text = rtlil.convert(m, name="proof", ports=[good, *inputs], emit_src=False)
    (folder / "proof.il").write_text(text)
    script = (
        "read_rtlil proof.il; hierarchy -top proof; proc; flatten; memory_map; opt -full; "
        f"sat -verify -seq {steps} -prove-skip {skip} -set rst 0 -prove {good.name} 1"
    )
    run((*find_yosys().command, "-q", "-p", script), cwd=folder, timeout_s=120)


class Bench:
    """A cell between a producer that marks one element and consumers that look for it."""

    def __init__(self, cell, outputs=("o",)):
        self.m = Module()
        self.m.submodules.cell = self.cell = cell
        # Any number in the first step, the same in all others.
        self.marked, held = Signal(PLACE_BITS), Signal(PLACE_BITS)
        any_place, started = Signal(PLACE_BITS, name="any_place"), Signal()
        self.m.d.comb += self.marked.eq(Mux(started, held, any_place))
        self.m.d.sync += [held.eq(self.marked), started.eq(1)]
        self.inputs = [any_place]
        self.good = Signal(name="good")
        self._produce()
        self.m.d.comb += self.good.eq(Cat(*(self._consume(name) for name in outputs)).all())

    def _produce(self):
        """Offer beats whenever a free input wants; an offer stands until it is taken."""
        m, port = self.m, self.cell.i
        offer, standing = Signal(name="offer"), Signal()
        self.inputs.append(offer)
        m.d.comb += port.valid.eq(offer | standing)
        m.d.sync += standing.eq(port.valid & ~port.ready)
        lanes, width = _shape(port)
        place = Signal(PLACE_BITS)
        for lane in range(lanes):
            m.d.comb += port.payload[lane].eq(Mux(place + lane == self.marked, 1, 0))
        with m.If(port.valid & port.ready):
            m.d.sync += place.eq(place + lanes)
        assert width == 2

    def _consume(self, name):
        """Take beats whenever a free input wants; return whether all is well in this step."""
        m, port = self.m, getattr(self.cell, name)
        ready = Signal(name=f"ready_{name}")
        self.inputs.append(ready)
        m.d.comb += port.ready.eq(ready)
        lanes, _ = _shape(port)
        place = Signal(PLACE_BITS)
        given = port.valid & port.ready
        with m.If(given):
            m.d.sync += place.eq(place + lanes)
        right = Cat(
            *(port.payload[k] == Mux(place + k == self.marked, 1, 0) for k in range(lanes))
        ).all()
        refused, before = Signal(), Signal(len(raw(port)))
        m.d.sync += [refused.eq(port.valid & ~ready), before.eq(raw(port))]
        stands = ~refused | (port.valid & (raw(port) == before))
        return (~port.valid | right) & stands


def _shape(port):
    layout = port.payload.shape()
    return layout.length, layout.elem_shape.width


CELLS = {
    "skid": lambda: Bench(SkidBuffer(1, 2)),
    "fifo": lambda: Bench(Fifo(2, 3, 2)),
    "gather": lambda: Bench(Gather(2, 4, 2)),
    "scatter": lambda: Bench(Scatter(4, 2, 2)),
    "two to three": lambda: Bench(WidthConverter(2, 3, 6, 2)),
    "fork": lambda: Bench(Fork(1, 2, 2), ("o0", "o1")),
}


@pytest.mark.parametrize("name", CELLS)
def test_cells_that_move_elements_lose_and_repeat_nothing(name, tmp_path):
    bench = CELLS[name]()
    prove(bench.m, bench.good, bench.inputs, tmp_path, STEPS)


class Hasty(Cell):
    """A register that takes beats although it has nowhere to put them."""

    def __init__(self):
        super().__init__({"i": In(stream_of(1, 2)), "o": Out(stream_of(1, 2))})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.i.ready.eq(1)
        with m.If(~self.o.valid | self.o.ready):
            m.d.sync += [self.o.valid.eq(self.i.valid), raw(self.o).eq(raw(self.i))]
        return m


def test_a_cell_that_loses_elements_is_found_out(tmp_path):
    bench = Bench(Hasty())
    with pytest.raises(SimulationError, match="proof did fail"):
        prove(bench.m, bench.good, bench.inputs, tmp_path, 6)


@pytest.mark.parametrize("minimum", [0, 2])
def test_rounding_shift_is_half_away_from_zero(tmp_path, minimum):
    """``Lane.rounded`` against the contract's ``rdpot``, for every number and shift."""
    m = Module()
    shifts = [-(minimum + n) for n in range(4)]
    scaling = Scaling.of(4, 18, [1 << 30] * 4, shifts, "double")
    high = Signal(signed(9), name="high")
    right = Signal(2, name="right")
    result = Lane(m, None, 0, scaling, 1, 2).rounded(high, right)
    exponent = Signal(4)
    m.d.comb += exponent.eq(follow(m, right, "right_of_high") + minimum)
    mask, rest = Signal(9), Signal(9)
    m.d.comb += [mask.eq((1 << exponent) - 1), rest.eq(high & mask)]
    wanted = (high >> exponent) + (rest > (mask >> 1) + (high < 0))
    good = Signal(name="good")
    m.d.comb += good.eq(result == follow(m, wanted, "wanted", ROUNDING_STAGES))
    prove(m, good, [high, right], tmp_path, ROUNDING_STAGES + 3, ROUNDING_STAGES + 2)
