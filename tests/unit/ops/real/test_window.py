from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rlx.ir import Dim, f32
from rlx.ops.real import RealMaxPool, SpatialWindow
from rlx.support.errors import ShapeError
from support.messages import raises


def check(window, image):
    return window.check(RealMaxPool(window=window), image)


def test_defaults_are_one_and_none():
    window = SpatialWindow((3, 2))
    assert (window.stride, window.dilation) == ((1, 1), (1, 1))
    assert window.padding == ((0, 0), (0, 0))
    assert not window.is_padded


def test_extent_counts_the_gaps():
    assert SpatialWindow((3, 1, 2), dilation=(2, 5, 3)).extent == (5, 1, 4)


@pytest.mark.parametrize("size", range(1, 12))
@pytest.mark.parametrize("kernel", [1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
def test_same_padding_gives_the_size_over_the_stride(size, kernel, stride, dilation):
    window = SpatialWindow.same((size,), (kernel,), (stride,), (dilation,))
    assert window.output_size((size,)) == (-(-size // stride),)
    ((before, after),) = window.padding
    assert 0 <= after - before <= 1


def test_check_tells_channels_and_size():
    window = SpatialWindow((3, 3), (2, 1), padding=((1, 1), (0, 2)))
    assert check(window, f32(Dim("batch"), 8, 5, 7)) == (7, (4, 5))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_taps_are_what_the_definition_says(rank):
    generator = np.random.default_rng(rank)
    window = SpatialWindow((2,) * rank, (2, 1, 3)[:rank], (2, 1, 1)[:rank])
    x = generator.standard_normal((2, *(7, 5, 4)[:rank], 3))
    out = window.output_size(x.shape[1:-1])
    for tap, view in window.taps(x):
        assert view.shape == (2, *out, 3)
        for place in product(*map(range, out)):
            source = tuple(
                p * s + k * d
                for p, s, k, d in zip(place, window.stride, tap, window.dilation, strict=True)
            )
            np.testing.assert_array_equal(view[:, *place], x[:, *source])


def test_padding_is_around_the_spatial_axes():
    window = SpatialWindow((1, 1), padding=((1, 0), (0, 2)))
    x = np.ones((1, 2, 2, 1))
    assert window.pad(x, 7)[0, :, :, 0].tolist() == [[7, 7, 7, 7], [1, 1, 7, 7], [1, 1, 7, 7]]
    assert SpatialWindow((1, 1)).pad(x, 7) is x


@pytest.mark.parametrize(
    ("window", "image"),
    [
        (SpatialWindow((3, 3)), f32(1, 8, 8)),
        (SpatialWindow((3, 3)), f32(1, Dim("h"), 8, 1)),
        (SpatialWindow((0, 3)), f32(1, 8, 8, 1)),
        (SpatialWindow((3, 3), (0, 1)), f32(1, 8, 8, 1)),
        (SpatialWindow((3, 3), (1,)), f32(1, 8, 8, 1)),
        (SpatialWindow((3, 3), dilation=(1, 0)), f32(1, 8, 8, 1)),
        (SpatialWindow((3, 3), padding=((0, -1), (0, 0))), f32(1, 8, 8, 1)),
        (SpatialWindow((3, 3)), f32(1, 2, 8, 1)),
    ],
)
def test_refusals(window, image):
    with raises(ShapeError):
        check(window, image)
