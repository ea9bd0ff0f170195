"""Sizes and cycles of programs are those of what they do, step by step."""

from dataclasses import replace

import numpy as np
import pytest
from targets.fpga.architectures.engine.interpreter import program_of, reads
from targets.fpga.architectures.engine.test_design import network
from targets.fpga.architectures.engine.test_lower import convolution

from rlx.ir import Graph, i8
from rlx.ops.q import QMaximum
from rlx_fpga.architectures.engine.loader import stream_bytes
from rlx_fpga.architectures.engine.program import (
    EngineProgram,
    Feed,
    Instruction,
    Loops,
    Mode,
    Scale,
)


def instruction(counts, lanes=1):
    loops = Loops(counts, (0, 0, 0, 0, 0))
    return Instruction(None, Mode.WIDE, loops, lanes, lanes, source=0, target=0)


def test_blocks_and_steps_are_counted_as_they_are_read():
    rng = np.random.default_rng(0)
    for _ in range(20):
        counts = tuple(map(int, rng.integers(1, 5, 6)))
        one = instruction(counts)
        blocks = list(reads(one, 256))
        assert len(blocks) == one.loops.blocks
        assert {len(block) for block in blocks} == {one.loops.inner}


@pytest.mark.parametrize(("lanes", "inner", "gap"), [(4, 1, 3), (4, 3, 1), (4, 4, 0), (4, 9, 0)])
def test_a_block_is_never_shorter_than_the_output_of_results(lanes, inner, gap):
    one = instruction((1, 2, 1, 1, 1, inner), lanes)
    assert one.gap == gap
    assert one.loops.inner + one.gap >= lanes


@pytest.mark.parametrize("multipliers", [5, 6, 8])
def test_weights_are_loaded_in_a_cycle_for_each_beat(multipliers):
    """And one at the end of each instruction; nothing where weights are there before."""
    program = program_of(network(), 1 + multipliers, feed=Feed.STREAM)
    beats, rest = divmod(len(stream_bytes(program)), program.lanes)
    cycles = [program.fill_cycles(one) for one in program.instructions]
    assert rest == 0
    assert sum(cycles) == beats + len(cycles)
    # A pool has constants, but no weights.
    pool = program.instructions[2]
    assert pool.words == 0
    assert program.fill_cycles(pool) == program.beats_a_scale + 1
    for feed in (Feed.BUILT_IN, Feed.LOAD):
        other = program_of(network(), 1 + multipliers, feed=feed)
        assert not any(map(other.fill_cycles, other.instructions))
        assert other.interval + sum(cycles) == program.interval


@pytest.mark.parametrize(("bits", "lanes", "beats"), [(8, 1, 1), (9, 1, 2), (16, 2, 1), (17, 2, 2)])
def test_constants_take_whole_beats(bits, lanes, beats):
    """A bias of all but three bits; the other constants of a single scale take one bit each."""
    program = EngineProgram(None, lanes)
    program.scales = [Scale((1 << (bits - 3)) - 1, 1, 0, 0)]
    assert program.constants.width == bits
    assert program.beats_a_scale == beats


@pytest.mark.parametrize("feed", Feed)
def test_memories_hold_an_instruction_if_weights_are_streamed_else_all(feed):
    program = program_of(network(), 9, feed=feed)
    together = max if feed is Feed.STREAM else sum
    assert program.weight_depth == together(one.words for one in program.instructions)
    assert program.scale_depth == together(one.scales for one in program.instructions)
    assert len(program.weights) == sum(one.words for one in program.instructions)
    assert len(program.scales) == sum(one.scales for one in program.instructions)


def test_inputs_and_outputs_take_a_cycle_for_each_value():
    graph = Graph("net")
    x, y = graph.input("x", i8(1, 6)), graph.input("y", i8(1, 6))
    z = graph.apply(QMaximum(), x, y)
    graph.output(z, x)
    program = program_of(graph)
    assert (program.load_cycles, program.store_cycles) == (12, 7 + 7)
    run = sum(map(program.cycles, program.instructions))
    assert program.interval == 12 + 1 + run + 14


def test_one_port_costs_a_cycle_for_each_result_that_meets_a_step():
    program = program_of(convolution(1, 5), 8)
    paused = replace(program, one_port=True)
    (one,) = program.instructions
    added = paused.cycles(one) - program.cycles(one)
    # All results but those of the last blocks, which come when no step is left.
    results = one.loops.counts[0] * one.loops.counts[1] * 5
    assert results - 2 * program.lanes <= added <= results
