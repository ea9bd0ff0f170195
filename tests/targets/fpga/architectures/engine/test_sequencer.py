"""The sequencer reads what the loops of a program say, in order and in the predicted cycles."""

from types import SimpleNamespace

import numpy as np
import pytest
from amaranth.sim import Simulator
from targets.fpga.architectures.engine.interpreter import program_of, reads
from targets.fpga.architectures.engine.test_design import network
from targets.fpga.architectures.engine.test_lower import convolution

from rlx.ir import Graph, i8
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QConcat, QConv2d, QPad, Window
from rlx_fpga.architectures.engine.program import Feed, Mode
from rlx_fpga.architectures.engine.sequencer import Sequencer

pytestmark = pytest.mark.sim

SIGNALS = ("address", "in_image", "first", "last", "second", "word", "part")


def sampled(program, hold=0.0, fill=0):
    """Run a sequencer; return what it gives at each step, and its cycles from start on.

    Args:
        program: Program that it runs.
        hold: Chance of a pause in a cycle.
        fill: Cycles that weights take to be loaded.
    """
    sequencer = Sequencer(program)
    rng = np.random.default_rng(0)
    found = SimpleNamespace(steps=[], begins=0, cycles=0, latency=None)

    async def bench(ctx):
        ctx.set(sequencer.start, 1)
        await ctx.tick()
        ctx.set(sequencer.start, 0)
        waited = 0
        while True:
            found.cycles += 1
            assert found.cycles < 20_000
            waited = 0 if ctx.get(sequencer.begins) else waited + 1
            ctx.set(sequencer.hold, rng.random() < hold)
            ctx.set(sequencer.filled, waited == fill)
            found.begins += ctx.get(sequencer.begins)
            if ctx.get(sequencer.step):
                found.latency = found.latency or found.cycles
                found.steps.append(tuple(ctx.get(getattr(sequencer, name)) for name in SIGNALS))
            if ctx.get(sequencer.done):
                break
            await ctx.tick()

    simulator = Simulator(sequencer)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


def steps_of(program):
    """Yield the expected values of each step, the names of ``SIGNALS`` in order."""
    for one in program.instructions:
        for number, block in enumerate(reads(one, program.span)):
            if number % one.loops.counts[2] == 0:
                place = 0
            for index, (address, inside, second) in enumerate(block):
                narrow = program.lanes if one.mode is Mode.NARROW else 1
                word, part = divmod(place, narrow)
                place += 1
                weight = (one.weights + word, part) if one.words else ()
                yield (address, inside, index == 0, index == len(block) - 1, second, *weight)


def check(program, **options):
    found = sampled(program, **options)
    assert found.begins == len(program.instructions)
    expected = list(steps_of(program))
    assert len(found.steps) == len(expected)
    for step, wanted in zip(found.steps, expected, strict=True):
        # Where there are no weights, their address is of no use.
        assert step[: len(wanted)] == wanted
    return found.cycles


def moves():
    """Return padding of rows and columns, and of the last axis, joined."""
    graph = Graph("net")
    x, y = graph.input("x", i8(2, 3, 4)), graph.input("y", i8(12, 2, 3))
    x = graph.apply(QPad(before=(1, 2, 0), after=(9, 1, 0), value=-5), x)
    y = graph.apply(QPad(before=(0, 0, 1), after=(0, 0, 0), value=9), y)
    graph.output(graph.apply(QConcat(axis=1), x, y))
    return graph


PROGRAMS = {
    "network": lambda: program_of(network(), 9),
    "narrow": lambda: program_of(convolution(6, 6), 8),
    "groups": lambda: program_of(convolution(3, 3), 8),
    "few products for many lanes": lambda: program_of(convolution(2, 12, channels=2), 12),
    "moves": lambda: program_of(moves()),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_step_is_that_of_the_loops(name):
    program = PROGRAMS[name]()
    assert check(program) == sum(map(program.cycles, program.instructions))
    assert sampled(program).latency == 2


def padded(before, after):
    """Return a convolution of two rows by two columns with such padding."""
    graph = Graph("net")
    w, b = graph.constant(np.ones((1, 2, 2, 1), np.int8)), graph.constant(np.zeros(1, np.int32))
    window = Window((2, 2), padding=tuple(zip(before, after, strict=True)))
    op = QConv2d(window=window, x_zero_point=3, zero_point=1, rescale=Rescale.of(0.3))
    graph.output(graph.apply(op, graph.input("x", i8(1, 2, 3, 1)), w, b))
    return graph


@pytest.mark.parametrize("pixels", [1, 6, 7, 8, 15, 40])
@pytest.mark.parametrize("axis", [0, 1])
def test_padding_may_be_larger_than_the_image(pixels, axis):
    """On either side: positions once had the bits of the image's size."""
    sides = np.zeros((2, 2), int)
    for side in range(2):
        sides[:] = 0
        sides[side, axis] = pixels
        check(program_of(padded(*sides.tolist())))


@pytest.mark.parametrize("name", ["network", "few products for many lanes"])
def test_pauses_change_no_step(name):
    check(PROGRAMS[name](), hold=0.4)


@pytest.mark.parametrize("fill", [1, 2, 7])
def test_an_instruction_waits_until_its_weights_are_there(fill):
    program = program_of(network(), 9, feed=Feed.STREAM)
    waits = sum(fill - program.fill_cycles(one) for one in program.instructions)
    assert check(program, fill=fill) == sum(map(program.cycles, program.instructions)) + waits
