"""The engine of a device: which memories, which way to load weights, how many multipliers."""

import pytest
from targets.fpga.architectures.engine.test_lower import activations, dense

from rlx.ir.module import GraphModule, Stage
from rlx.support.errors import DoesNotFitError
from rlx_fpga import FpgaOptions
from rlx_fpga.architectures import architecture
from rlx_fpga.architectures.engine.choice import engine_of
from rlx_fpga.architectures.engine.program import Feed
from support.messages import raises

UP5K = "ice40-up5k"
HALF = 30 * 4096 // 8 // 2
"""Bytes of half of the block RAMs of an iCE40 UP5K."""


def options(**given):
    return FpgaOptions(architecture="engine", **given)


@pytest.mark.parametrize(
    ("device", "size", "count"),
    [
        (UP5K, HALF, 0),
        (UP5K, HALF + 1, 1),
        (UP5K, 1 << 15, 1),
        (UP5K, (1 << 15) + 1, 2),
        ("ecp5-25k", (1 << 15) + 1, 0),
    ],
)
def test_activations_that_take_half_of_the_block_rams_are_in_spram(device, size, count):
    """An SPRAM holds 32 KiB; the engine pauses while it writes to one."""
    engine = engine_of(activations(size), options(device=device))
    assert engine.code.one_port is (count > 0)
    assert engine.large_memories == count
    assert engine.large is (device == UP5K)


WEIGHTS = {
    "mem": Feed.BUILT_IN,
    "inline": Feed.BUILT_IN,
    "load": Feed.LOAD,
    "stream": Feed.STREAM,
}


@pytest.mark.parametrize(("weights", "feed"), WEIGHTS.items())
def test_weights_are_loaded_as_the_option_says(weights, feed):
    engine = engine_of(dense(3), options(weights=weights))
    assert engine.code.feed is feed
    core = architecture("engine").build(GraphModule(dense(3), Stage.MIR), options(weights=weights))
    if feed is Feed.BUILT_IN:
        assert core.weights is None
        assert "w" not in engine.signature.members
        return
    stream = core.weights
    assert (stream.member, stream.lanes) == ("w", engine.code.lanes)
    assert stream.each_frame is (feed is Feed.STREAM)
    assert len(stream.content) % stream.lanes == 0


def test_ways_to_build_end_with_weights_that_need_no_memory():
    loaded, streamed = (options(weights=weights) for weights in ("load", "stream"))
    ways = architecture("engine").variants(loaded)
    assert ways == (("", loaded), (" --weights stream", streamed))
    assert architecture("engine").variants(streamed) == (("", streamed),)
    alone = FpgaOptions(architecture="parallel")
    assert architecture("parallel").variants(alone) == (("", alone),)


@pytest.mark.parametrize(("given", "lanes"), [({"dsp": 5}, 1), ({}, 4), ({"dsp": 7}, 2)])
def test_multipliers_are_those_of_the_budget_or_of_the_device(given, lanes):
    engine = engine_of(dense(40), options(device=UP5K, **given))
    assert (engine.code.lanes, engine.multipliers) == (lanes, 4 + lanes)
    with raises(DoesNotFitError):
        engine_of(dense(40), options(device=UP5K, dsp=4))


def test_a_rate_takes_the_fewest_lanes_that_reach_it():
    graph, clock = dense(40), {"device": UP5K, "clock": 1e6}
    engines = [engine_of(graph, options(dsp=4 + lanes, **clock)) for lanes in (1, 2, 4)]
    intervals = [engine.code.interval for engine in engines]
    assert sorted(set(intervals), reverse=True) == intervals
    for lanes, interval in zip((1, 2, 4), intervals, strict=True):
        for cycles in (interval, interval + 1):
            found = engine_of(graph, options(fps=1e6 / (cycles + 0.5), **clock))
            assert found.code.lanes == lanes
    # Nothing reaches the rate: the fastest one is the answer.
    assert engine_of(graph, options(fps=1e5, **clock)).code.lanes == 4
