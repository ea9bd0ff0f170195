"""Pad and slice against NumPy."""

import numpy as np
import pytest
from amaranth import Const, Module
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, run_cell, to_beats

from rlx_fpga.cells.pad import Pad, Slice
from rlx_fpga.cells.raster import Raster
from support.messages import raises


def codes(shape, seed=0):
    return np.random.default_rng(seed).integers(-128, 128, shape)


def check_pad(x, lanes, before, after, value, **options):
    sizes = (*x.shape[1:-1], x.shape[-1] // lanes)
    cell = Pad(lanes, sizes, before, after, value)
    widths = [(0, 0), *zip(before[:-1], after[:-1], strict=True)]
    widths.append((before[-1] * lanes, after[-1] * lanes))
    wanted = np.pad(x, widths, constant_values=value)
    assert wanted[0].size == cell.beats_out * lanes
    beats = to_beats(wanted, lanes)
    run = run_cell(cell, to_beats(x, lanes), len(beats), **options)
    assert np.array_equal(run.output, beats)
    return cell, run


@settings(max_examples=12)
@given(data=st.data(), stall_in=st.sampled_from([0.0, 0.4]), stall_out=st.sampled_from([0.0, 0.4]))
def test_pad_equals_numpy(data, stall_in, stall_out):
    lanes = data.draw(st.sampled_from([1, 2]))
    sizes = [data.draw(st.integers(1, 3)) for _ in range(3)]
    before, after = ([data.draw(st.integers(0, 2)) for _ in range(3)] for _ in range(2))
    x = codes((2, *sizes[:2], sizes[2] * lanes))
    value = data.draw(st.integers(-128, 127))
    check_pad(x, lanes, before, after, value, stall_in=stall_in, stall_out=stall_out)


def test_pad_gives_a_beat_in_every_cycle():
    cell, run = check_pad(codes((3, 4, 5, 2)), 2, (1, 1, 0), (1, 2, 0), -3)
    assert run.interval(cell.beats_out) == cell.beats_out == 6 * 8


def test_pad_gives_nothing_of_a_frame_that_does_not_come():
    check_pad(codes((2, 3, 3, 1)), 1, (1, 1, 0), (0, 1, 0), 5, idle=20)


def test_pad_starts_anew_after_a_reset():
    check_pad(codes((2, 3, 3, 1)), 1, (1, 0, 0), (0, 1, 0), 5, reset_after=9, stall_out=0.2)


@pytest.mark.parametrize(
    "arguments",
    [((2, 2), (1, -1), (0, 0), 0), ((2, 2), (1,), (0, 0), 0), ((2,), (1,), (0,), 128)],
)
def test_pad_refuses(arguments):
    with raises(ValueError):
        Pad(1, *arguments)


def test_a_frame_has_beats_on_every_axis():
    m = Module()
    m._MustUse__silence = True
    with raises(ValueError):
        Raster(m, (3, 0), Const(1))


def check_slice(x, lanes, start, stop, step, **options):
    sizes = (*x.shape[1:-1], x.shape[-1] // lanes)
    cell = Slice(lanes, sizes, start, stop, step)
    beats = x.reshape(x.shape[0], *sizes, lanes)
    parts = [slice(*part) for part in zip(start, stop, step, strict=True)]
    wanted = beats[(slice(None), *parts)].reshape(-1, lanes)
    run = run_cell(cell, to_beats(x, lanes), len(wanted), **options)
    assert np.array_equal(run.output, wanted)
    assert len(wanted) == cell.beats_out * x.shape[0]
    return cell, run


@settings(max_examples=12)
@given(data=st.data(), stall_in=st.sampled_from([0.0, 0.4]), stall_out=st.sampled_from([0.0, 0.4]))
def test_slice_equals_numpy(data, stall_in, stall_out):
    lanes = data.draw(st.sampled_from([1, 3]))
    sizes = [data.draw(st.integers(1, 5)) for _ in range(3)]
    start = [data.draw(st.integers(0, size - 1)) for size in sizes]
    stop = [data.draw(st.integers(s + 1, n)) for s, n in zip(start, sizes, strict=True)]
    step = [data.draw(st.integers(1, 3)) for _ in sizes]
    x = codes((2, *sizes[:2], sizes[2] * lanes))
    check_slice(x, lanes, start, stop, step, stall_in=stall_in, stall_out=stall_out)


def test_slice_takes_a_beat_in_every_cycle():
    cell, run = check_slice(codes((3, 4, 4, 2)), 2, (1, 1, 0), (3, 4, 1), (1, 1, 1))
    assert run.interval(cell.beats_out) == cell.beats_in == 16


def test_slice_starts_anew_after_a_reset():
    check_slice(codes((2, 4, 3, 1)), 1, (1, 0, 0), (4, 3, 1), (2, 1, 1), reset_after=7)


@pytest.mark.parametrize("stop", [(5,), (1,), (1, 2)])
def test_slice_refuses_places_outside(stop):
    with pytest.raises(ValueError, match=r"^(slice .* does not fit \(4,\)$|zip)"):
        Slice(1, (4,), (1,), stop, (1,))


@pytest.mark.sim
def test_cells_are_lint_clean(tmp_path):
    assert_lint_clean(Pad(2, (3, 3, 2), (1, 1, 0), (1, 0, 0), -7), tmp_path, "pad")
    assert_lint_clean(Slice(2, (5, 3, 2), (1, 1, 0), (5, 2, 2), (2, 1, 1)), tmp_path, "slice")
