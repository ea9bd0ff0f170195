"""Concat against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, drive, to_beats

from rlx_fpga.cells.concat import Concat
from support.messages import raises


def codes(shape, seed):
    return np.random.default_rng(seed).integers(-128, 128, shape)


def check(shapes, axis, lanes, **options):
    """Join tensors [N, H, W, C] along ``axis`` and compare."""
    tensors = [codes(shape, seed) for seed, shape in enumerate(shapes)]
    runs = [int(np.prod(shape[axis:])) // lanes for shape in shapes]
    wanted = to_beats(np.concatenate(tensors, axis), lanes)
    cell = Concat(lanes, runs)
    inputs = {f"i{n}": to_beats(tensor, lanes) for n, tensor in enumerate(tensors)}
    run = drive(cell, inputs, {"o": len(wanted)}, **options)
    assert np.array_equal(run.output, wanted)
    return run


@settings(max_examples=12)
@given(
    axis=st.integers(1, 3),
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    lanes=st.sampled_from([1, 2]),
    stalls=st.tuples(st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.5])),
)
def test_concat_equals_numpy(axis, sizes, lanes, stalls):
    shapes = []
    for size in sizes:
        shape = [2, 2, 3, 2]
        shape[axis] = size * lanes if axis == 3 else size
        shapes.append(tuple(shape))
    check(shapes, axis, lanes, stall_in=stalls[0], stall_out=stalls[1], idle=5)


def test_concat_gives_a_beat_in_every_cycle():
    run = check([(2, 2, 2, 4), (2, 2, 2, 2)], 3, 2)
    assert np.all(np.diff(run.given["o"]) == 1)


def test_concat_starts_anew_after_a_reset():
    check([(2, 2, 2, 4), (2, 2, 2, 2)], 3, 2, reset_after=5, stall_out=0.3)


@pytest.mark.parametrize("runs", [(), (3, 0)])
def test_concat_refuses_empty_runs(runs):
    with raises(ValueError):
        Concat(1, runs)


@pytest.mark.sim
def test_concat_is_lint_clean(tmp_path):
    assert_lint_clean(Concat(2, (3, 1, 2)), tmp_path)


@pytest.mark.parametrize("leading", [-1, 2])
def test_concat_refuses_constants_alone(leading):
    with raises(ValueError):
        Concat(1, (2, 1), leading=leading)
