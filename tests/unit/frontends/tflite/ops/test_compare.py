"""Elementwise operators that compare, against TensorFlow Lite Micro."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ops.q import QPrelu
from rlx.support.errors import ModelWarning, UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder
from support.messages import raises, warns
from support.references.tflite_compare import compare, random_codes, random_scale, random_zero_point

SHAPES = (
    ((2, 3, 4, 5), (2, 3, 4, 5)),
    ((1, 3, 4, 5), (1, 1, 1, 5)),
    ((1, 3, 1, 5), (1, 1, 4, 1)),
    ((1, 4, 7), (7,)),
    ((6,), ()),
    ((), ()),
    ((3, 1), (3, 8)),
    ((2, 1, 2, 3, 2), (1, 3, 2)),
)
SLOPES = (
    ((1, 3, 4, 5), (1, 1, 5)),
    ((2, 3, 4, 5), (1, 1, 1, 5)),
    ((1, 3, 4, 5), (5,)),
    ((1, 3, 4, 5), (1, 1, 1)),
    ((2, 7), (7,)),
    ((2, 4, 3), (1, 3)),
    ((4,), ()),
    ((2, 3, 1), (1, 1)),
)


@pytest.mark.parametrize("seed", range(len(SHAPES)))
@pytest.mark.parametrize("code", ["MAXIMUM", "MINIMUM"])
def test_extreme_equals_tflm(code: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    first, second = SHAPES[seed] if seed % 2 else SHAPES[seed][::-1]
    codes = {"scale": random_scale(random), "zero_point": random_zero_point(random)}
    model = TfliteBuilder()
    x, y = model.tensor(first, **codes), model.tensor(second, **codes)
    result = model.tensor(np.broadcast_shapes(first, second), **codes)
    model.operator(code, [x, y], [result])
    compare(model.build([x, y], [result]), seed)


@pytest.mark.parametrize("code", ["MAXIMUM", "MINIMUM"])
def test_extreme_with_constant_equals_tflm(code: str) -> None:
    random = np.random.default_rng(7)
    codes = {"scale": 0.05, "zero_point": -3}
    model = TfliteBuilder()
    x = model.tensor((1, 4, 4, 3), **codes)
    y = model.constant(random_codes(random, (3,)), **codes)
    result = model.tensor((1, 4, 4, 3), **codes)
    model.operator(code, [y, x], [result])
    compare(model.build([x], [result]))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("code", ["MAXIMUM", "MINIMUM"])
def test_extreme_of_other_scales_equals_tflm_with_a_warning(code: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    model = TfliteBuilder()
    x, y, z = (
        model.tensor((2, 5), scale=random_scale(random), zero_point=random_zero_point(random))
        for _ in range(3)
    )
    model.operator(code, [x, y], [z])
    with warns(ModelWarning):
        compare(model.build([x, y], [z]))


def prelu(
    random: np.random.Generator, x: tuple[int, ...], slopes: tuple[int, ...], **codes: Any
) -> bytes:
    model = TfliteBuilder()
    given = model.tensor(x, scale=random_scale(random), zero_point=random_zero_point(random))
    own = {"scale": random_scale(random), "zero_point": random_zero_point(random), **codes}
    constant = model.constant(random_codes(random, slopes), **own)
    result = model.tensor(
        x, scale=random_scale(random, 1e-2, 1), zero_point=random_zero_point(random)
    )
    model.operator("PRELU", [given, constant], [result])
    return model.build([given], [result])


@pytest.mark.parametrize("seed", range(24))
def test_prelu_equals_tflm(seed: int) -> None:
    x, slopes = SLOPES[seed % len(SLOPES)]
    compare(prelu(np.random.default_rng(seed), x, slopes), seed)


def test_one_slope_serves_all_channels() -> None:
    graph = tflite.load(prelu(np.random.default_rng(1), (1, 2, 2, 3), (1, 1, 1))).graph
    (node,) = graph.op_nodes
    assert isinstance(node.op, QPrelu)
    assert node.operands[1].type.shape == (3,)


@pytest.mark.parametrize(
    ("x", "slopes"), [((1, 3, 4, 5), (3, 4, 5)), ((1, 4, 5), (4, 1)), ((), ())]
)
def test_slopes_that_differ_over_the_image_are_refused(
    x: tuple[int, ...], slopes: tuple[int, ...]
) -> None:
    with raises(UnsupportedOpError):
        tflite.load(prelu(np.random.default_rng(1), x, slopes))
