"""Images read at places that are computed, against ONNX Runtime on random shapes."""

import numpy as np
import pytest

from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.onnx_builder import by_runtime, load, model, node, run
from support.messages import raises

RANDOM = np.random.default_rng(1)


def numbers(*shape, low=-1.0, high=1.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def check(data, *arrays):
    for ours, theirs in zip(run(data, *arrays), by_runtime(data, *arrays), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [0, 1])
def test_grid_sample(mode, padding, align):
    made = node("GridSample", "x g", mode=mode, padding_mode=padding, align_corners=align)
    data = model([made], {"x": [2, 3, 5, 4], "g": [2, 3, 6, 2]}, {"y": None})
    check(data, numbers(2, 3, 5, 4), numbers(2, 3, 6, 2, low=-1.4, high=1.4))


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("half", ["half_pixel", "output_half_pixel"])
def test_roi_align(mode, half):
    made = node(
        "RoiAlign", "x r b", mode=mode, output_height=2, output_width=3, sampling_ratio=2,
        spatial_scale=0.5, coordinate_transformation_mode=half,
    )  # fmt: skip
    data = model(
        [made], {"x": [2, 3, 7, 9], "r": [4, 4], "b": ([4], np.int64)}, {"y": None}, opset=16
    )
    corners = np.sort(numbers(4, 2, 2, low=-2, high=17), axis=1).reshape(4, 4)
    check(data, numbers(2, 3, 7, 9), corners, np.array([0, 1, 1, 0]))


def test_regions_that_choose_their_samples_are_refused():
    data = model(
        [node("RoiAlign", "x r b")],
        {"x": [2, 3, 7, 9], "r": [4, 4], "b": ([4], np.int64)}, {"y": None}, opset=16,
    )  # fmt: skip
    with raises(UnsupportedOpError):
        load(data)


@pytest.mark.parametrize(
    ("pads", "strides", "dilations", "groups", "offsets"),
    [([0] * 4, [1, 1], [1, 1], 1, 1), ([1, 0, 2, 1], [2, 1], [1, 2], 2, 2)],
)
def test_deform_conv(pads, strides, dilations, groups, offsets):
    out = [
        (n + pads[i] + pads[i + 2] - d * (k - 1) - 1) // s + 1
        for i, (n, k, s, d) in enumerate(zip((6, 7), (2, 3), strides, dilations, strict=True))
    ]
    shapes = {
        "x": [2, 4, 6, 7], "w": [2, 4 // groups, 2, 3], "o": [2, offsets * 12, *out],
        "b": [2], "m": [2, offsets * 6, *out],
    }  # fmt: skip
    made = node(
        "DeformConv", "x w o b m", pads=pads, strides=strides, dilations=dilations, group=groups,
        offset_group=offsets,
    )  # fmt: skip
    data = model([made], shapes, {"y": None}, opset=19)
    check(data, *(numbers(*s, low=-2, high=2) for s in shapes.values()))


def test_offsets_that_do_not_fit():
    data = model(
        [node("DeformConv", "x w o")], {"x": [1, 1, 3, 3], "w": [1, 1, 2, 2], "o": [1, 7, 2, 2]},
        {"y": None}, opset=19,
    )  # fmt: skip
    with raises(FrontendError):
        load(data)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_places_of_the_greatest_elements(order, dtype):
    made = node(
        "MaxPool", "x", "y z", kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1],
        storage_order=order,
    )  # fmt: skip
    data = model(
        [made], {"x": ([2, 3, 5, 6], dtype)}, {"y": (None, dtype), "z": (None, np.int64)}, opset=12
    )
    check(data, numbers(2, 3, 5, 6, low=-9, high=9).astype(dtype))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_determinants(size):
    x = numbers(5, size, size)
    data = model([node("Det", "x")], {"x": list(x.shape)}, {"y": None})
    np.testing.assert_allclose(run(data, x)[0], np.linalg.det(x), rtol=1e-4, atol=1e-5)


def test_large_determinants_are_refused():
    with raises(UnsupportedOpError):
        load(model([node("Det", "x")], {"x": [5, 5]}, {"y": None}))
