"""Stalls are predicted exactly: the same count as a walk through all cycles."""

from types import SimpleNamespace

import numpy as np

from rlx_fpga.architectures.engine.timing import WRITE_DELAY, running_cycles


def walked(one):
    """Return the cycles until the last free one, each looked at on its own."""
    rows, columns, blocks = one.loops.counts[:3]
    cycle, writes = 0, set()
    for block in range(rows * columns * blocks):
        results = one.last_lanes if (block + 1) % blocks == 0 else one.lanes
        for step in range(one.loops.inner + one.gap):
            while cycle in writes:
                cycle += 1
            if step == one.loops.inner - 1:
                writes |= {cycle + WRITE_DELAY + n for n in range(results)}
            cycle += 1
    return cycle


def test_rests_are_those_of_a_walk_through_all_cycles():
    rng = np.random.default_rng(0)
    for _ in range(60):
        lanes, inner = int(rng.integers(1, 9)), int(rng.integers(1, 30))
        rows, columns, blocks = map(int, rng.integers(1, 6, 3))
        loops = SimpleNamespace(counts=(rows, columns, blocks), inner=inner)
        one = SimpleNamespace(
            loops=loops, lanes=lanes, last_lanes=int(rng.integers(1, lanes + 1)),
            gap=max(0, lanes - inner),
        )  # fmt: skip
        assert running_cycles(one) == walked(one)
