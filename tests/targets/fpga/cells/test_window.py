import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, run_cell, to_beats

from rlx_fpga.cells.window import WindowGenerator
from support.messages import raises


def windows(x, cell):
    """Naive model: the words of all windows of frames ``x`` [N, H, W, C], in order."""
    g, lanes = cell.geometry, cell.lanes
    (top, bottom), (left, right) = g.padding
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=cell.pad_value)
    words = []
    for frame in x:
        for h in range(g.out_height):
            for w in range(g.out_width):
                r, c = h * g.stride[0], w * g.stride[1]
                window = frame[
                    r : r + g.span[0] : g.dilation[0], c : c + g.span[1] : g.dilation[1]
                ].reshape(g.taps, g.blocks, lanes)
                if cell.order == "dense":
                    words.append(np.tile(window.reshape(-1, lanes), (cell.repeat, 1)))
                else:
                    window = window.transpose(1, 0, 2)
                    words += [np.tile(block, (cell.repeat, 1)) for block in window]
    return np.concatenate(words)


@st.composite
def options(draw):
    kernel = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    dilation = (draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    padding = tuple((draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in range(2))
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    height, width = (
        draw(st.integers(max(1, s - sum(p)), 6)) for s, p in zip(span, padding, strict=True)
    )
    lanes = draw(st.integers(1, 2))
    return {
        "height": height,
        "width": width,
        "channels": lanes * draw(st.integers(1, 3)),
        "lanes": lanes,
        "kernel": kernel,
        "stride": (draw(st.integers(1, 3)), draw(st.integers(1, 3))),
        "dilation": dilation,
        "padding": padding,
        "pad_value": draw(st.integers(-128, 127)),
        "repeat": draw(st.integers(1, 2)),
        "order": draw(st.sampled_from(["dense", "channelwise"])),
    }


def images(cell, frames, seed=0):
    g = cell.geometry
    shape = (frames, g.height, g.width, g.blocks * cell.lanes)
    return np.random.default_rng(seed).integers(-128, 128, shape)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    options=options(),
    stall_in=st.sampled_from([0.0, 0.5]),
    stall_out=st.sampled_from([0.0, 0.5]),
)
def test_window_gives_what_the_model_gives(options, stall_in, stall_out):
    cell = WindowGenerator(**options)
    x = images(cell, 3)
    expected = windows(x, cell)
    run = run_cell(
        cell,
        to_beats(x, cell.lanes),
        len(expected),
        stall_in=stall_in,
        stall_out=stall_out,
        idle=16,
    )
    assert np.array_equal(run.output, expected)


@settings(max_examples=25)
@given(options=options())
def test_window_takes_the_cycles_that_it_claims(options):
    cell = WindowGenerator(**options)
    x = images(cell, 5)
    g = cell.geometry
    beats = cell.reads * g.out_height * g.out_width
    run = run_cell(cell, to_beats(x, cell.lanes), 4 * beats)
    assert run.interval(beats) == cell.cycles_per_frame
    assert run.given["o"][0] - run.taken["i"][g.needed[0] - 1] == cell.latency


SAME = ((1, 1), (1, 1))


@pytest.mark.parametrize(
    "options",
    [
        {"height": 6, "width": 6, "kernel": (3, 3), "padding": SAME},
        {"height": 6, "width": 6, "kernel": (3, 3)},
        {"height": 8, "width": 8, "kernel": (3, 3), "stride": (2, 2), "padding": ((0, 1), (0, 1))},
        {"height": 6, "width": 6, "kernel": (2, 2), "stride": (2, 2)},
        {"height": 16, "width": 1, "kernel": (1, 1), "repeat": 3},
        {"height": 1, "width": 1, "kernel": (1, 1), "repeat": 3},
        {"height": 1, "width": 1, "kernel": (1, 1)},
    ],
)
def test_window_gives_a_word_in_every_cycle(options):
    cell = WindowGenerator(channels=4, lanes=2, **options)
    g = cell.geometry
    assert cell.cycles_per_frame == cell.reads * g.out_height * g.out_width


def test_window_reset_in_mid_frame():
    cell = WindowGenerator(
        height=4, width=4, channels=2, lanes=1, kernel=(3, 3), padding=SAME, pad_value=-7
    )
    x = images(cell, 2)
    expected = windows(x, cell)
    run = run_cell(cell, to_beats(x, 1), len(expected), stall_out=0.2, reset_after=77)
    assert np.array_equal(run.output, expected)


def test_window_buffer_is_two_lines_and_a_bit():
    cell = WindowGenerator(height=32, width=32, channels=16, lanes=4, kernel=(3, 3), padding=SAME)
    assert cell.geometry.depth <= (3 * 32 + 3) * 4
    assert cell.memory_bits == (cell.geometry.depth + 1) * 32


def test_window_refuses_a_kernel_larger_than_the_image():
    with raises(ValueError):
        WindowGenerator(height=2, width=2, channels=1, lanes=1, kernel=(3, 1))


def test_window_refuses_bad_parameters():
    with raises(ValueError):
        WindowGenerator(height=2, width=2, channels=1, lanes=1, kernel=(1, 1), pad_value=200)
    with raises(ValueError):
        WindowGenerator(height=2, width=2, channels=1, lanes=1, kernel=(1, 0))


def test_window_lint(tmp_path):
    cell = WindowGenerator(
        height=5,
        width=7,
        channels=6,
        lanes=2,
        kernel=(3, 2),
        stride=(2, 1),
        padding=((1, 1), (0, 1)),
        repeat=3,
    )
    assert_lint_clean(cell, tmp_path)
