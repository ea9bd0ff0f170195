"""Geometry of windows against windows that are listed one by one."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx_fpga.cells.geometry import Geometry, geometry_of
from support.messages import raises


@st.composite
def geometries(draw, largest=6):
    kernel, dilation = ((draw(st.integers(1, 3)), draw(st.integers(1, 2))) for _ in range(2))
    padding = tuple((draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in range(2))
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    height, width = (
        draw(st.integers(max(1, s - sum(p)), max(largest, s)))
        for s, p in zip(span, padding, strict=True)
    )
    stride = (draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    blocks = draw(st.integers(1, 3))
    return Geometry(height, width, blocks, kernel, stride, dilation, padding)


def windows(g):
    """Return the image words of each output pixel's window, in order; padding left out."""
    found = []
    for top in range(0, g.padded[0] - g.span[0] + 1, g.stride[0]):
        for left in range(0, g.padded[1] - g.span[1] + 1, g.stride[1]):
            places = [
                (top + r * g.dilation[0] - g.padding[0][0], left + c * g.dilation[1]
                 - g.padding[1][0])
                for r in range(g.kernel[0]) for c in range(g.kernel[1])
            ]  # fmt: skip
            found.append([
                (row * g.width + column) * g.blocks + block
                for row, column in places for block in range(g.blocks)
                if 0 <= row < g.height and 0 <= column < g.width
            ])  # fmt: skip
    return found


@given(geometries())
def test_windows_find_their_words_in_the_buffer(g):
    """Nothing starts before its words are there, and no word goes before its last window."""
    listed = windows(g)
    assert len(listed) == g.out_height * g.out_width == len(g.needed) == len(g.released)
    assert g.taps == g.kernel[0] * g.kernel[1]
    for pixel, words in enumerate(listed):
        assert all(word < g.needed[pixel] for word in words)
        later = [word for one in listed[pixel + 1 :] for word in one]
        assert all(word >= g.released[pixel] for word in later)
    assert g.released[-1] == g.words == g.height * g.width * g.blocks
    assert all(a <= b for a, b in zip(g.released, g.released[1:], strict=False))


@given(geometries())
def test_a_window_inside_waits_for_its_last_word_alone(g):
    """Later would cost latency: where a window is not clipped, its last word is what it needs."""
    if g.is_padded:
        return
    assert [max(words) + 1 for words in windows(g)] == g.needed


@given(geometries())
def test_rows_are_released_once(g):
    assert sum(g.row_release) == g.height - g.first_row[0]
    assert min(g.row_release) >= 0
    assert [last - first for first, last in zip(g.first_row, g.last_row, strict=True)] == [
        min(max(top + g.span[0] - 1, 0), g.height - 1) - min(max(top, 0), g.height - 1)
        for top in range(-g.padding[0][0], g.padded[0] - g.padding[0][0] - g.span[0] + 1,
                         g.stride[0])
    ]  # fmt: skip


def ends(g, reads, frames, depth):
    """Return the cycle in which each frame has been read, word by word and pixel by pixel.

    A word is written in every cycle in which the one ``depth`` places before it is released; a
    pixel is read in ``reads`` cycles, from the cycle after its last word on.
    """
    written, released, pixel, left, cycle, found = 0, 0, 0, 0, 0, []
    pixels = len(g.needed)
    while len(found) < frames:
        frame, place = divmod(pixel, pixels)
        # What was written before this cycle can be read in it.
        if left == 0 and written >= frame * g.words + g.needed[place]:
            left = reads
        free = written < released + depth
        if left:
            left -= 1
            if left == 0:
                released = max(released, frame * g.words + g.released[place])
                pixel += 1
                if place == pixels - 1:
                    found.append(cycle + 1)
        written += free
        cycle += 1
        assert cycle < 100_000, "the buffer is stuck"
    return found


@pytest.mark.slow
@settings(max_examples=60)
@given(g=geometries(largest=5), reads=st.integers(1, 12))
def test_interval_is_that_of_a_simulated_buffer(g, reads):
    """The prediction of a layer's speed: a pixel-level shortcut of this loop."""
    *_, before, last = ends(g, reads, 4, g.depth)
    assert g.cycles_per_frame(reads) == last - before


@pytest.mark.slow
@settings(max_examples=60)
@given(g=geometries(largest=5), reads=st.integers(1, 6))
def test_buffer_is_as_fast_as_one_of_unlimited_depth(g, reads):
    """With fewer words a reader that could go on would wait."""
    *_, before, last = ends(g, reads, 4, 10 * g.words)
    bound = max(g.words, reads * len(g.needed))
    assert last - before <= g.cycles_per_frame(reads)
    if reads * len(g.needed) >= g.words:
        assert g.cycles_per_frame(reads) <= max(last - before, bound)


@given(geometries())
def test_shares_of_a_frame_are_bounds(g):
    """``lead`` and ``hold``: how far output and input can be apart, by a count of every pixel."""
    pixels = len(g.needed)
    behind = [Fraction(need, g.words) - Fraction(p, pixels) for p, need in enumerate(g.needed)]
    ahead = [Fraction(p + 1, pixels) - Fraction(need, g.words) for p, need in enumerate(g.needed)]
    assert g.lead == max(ahead)
    assert g.jitter == max(behind) + g.lead
    freed = [0, *g.released[:-1]]
    assert g.hold == max(
        Fraction(free + g.depth, g.words) - Fraction(p, pixels) for p, free in enumerate(freed)
    )


@pytest.mark.parametrize(
    "sizes",
    [
        {"height": 0},
        {"blocks": 0},
        {"padding": ((0, -1), (0, 0))},
        {"kernel": (5, 1)},
        {"dilation": (1, 4), "kernel": (1, 2)}
    ],
)  # fmt: skip
def test_impossible_sizes_are_refused(sizes):
    with raises(ValueError):
        Geometry(**{"height": 4, "width": 4, "blocks": 1, "kernel": (1, 1), "stride": (1, 1),
                    "dilation": (1, 1), "padding": ((0, 0), (0, 0)), **sizes})  # fmt: skip


def test_equal_geometries_are_one():
    assert geometry_of(5, 5, 2, (3, 3)) is geometry_of(5, 5, 2, (3, 3))
    assert geometry_of(5, 5, 2, (3, 3)) is not geometry_of(5, 5, 2, (3, 3), (2, 2))
