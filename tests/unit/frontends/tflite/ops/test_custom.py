"""MediaPipe's transposed convolution with a bias, against LiteRT's own."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder
from support.messages import raises
from support.references.litert import run_litert

RANDOM = np.random.default_rng(4)
SAME, VALID = 1, 2


def both(
    size: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int], padding: int
) -> tuple[bytes, bytes]:
    """Return the layer as MediaPipe writes it, and as ``TRANSPOSE_CONV``."""
    made = []
    for n, k, s in zip(size, kernel, stride, strict=True):
        cut = max(k - (n - 1) % s - 1, 0) if padding == SAME else 0
        made.append(s * (n - 1) + k - cut)
    weights = RANDOM.normal(size=(3, *kernel, 2)).astype(np.float32)
    bias = RANDOM.normal(size=3).astype(np.float32)
    files = []
    for custom in (True, False):
        model = TfliteBuilder()
        x = model.tensor((1, *size, 2), "float32")
        y = model.tensor((1, *made, 3), "float32")
        w, b = model.constant(weights), model.constant(bias)
        if custom:
            model.operator("CUSTOM", [x, w, b], [y], custom_code="Convolution2DTransposeBias")
            options = struct.pack("<iii", padding, stride[1], stride[0])
            model.graph.operators[-1].customOptions = np.frombuffer(options, np.uint8)
        else:
            shape = model.constant(np.array([1, *made, 3], np.int32))
            name = "SAME" if padding == SAME else "VALID"
            strides = {"strideH": stride[0], "strideW": stride[1]}
            model.operator("TRANSPOSE_CONV", [shape, w, x, b], [y], version=3, padding=name,
                           **strides)  # fmt: skip
        files.append(model.build([x], [y]))
    return files[0], files[1]


@pytest.mark.parametrize("padding", [SAME, VALID])
@pytest.mark.parametrize(
    ("size", "kernel", "stride"),
    [((4, 5), (2, 2), (2, 2)), ((4, 5), (3, 3), (2, 1)), ((3, 2), (4, 1), (2, 3)),
     ((1, 6), (3, 5), (1, 2))],
)  # fmt: skip
def test_the_layer_of_media_pipe_is_a_transposed_convolution(
    size: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int], padding: int
) -> None:
    data, known = both(size, kernel, stride, padding)
    graph = tflite.load(data).graph
    x = RANDOM.normal(size=(1, *size, 2)).astype(np.float32)
    (wanted,) = run_litert(known, [x])
    (found,) = evaluate(graph, {graph.inputs[0].name: x})
    np.testing.assert_allclose(found, wanted[0], rtol=1e-5, atol=1e-5)


def test_options_that_do_not_fit_are_refused() -> None:
    data, _ = both((4, 5), (2, 2), (2, 2), SAME)
    options = struct.pack("<iii", SAME, 2, 2)
    for other in (
        struct.pack("<iii", 9, 2, 2),
        struct.pack("<iii", SAME, 2, 0),
        struct.pack("<iii", SAME, 2, 3),
    ):
        with raises(FrontendError):
            tflite.load(data.replace(options, other))


def test_custom_operators_of_others_are_refused() -> None:
    data, _ = both((4, 5), (2, 2), (2, 2), SAME)
    other = data.replace(b"Convolution2DTransposeBias", b"Convolution2DTransposeBiaz")
    with raises(UnsupportedOpError):
        tflite.load(other)
