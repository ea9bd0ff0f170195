"""Needs of windows of an image, beside a count of the pixels that they cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ops.q import Window
from rlx_fpga.architectures.dataflow.lower.windows import (
    WHOLE_WINDOW_BYTES,
    Image,
    demand_of,
    whole_front,
    whole_window,
)


def last_pixel(image, window, row, column):
    """Return the number of pixels up to the last one that a window covers; 0 if none."""
    (top, _), (left, _) = window.padding
    numbers = [
        y * image.width + x + 1
        for k in range(window.kernel[0])
        for n in range(window.kernel[1])
        for y in [row * window.stride[0] + k * window.dilation[0] - top]
        for x in [column * window.stride[1] + n * window.dilation[1] - left]
        if 0 <= y < image.height and 0 <= x < image.width
    ]
    return max(numbers, default=0)


sizes = st.integers(1, 3)
pads = st.integers(0, 1)


@given(
    st.builds(Image, st.integers(1, 3), st.integers(3, 7), st.integers(3, 7), st.just(2)),
    st.tuples(sizes, sizes), st.tuples(sizes, sizes),
    st.tuples(st.tuples(pads, pads), st.tuples(pads, pads)),
)  # fmt: skip
def test_a_pixel_waits_for_the_last_one_that_its_window_covers(image, kernel, stride, padding):
    # No window covers nothing but padding.
    padding = tuple(
        tuple(min(side, size - 1) for side in sides)
        for sides, size in zip(padding, kernel, strict=True)
    )
    window = Window(kernel, stride, padding=padding)
    geometry = image.geometry(window, 1)
    rows, columns = geometry.out_height, geometry.out_width
    pixels = image.height * image.width
    found = demand_of(geometry, image.count)
    needed = [
        (index + last_pixel(image, window, row, column) / pixels) / image.count
        for index in range(image.count)
        for row in range(rows)
        for column in range(columns)
    ]
    assert found.needed == pytest.approx(needed)
    assert found.work == pytest.approx(np.arange(len(needed)) / len(needed))
    assert np.array_equal(found.results, found.work)


@pytest.mark.parametrize(
    ("channels", "kernel", "whole"),
    [(14, (3, 3), True), (15, (3, 3), False), (32, (2, 2), True), (33, (2, 2), False),
     (128, (1, 1), True), (129, (1, 1), False)],
)  # fmt: skip
def test_whole_windows_have_at_most_so_many_bytes(channels, kernel, whole):
    assert (kernel[0] * kernel[1] * channels <= WHOLE_WINDOW_BYTES) == whole
    found = whole_window(Image(1, 6, 6, channels), Window(kernel))
    assert (found is not None) == whole


@pytest.mark.parametrize(
    ("image", "window", "whole"),
    [
        (Image(1, 6, 6, 2), Window((2, 2), dilation=(1, 2)), False),
        (Image(1, 6, 1, 2), Window((2, 1)), False),
        (Image(1, 6, 2, 2), Window((2, 1)), True),
        # With a column of padding, an image of one column is wide enough.
        (Image(1, 6, 1, 2), Window((2, 1), padding=((0, 0), (0, 1))), True),
    ],
)
def test_whole_windows_need_two_columns_and_no_gaps(image, window, whole):
    assert (whole_window(image, window) is not None) == whole


def test_whole_windows_slide_over_the_padded_image():
    image, window = Image(1, 5, 4, 3), Window((2, 3), (2, 1), padding=((1, 2), (0, 1)))
    found = whole_window(image, window)
    assert (found.geometry.height, found.geometry.width) == (5 + 3, 4 + 1)
    assert (found.geometry.out_height, found.geometry.out_width) == (4, 3)
    front = whole_front(image, window, 6, 7, 2)
    assert list(front) == ["pad", "window", "replay"]
    assert (front["pad"].beats_in, front["pad"].beats_out) == (5 * 4, 8 * 5)
    assert front["replay"].beats == 2 * 2 * 3 * 3 // 6
    assert list(whole_front(image, Window((2, 3)), 6, 7, 2)) == ["window", "replay"]
