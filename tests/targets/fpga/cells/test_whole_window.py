import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, run_cell, to_beats

from rlx_fpga.cells.chain import Chain
from rlx_fpga.cells.whole_window import Replay, WholeWindow
from support.messages import raises

STALLS = st.sampled_from([0.0, 0.4])


def windows(x, cell):
    """Naive model: the windows of frames ``x`` [N, H, W, C], in order."""
    g = cell.geometry
    found = []
    for frame in x:
        for h in range(g.out_height):
            for w in range(g.out_width):
                r, c = h * g.stride[0], w * g.stride[1]
                found.append(frame[r : r + g.kernel[0], c : c + g.kernel[1]].reshape(-1))
    return np.array(found)


@st.composite
def options(draw):
    kernel = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    return {
        "height": draw(st.integers(kernel[0], 6)),
        "width": draw(st.integers(max(2, kernel[1]), 6)),
        "channels": draw(st.integers(1, 2)),
        "kernel": kernel,
        "stride": (draw(st.integers(1, 3)), draw(st.integers(1, 3))),
    }


def images(cell, frames):
    g = cell.geometry
    shape = (frames, g.height, g.width, cell.channels)
    return np.random.default_rng(0).integers(-128, 128, shape)


@settings(max_examples=25)
@given(options=options(), stalls=st.tuples(STALLS, STALLS))
def test_whole_window_gives_what_the_model_gives(options, stalls):
    cell = WholeWindow(**options)
    x = images(cell, 3)
    expected = windows(x, cell)
    beats = to_beats(x, cell.channels)
    run = run_cell(cell, beats, len(expected), stall_in=stalls[0], stall_out=stalls[1], idle=5)
    assert np.array_equal(run.output, expected)


@settings(max_examples=20)
@given(options=options(), times=st.integers(1, 4))
def test_whole_window_takes_the_cycles_that_it_claims(options, times):
    cell = WholeWindow(**options)
    replay = Replay(cell.lanes, cell.channels, times)
    x = images(cell, 5)
    pixels = cell.geometry.out_height * cell.geometry.out_width
    beats = pixels * replay.beats
    chain = Chain({"window": cell, "replay": replay})
    run = run_cell(chain, to_beats(x, cell.channels), 4 * beats)
    assert run.interval(beats) == cell.cycles_per_frame(replay.beats)


@settings(max_examples=12)
@given(
    parts=st.integers(1, 3),
    lanes=st.integers(1, 2),
    times=st.integers(1, 3),
    stalls=st.tuples(STALLS, STALLS),
)
def test_replay_repeats_the_parts(parts, lanes, times, stalls):
    x = np.random.default_rng(0).integers(-128, 128, (20, parts * lanes))
    cell = Replay(parts * lanes, lanes, times)
    expected = to_beats(np.repeat(x[:, None], times, axis=1), lanes)
    run = run_cell(cell, x, len(expected), stall_in=stalls[0], stall_out=stalls[1], idle=4)
    assert np.array_equal(run.output, expected)
    if stalls == (0.0, 0.0):
        assert np.all(np.diff(run.given["o"]) == 1)


def test_whole_window_starts_anew_after_reset():
    cell = WholeWindow(height=5, width=4, channels=1, kernel=(3, 3))
    x = images(cell, 2)
    expected = windows(x, cell)
    run = run_cell(cell, to_beats(x, 1), len(expected), stall_out=0.3, reset_after=23)
    assert np.array_equal(run.output, expected)


def test_whole_window_refuses_a_single_column():
    with raises(ValueError):
        WholeWindow(height=5, width=1, channels=1, kernel=(3, 1))


def test_replay_refuses_no_times():
    with raises(ValueError):
        Replay(4, 2, 0)


def test_whole_window_lint(tmp_path):
    cell = WholeWindow(height=7, width=5, channels=2, kernel=(3, 2), stride=(2, 1))
    assert_lint_clean(Chain({"window": cell, "replay": Replay(12, 4, 3)}), tmp_path)
