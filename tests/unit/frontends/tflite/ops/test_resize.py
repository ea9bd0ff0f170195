"""Resized int8 images against TensorFlow Lite Micro; float32 in ``test_reals.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ops.q import QResizeBilinear, QResizeNearest
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder
from support.messages import raises
from support.references.tflite_compare import compare, random_scale, random_zero_point

if TYPE_CHECKING:
    from collections.abc import Sequence

BILINEAR, NEAREST = "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"
FLAGS = [(False, False), (True, False), (False, True), (True, True)]
KINDS = [(code, *flags) for code in (BILINEAR, NEAREST) for flags in FLAGS
         if code is NEAREST or not all(flags)]  # fmt: skip


def model(
    code: str,
    old: Sequence[int],
    new: Sequence[int],
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    *,
    x: dict[str, Any] | None = None,
    y: dict[str, Any] | None = None,
) -> bytes:
    """Return a model of one operator; ``x`` and ``y`` say more of its tensors."""
    codes = {"scale": 0.5, "zero_point": 3}
    build = TfliteBuilder()
    image = build.tensor(old, **(codes | (x or {})))
    size = build.constant(np.array(new, np.int32))
    result = build.tensor((*old[:1], *new[:2], *old[3:]), **(codes | (y or x or {})))
    flags = {"alignCorners": align_corners, "halfPixelCenters": half_pixel_centers}
    build.operator(code, [image, size], [result], **flags)
    return build.build([image], [result])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("code", "align_corners", "half_pixel_centers"), KINDS)
def test_resized_images_equal_tflm(
    code: str, align_corners: bool, half_pixel_centers: bool, seed: int
) -> None:
    random = np.random.default_rng(seed)
    height, width, rows, columns = (int(n) for n in random.integers(1, 30, 4))
    codes = {"scale": random_scale(random), "zero_point": random_zero_point(random)}
    shape = (int(random.integers(1, 3)), height, width, int(random.integers(1, 9)))
    data = model(code, shape, (rows, columns), align_corners, half_pixel_centers, x=codes)
    compare(data, seed)


@pytest.mark.parametrize(("code", "align_corners", "half_pixel_centers"), KINDS)
def test_an_operator_becomes_one_op(
    code: str, align_corners: bool, half_pixel_centers: bool
) -> None:
    graph = tflite.load(model(code, (1, 2, 3, 4), (4, 7), align_corners, half_pixel_centers)).graph
    (node,) = graph.op_nodes
    kind = QResizeBilinear if code is BILINEAR else QResizeNearest
    assert node.op == kind(
        size=(4, 7), align_corners=align_corners, half_pixel_centers=half_pixel_centers
    )
    assert node.result.type.quant == graph.inputs[0].type.quant


def test_nearest_elements_of_uint8_are_copied() -> None:
    graph = tflite.load(model(NEAREST, (1, 2, 3, 4), (4, 6), x={"dtype": "uint8"})).graph
    assert QResizeNearest in {type(node.op) for node in graph.op_nodes}


@pytest.mark.parametrize(
    ("code", "options"),
    [
        (BILINEAR, {"align_corners": True, "half_pixel_centers": True}),
        (BILINEAR, {"x": {"dtype": "uint8"}}),
        (BILINEAR, {"y": {"scale": 0.25}}),
        (NEAREST, {"y": {"zero_point": 4}}),
        (NEAREST, {"x": {"dtype": "int16", "zero_point": 0}}),
    ],
    ids=str,
)  # fmt: skip
def test_refusals(code: str, options: dict[str, Any]) -> None:
    with raises(UnsupportedOpError):
        tflite.load(model(code, (1, 2, 3, 4), (4, 6), **options))


@pytest.mark.parametrize("old", [(2, 3, 4), (1, 2, 3, 4)])
def test_an_image_and_two_sizes_are_expected(old: tuple[int, ...]) -> None:
    with raises(FrontendError):
        tflite.load(model(NEAREST, old, (4, 6, 5)))


def test_positions_beyond_the_image_are_refused() -> None:
    with raises(UnsupportedOpError):
        tflite.load(model(BILINEAR, (1, 1, 1, 1), (1, 682)))
