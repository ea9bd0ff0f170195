import numpy as np
from amaranth import Module, Signal, Value
from amaranth.lib.wiring import In, Out, connect, flipped
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, run_cell

from rlx_fpga.cells.credit import LATENCY, ResultQueue, counter, queue_depth
from rlx_fpga.cells.pipe import follow
from rlx_fpga.cells.streams import Cell, raw, stream_of
from support.messages import raises


class Echo(Cell):
    """Every ``group``-th beat, given ``burst`` times after ``delay`` cycles that nothing stops."""

    def __init__(self, delay, *, depth, group=1, burst=1):
        self.delay, self.depth, self.group, self.burst = delay, depth, group, burst
        super().__init__({"i": In(stream_of(2)), "o": Out(stream_of(2))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = ResultQueue(2, 8, self.depth, self.burst)
        taken = Signal()
        _, last = counter(m, taken, self.group, "beat")
        m.d.comb += [self.i.ready.eq(~last | queue.open), taken.eq(self.i.valid & self.i.ready)]
        ends = taken & last
        with m.If(ends):
            m.d.comb += queue.reserve.eq(self.burst)
        payload = follow(m, raw(self.i), "payload", self.delay)
        pushes = follow(m, ends, "ends", self.delay, reset=True)
        pushed = pushes
        for turn in range(1, self.burst):
            pushed = pushed | follow(m, pushes, f"again{turn}", turn, reset=True)
        held = Signal.like(payload)
        with m.If(pushes):
            m.d.sync += held.eq(payload)
        m.d.comb += queue.push.eq(pushed)
        m.d.comb += Value.cast(queue.payload).eq(held)
        with m.If(pushes):
            m.d.comb += Value.cast(queue.payload).eq(payload)
        connect(m, queue.o, flipped(self.o))
        return m


def beats(count, seed=0):
    return np.random.default_rng(seed).integers(-128, 128, (count, 2))


@st.composite
def echoes(draw):
    group = draw(st.integers(1, 7))
    return {
        "delay": draw(st.integers(1, 9)),
        "group": group,
        "burst": draw(st.integers(1, group)),
    }


@settings(max_examples=25)
@given(options=echoes(), spare=st.integers(0, 3), stalls=st.sampled_from([(0, 0.6), (0.5, 0.3)]))
def test_queue_loses_nothing_however_small_it_is(options, spare, stalls):
    cell = Echo(**options, depth=options["burst"] + spare)
    x = beats(8 * options["group"])
    expected = np.repeat(x[options["group"] - 1 :: options["group"]], options["burst"], axis=0)
    run = run_cell(cell, x, len(expected), stall_in=stalls[0], stall_out=stalls[1], idle=30)
    assert np.array_equal(run.output, expected)


@settings(max_examples=25)
@given(options=echoes())
def test_queue_of_the_computed_depth_costs_no_cycles(options):
    depth = queue_depth(options["delay"], burst=options["burst"], group=options["group"])
    x = beats(12 * options["group"])
    run = run_cell(Echo(**options, depth=depth), x, 12 * options["burst"])
    assert np.all(np.diff(run.taken["i"]) == 1)
    assert run.given["o"][0] - run.taken["i"][options["group"] - 1] == options["delay"] + LATENCY


def test_queue_depth():
    # As many beats as are on the way: a beat in every cycle, three cycles of pipeline.
    assert queue_depth(3) == 3 + LATENCY + 1
    # A group that is given and counted before the next one asks needs no space beside it.
    assert queue_depth(5, burst=4, group=50) == 4
    assert queue_depth(5, burst=4, group=11) == 4
    assert queue_depth(5, burst=4, group=10) == 5
    # A consumer that takes two cycles for a beat.
    assert queue_depth(5, burst=4, group=12, beat_cycles=2) == 6


def test_queue_refuses_bursts_that_never_fit():
    with raises(ValueError):
        ResultQueue(1, 8, 2, 3)


def test_queue_lint(tmp_path):
    assert_lint_clean(Echo(2, depth=5), tmp_path)
    assert_lint_clean(Echo(2, depth=8, group=3, burst=3), tmp_path)
