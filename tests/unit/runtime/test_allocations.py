"""Allocations of a run after the first: nothing in proportion to the values that it computes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import rlx
from rlx.runtime import CompiledGraph, Session
from support import ROOT
from support.networks.decoder import SENTENCE, step

DIGITS = ROOT / "examples" / "digits" / "digits.rlx"
LARGE = np.ones((256, 512), np.float32)
SMALL = 8 << 10
"""Bytes for what NumPy and Python need for a call: iterators, tuples."""
BUFFERS = 64 << 10
"""Bytes with NumPy's buffers of 8,192 elements, which some calls that broadcast need."""


def chain(x: rlx.Tensor) -> rlx.Tensor:
    """Values of half a megabyte each."""
    weights = x.builder.constant(np.full((512, 512), 0.01, np.float32))
    for _ in range(3):
        x = ((x @ weights + 1.0).sigmoid() * 2.0 - x).softmax(-1)
    return x


def with_bound_input() -> CompiledGraph:
    graph = rlx.trace("held", lambda x, y: (x + y, x * y), *[rlx.f32(256, 512)] * 2)
    compiled = Session().compile(graph)
    compiled.bind_state("y", LARGE)
    compiled.feed(0, "y")
    return compiled


NETWORKS = {
    "float": (lambda: rlx.trace("chain", chain, rlx.f32(256, 512)), LARGE, BUFFERS),
    "integer": (lambda: rlx.load(DIGITS), np.zeros((1, 8, 8, 1), np.int8), SMALL),
    "with states": (step, SENTENCE[:1], SMALL),
}


def allocated(run):
    """Return the bytes that calls of ``run`` take for a while, and those that they keep.

    The least of five measures: threads of the test runner allocate too.
    """
    measures = []
    tracemalloc.start()
    try:
        run()
        for _ in range(5):
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            for _ in range(5):
                run()
            after, peak = tracemalloc.get_traced_memory()
            measures.append((peak - before, after - before))
    finally:
        tracemalloc.stop()
    return (min(column) for column in zip(*measures, strict=True))


@pytest.fixture(scope="module", params=[*NETWORKS, "with a bound input"])
def network(request):
    """Return a compiled graph, its input, and the bytes that a run may allocate and free."""
    if request.param not in NETWORKS:
        return with_bound_input(), LARGE, SMALL
    make, array, limit = NETWORKS[request.param]
    return Session().compile(make()), array, limit


@pytest.mark.parametrize("call", ["run_slots", "run_raw"])
def test_runs_after_the_first_allocate_no_values(network, call):
    compiled, array, limit = network
    (name,) = compiled.input_types

    def run():
        return compiled.run_slots(array) if call == "run_slots" else compiled.run_raw({name: array})

    first = run()
    program = compiled._programs[()].program
    arena, places = program.arena.ctypes.data, [array.ctypes.data for array in first]
    states = {n: array.ctypes.data for n, array in program.states.items()}
    peak, kept = allocated(run)
    assert peak < limit
    assert kept < 1024
    last = run()
    assert program.arena.ctypes.data == arena
    assert [array.ctypes.data for array in last] == places
    assert {n: array.ctypes.data for n, array in program.states.items()} == states


def test_the_measure_sees_a_value():
    """A run that returns copies allocates them."""
    compiled, x = with_bound_input(), LARGE
    (name,) = compiled.input_types
    compiled.run_typed({name: x})
    peak, _ = allocated(lambda: compiled.run_typed({name: x}))
    assert peak > x.nbytes
