"""Convolutions and pools with every kind of padding: ONNX Runtime's numbers."""

import numpy as np
import pytest

from rlx.support.errors import RlxError
from support.files.onnx_builder import by_runtime, model, node, run
from support.messages import raises


def numbers(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


def same(data, *arrays):
    """Compare with ONNX Runtime."""
    for ours, theirs in zip(run(data, *arrays), by_runtime(data, *arrays), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def window(random, rank, *, most=3):
    """Return attributes of a window drawn at random."""
    kernel = [int(k) for k in random.integers(1, most + 1, rank)]
    given = {
        "kernel_shape": kernel,
        "strides": [int(s) for s in random.integers(1, 4, rank)],
        "dilations": [int(d) for d in random.integers(1, 3, rank)],
    }
    mode = random.choice(["NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if mode == "NOTSET":
        # ONNX Runtime wants pads below the kernel, whatever the dilation.
        given["pads"] = [int(random.integers(0, k)) for k in (*kernel, *kernel)]
    else:
        given["auto_pad"] = str(mode)
        # ONNX Runtime refuses dilations with SAME, or leaves them out of the padding.
        given["dilations"] = [1] * rank
        given["strides"] = [min(s, k) for s, k in zip(given["strides"], kernel, strict=True)]
    return given


def image(random, given, channels):
    rank = len(given["kernel_shape"])
    sizes = random.integers(1, 5, rank)
    extent = [
        (k - 1) * d + 1 for k, d in zip(given["kernel_shape"], given["dilations"], strict=True)
    ]
    shape = [int(s + e) for s, e in zip(sizes, extent, strict=True)]
    return numbers(random, 2, channels, *shape)


@pytest.mark.parametrize("seed", range(40))
def test_convolutions(seed):
    random = np.random.default_rng(seed)
    given = window(random, int(random.integers(1, 4)))
    groups = int(random.choice([1, 1, 2, 4]))
    x = image(random, given, 4)
    w = numbers(random, 2 * groups, 4 // groups, *given["kernel_shape"])
    constants = {"w": w, "b": numbers(random, len(w))}
    data = model(
        [node("Conv", "x w b", "y", group=groups, **given)], {"x": list(x.shape)}, {"y": None},
        constants,
    )  # fmt: skip
    same(data, x)


@pytest.mark.parametrize("seed", range(30))
def test_transposed_convolutions(seed):
    random = np.random.default_rng(seed)
    rank = int(random.integers(1, 3))
    kernel = [int(k) for k in random.integers(1, 4, rank)]
    given = {"kernel_shape": kernel, "strides": [int(s) for s in random.integers(1, 4, rank)]}
    kind = int(random.integers(4))
    x = numbers(random, 1, 4, *random.integers(3, 6, rank))
    if kind == 0:
        given["pads"] = [int(random.integers(0, k)) for k in (*kernel, *kernel)]
    elif kind == 1:
        given["output_padding"] = [int(random.integers(0, s)) for s in given["strides"]]
    elif kind == 2:
        given["dilations"] = [int(d) for d in random.integers(1, 3, rank)]
    else:
        given["auto_pad"] = str(random.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
        # Of larger strides ONNX Runtime makes less than "input times stride".
        given["strides"] = [min(s, k) for s, k in zip(given["strides"], kernel, strict=True)]
    groups = int(random.choice([1, 2]))
    constants = {"w": numbers(random, 4, 3, *kernel), "b": numbers(random, 3 * groups)}
    data = model(
        [node("ConvTranspose", "x w b", "y", group=groups, **given)], {"x": list(x.shape)},
        {"y": None}, constants,
    )  # fmt: skip
    same(data, x)


def test_a_transposed_convolution_to_a_given_shape():
    random = np.random.default_rng(0)
    x = numbers(random, 1, 2, 3, 4)
    for mode in ("SAME_UPPER", "SAME_LOWER", "NOTSET"):
        data = model(
            [node("ConvTranspose", "x w", "y", strides=[3, 2], output_shape=[8, 7], auto_pad=mode)],
            {"x": [1, 2, 3, 4]}, {"y": None}, {"w": numbers(random, 2, 1, 3, 3)},
        )  # fmt: skip
        same(data, x)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool", "LpPool"])
def test_pools(kind, seed):
    random = np.random.default_rng(seed)
    rank = int(random.integers(1, 4))
    given = window(random, rank)
    if random.integers(2) and "pads" in given:
        given["ceil_mode"] = 1
    if kind == "AveragePool":
        given["count_include_pad"] = int(random.integers(2))
    x = image(random, given, 3)
    data = model([node(kind, "x", "y", **given)], {"x": list(x.shape)}, {"y": None})
    same(data, abs(x) if kind == "LpPool" else x)


def test_pools_over_everything():
    x = numbers(np.random.default_rng(0), 2, 3, 4, 5)
    for kind in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        same(model([node(kind, "x")], {"x": [2, 3, 4, 5]}, {"y": None}), x)


def test_pools_of_integers():
    x = np.random.default_rng(0).integers(0, 256, (1, 2, 5, 5)).astype(np.uint8)
    data = model(
        [node("MaxPool", "x", "y", kernel_shape=[3, 3], pads=[1, 1, 1, 1])],
        {"x": ([1, 2, 5, 5], np.uint8)}, {"y": (None, np.uint8)},
    )  # fmt: skip
    (found,) = run(data, x)
    assert np.array_equal(found, by_runtime(data, x)[0])


def test_an_open_batch_and_open_sides():
    x = numbers(np.random.default_rng(0), 3, 2, 4, 4)
    pool = node("MaxPool", "x", "y", kernel_shape=[2, 2])
    same(model([pool], {"x": ["n", 2, 4, 4]}, {"y": None}), x)
    with raises(RlxError):
        run(model([pool], {"x": [1, 2, "h", "w"]}, {"y": None}), x)
