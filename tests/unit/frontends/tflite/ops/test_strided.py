from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.support.errors import FrontendError, ModelWarning
from support.files.tflite_builder import TfliteBuilder
from support.messages import raises, warns
from support.references.oracle import codes
from support.references.tflite_compare import compare

CODES = {"scale": 0.5, "zero_point": -7}


def strided(shape: Any, out: Any, *bounds: Any, **options: Any) -> bytes:
    """Return a model of ``STRIDED_SLICE`` with begin, end and stride."""
    model = TfliteBuilder()
    x, y = model.tensor(shape, name="x", **CODES), model.tensor(out, name="y", **CODES)
    constants = [model.constant(np.array(c, np.int32)) for c in bounds]
    model.operator("STRIDED_SLICE", [x, *constants], [y], **options)
    return model.build([x], [y])


def drawn(random: np.random.Generator) -> bytes:
    """Return a model whose bounds, masks and strides are random, and whose result has elements."""
    while True:
        shape = tuple(int(n) for n in random.integers(1, 7, random.integers(1, 5)))
        begin, end = (random.integers(-9, 9, len(shape)).tolist() for _ in range(2))
        step = random.choice([-3, -2, -1, 1, 1, 2, 3], len(shape)).tolist()
        masks = {name: int(random.integers(0, 16)) for name in ("beginMask", "endMask")}
        shrink = int(random.choice([0, 0, 1, 2, 5, 10])) & ((1 << len(shape)) - 1)
        index: list[Any] = []
        for axis, size in enumerate(shape):
            bit = 1 << axis
            first = None if masks["beginMask"] & bit else begin[axis]
            if shrink & bit:
                begin[axis] %= size
                index.append(0 if first is None else begin[axis])
                step[axis] = 1
                continue
            index.append(slice(first, None if masks["endMask"] & bit else end[axis], step[axis]))
        out = np.zeros(shape)[tuple(index)].shape
        if 0 not in out:
            return strided(shape, out, begin, end, step, **masks, shrinkAxisMask=shrink)


@pytest.mark.parametrize("seed", range(8))
def test_random_slices_equal_tflm(seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(40):
        compare(drawn(random), seed, runs=1)


def test_a_long_reversed_axis_equals_tflm() -> None:
    compare(strided((2, 224, 3), (2, 223, 3), [0, -1, 0], [2, 0, 3], [1, -1, 1]))


HONOURED: dict[str, tuple[Any, ...]] = {
    "ellipsis": (np.s_[..., 1:3], (2, 3, 4), [0, 1], [0, 3], [1, 1], {"ellipsisMask": 1}),
    "ellipsis of no axis": (np.s_[1, ..., 0:2], (2, 4), [1, 0, 0], [2, 0, 2], [1, 1, 1],
                            {"ellipsisMask": 2, "shrinkAxisMask": 1}),
    "new axis": (np.s_[None, 1:], (2, 3), [0, 1], [0, 2], [1, 1], {"newAxisMask": 1}),
    "new axes": (np.s_[None, ..., None], (2, 3), [0] * 3, [0] * 3, [1] * 3,
                 {"newAxisMask": 5, "ellipsisMask": 2}),
    "offset": (np.s_[1:2, 2:4], (2, 4), [1, 2], [1, 2], [1, 1], {"offset": True}),
    "fewer entries": (np.s_[1:], (2, 3), [1], [2], [1], {}),
    "five axes": (np.s_[:, :, :, ::-1], (1, 2, 1, 3, 2), [0] * 5, [0] * 5, [1, 1, 1, -1, 1],
                  {"beginMask": 31, "endMask": 31}),
}  # fmt: skip
"""Models that TFLM refuses, by their shape or their rank."""


@pytest.mark.parametrize("name", HONOURED)
def test_what_tflm_refuses_equals_numpy(name: str) -> None:
    index, shape, *bounds, options = HONOURED[name]
    x = codes(1, shape)
    graph = tflite.load(strided(shape, x[index].shape, *bounds, **options)).graph
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (found,) = evaluate(graph, {"x": x})
    assert np.array_equal(found, x[index])


@pytest.mark.parametrize(
    ("out", "bounds", "options"),
    [
        ((2, 3), ([1, 0], [3, 3], [1, 1]), {"offset": True}),
        ((4, 3), ([3, 0], [-5, 3], [-1, 1]), {"ellipsisMask": 1}),
    ],
)
def test_options_that_tflm_ignores_are_ignored_with_a_warning(
    out: Any, bounds: Any, options: dict[str, int]
) -> None:
    data = strided((4, 3), out, *bounds, **options)
    with warns(ModelWarning):
        tflite.load(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        compare(data)


def test_options_that_change_nothing_are_not_warned_of() -> None:
    data = strided((4, 3), (4, 3), [0, 0], [4, 3], [1, 1], ellipsisMask=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(data)


@pytest.mark.parametrize(
    ("out", "bounds", "options"),
    [
        ((4, 3), ([0, 0], [4, 3], [1, 0]), {}),
        ((4, 3), ([0, 0], [4, 3], [1]), {}),
        ((4, 3), ([0, 0, 0], [4, 3, 1], [1, 1, 1]), {}),
        ((4, 3), ([0] * 3, [1] * 3, [1] * 3), {"ellipsisMask": 8}),
        ((3,), ([4, 0], [5, 3], [1, 1]), {"shrinkAxisMask": 1}),
        ((4, 1), ([0, 2], [4, 2], [1, -1]), {}),
        ((2, 3), ([0, 0], [4, 3], [1, 1]), {"newAxisMask": 1}),
    ],
)
def test_contradictions_are_refused(out: Any, bounds: Any, options: dict[str, int]) -> None:
    with raises(FrontendError):
        tflite.load(strided((4, 3), out, *bounds, **options))
