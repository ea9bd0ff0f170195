"""Operators on int8 that select, repeat or mirror, against TensorFlow Lite Micro."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder
from support.messages import raises
from support.references.oracle import codes
from support.references.tflite_compare import compare

CODES = {"scale": 0.5, "zero_point": -7}


def model_of(code: str, shape: Any, out: Any, *constants: Any, **options: Any) -> bytes:
    """Return a model of an operator with one input, constants behind it and one output."""
    model = TfliteBuilder()
    x, y = model.tensor(shape, name="x", **CODES), model.tensor(out, name="y", **CODES)
    lists = [model.constant(np.array(c, np.int32)) for c in constants]
    model.operator(code, [x, *lists], [y], **options)
    return model.build([x], [y])


def shape_of(random: np.random.Generator, ranks: int = 5) -> tuple[int, ...]:
    """Return a random shape of at least one and less than ``ranks`` axes."""
    return tuple(int(n) for n in random.integers(1, 7, random.integers(1, ranks)))


@pytest.mark.parametrize("seed", range(30))
def test_gather_equals_tflm(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = shape_of(random)
    axis = int(random.integers(0, len(shape)))
    batch = int(random.integers(0, axis + 1))
    lists = random.integers(0, shape[axis], (*shape[:batch], *random.integers(1, 4, seed % 3)))
    if batch == 0:
        out = np.take(np.zeros(shape), lists, axis).shape
    else:
        out = (*shape[:axis], *lists.shape[batch:], *shape[axis + 1 :])
    signed = axis - len(shape) if seed % 2 else axis
    compare(model_of("GATHER", shape, out, lists, axis=signed, batchDims=batch), seed)


@pytest.mark.parametrize("seed", range(20))
def test_gather_nd_equals_tflm(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = shape_of(random)
    count = int(random.integers(1, len(shape) + 1))
    places = random.integers(0, shape[:count], (*random.integers(1, 4, 1 + seed % 2), count))
    out = np.zeros(shape)[tuple(np.moveaxis(places, -1, 0))].shape
    compare(model_of("GATHER_ND", shape, out, places), seed)


@pytest.mark.parametrize("seed", range(20))
def test_reverse_equals_tflm(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = shape_of(random)
    first = int(random.integers(0, len(shape)))
    axes = np.arange(first, random.integers(first + 1, len(shape) + 1))
    axes = axes - len(shape) if seed % 2 else axes
    compare(model_of("REVERSE_V2", shape, shape, axes), seed)


def test_reversed_axes_with_others_between_equal_numpy() -> None:
    """TensorFlow Lite Micro refuses them."""
    x = codes(1, (2, 3, 4))
    graph = tflite.load(model_of("REVERSE_V2", x.shape, x.shape, [2, 0])).graph
    (found,) = evaluate(graph, {"x": x})
    assert np.array_equal(found, np.flip(x, (0, 2)))


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
@pytest.mark.parametrize("seed", range(10))
def test_mirror_pad_equals_tflm(seed: int, mode: str) -> None:
    random = np.random.default_rng(seed)
    shape = shape_of(random)
    most = [n - (mode == "reflect") for n in shape]
    widths = random.integers(0, most, (2, len(shape)), endpoint=True).T
    out = [n + int(w.sum()) for n, w in zip(shape, widths, strict=True)]
    number = ["reflect", "symmetric"].index(mode)
    compare(model_of("MIRROR_PAD", shape, out, widths, mode=number), seed)


@pytest.mark.parametrize("seed", range(10))
def test_broadcast_to_equals_tflm(seed: int) -> None:
    random = np.random.default_rng(seed)
    out = shape_of(random)
    given = [1 if random.random() < 0.5 else n for n in out]
    given = given[random.integers(0, len(out)) :] if seed % 2 else given
    compare(model_of("BROADCAST_TO", given, out, out), seed)


@pytest.mark.parametrize("repeats", [(1, 1, 1), (2, 1, 3), (1, 65, 1), (1, 200, 1), (70, 1, 2)])
def test_tile_equals_numpy(repeats: tuple[int, ...]) -> None:
    x = codes(1, (2, 3, 4))
    out = np.tile(x, repeats)
    graph = tflite.load(model_of("TILE", x.shape, out.shape, repeats)).graph
    (found,) = evaluate(graph, {"x": x})
    assert np.array_equal(found, out)


def test_a_selection_that_changes_nothing_equals_tflm() -> None:
    compare(model_of("REVERSE_V2", (2, 1), (2, 1), [1]))
    compare(model_of("MIRROR_PAD", (2, 3), (2, 3), [[0, 0], [0, 0]], mode=0))


def computed() -> bytes:
    """Return a ``GATHER`` of int8 by indices that are an input."""
    model = TfliteBuilder()
    x, y = model.tensor((4, 3), **CODES), model.tensor((2, 3), **CODES)
    indices = model.tensor((2,), "int32")
    model.operator("GATHER", [x, indices], [y], axis=0)
    return model.build([x, indices], [y])


SCATTERED = np.random.default_rng(3).permutation(300)
UNSUPPORTED = {
    "computed indices": computed(),
    "many runs": model_of("GATHER", (300, 2), (300, 2), SCATTERED, axis=0),
}
CONTRADICTIONS = {
    "gather beyond": model_of("GATHER", (4, 3), (1, 3), [4], axis=0),
    "gather batch": model_of("GATHER", (4, 3), (4, 1), [[0]] * 3, axis=1, batchDims=1),
    "gather batch after axis": model_of("GATHER", (4, 3), (1, 3), [[0]], axis=0, batchDims=1),
    "gather_nd beyond": model_of("GATHER_ND", (4, 3), (1,), [[0, 3]]),
    "gather_nd of many axes": model_of("GATHER_ND", (4, 3), (1,), [[0, 0, 0]]),
    "gather_nd of no axis": model_of("GATHER_ND", (4, 3), (1,), 0),
    "broadcast": model_of("BROADCAST_TO", (2, 3), (4, 3), (4, 3)),
    "broadcast of more axes": model_of("BROADCAST_TO", (1, 2, 3), (2, 3), (2, 3)),
    "mirror": model_of("MIRROR_PAD", (2, 3), (2, 6), [[0, 0], [3, 0]], mode=0),
    "shape": model_of("GATHER", (4, 3), (1, 4), [0], axis=0),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_selections_without_a_form_are_refused(name: str) -> None:
    with raises(UnsupportedOpError):
        tflite.load(UNSUPPORTED[name])


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictions_are_refused(name: str) -> None:
    with raises(FrontendError):
        tflite.load(CONTRADICTIONS[name])
