import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, run_cell

from rlx_fpga.cells.fifo import Fifo, SkidBuffer
from support.messages import raises

CELLS = {
    "skid": lambda: SkidBuffer(3),
    "fifo2": lambda: Fifo(1, 2),
    "fifo7": lambda: Fifo(2, 7, width=5),
    "fifo33": lambda: Fifo(2, 33),
    "fifo40": lambda: Fifo(1, 40, width=21),
}


def beats_for(cell, count, seed=0):
    layout = cell.i.payload.shape()
    half = 1 << (layout.elem_shape.width - 1)
    return np.random.default_rng(seed).integers(-half, half, (count, layout.length))


@pytest.mark.parametrize("name", CELLS)
@settings(max_examples=4)
@given(stalls=st.tuples(st.sampled_from([0.0, 0.3, 0.7]), st.sampled_from([0.0, 0.3, 0.7])))
def test_queue_gives_back_what_it_took(name, stalls):
    cell = CELLS[name]()
    x = beats_for(cell, 100)
    run = run_cell(cell, x, len(x), stall_in=stalls[0], stall_out=stalls[1], idle=5)
    assert np.array_equal(run.output, x)


@pytest.mark.parametrize("name", CELLS)
def test_queue_keeps_up_with_a_beat_a_cycle(name):
    cell = CELLS[name]()
    x = beats_for(cell, 50)
    run = run_cell(cell, x, len(x))
    assert run.latency == cell.latency
    assert np.all(np.diff(run.given["o"]) == 1)


@pytest.mark.parametrize("name", CELLS)
def test_queue_is_empty_after_reset(name):
    cell = CELLS[name]()
    x = beats_for(cell, 20)
    run = run_cell(cell, x, len(x), stall_out=0.9, reset_after=9)
    assert np.array_equal(run.output, x)


def test_fifo_holds_its_depth():
    cell = Fifo(1, 7)
    x = beats_for(cell, 20)
    with pytest.raises(AssertionError, match="only"):
        run_cell(cell, x, 20, stall_out=1.0, limit=40)


def test_fifo_refuses_a_depth_that_cannot_keep_up():
    with raises(ValueError):
        Fifo(1, 1)


@pytest.mark.parametrize("name", CELLS)
def test_queue_lint(name, tmp_path):
    assert_lint_clean(CELLS[name](), tmp_path)


def test_cell_has_its_ports_as_attributes_and_no_others():
    with raises(AttributeError):
        _ = SkidBuffer(1).x
