"""Operators that move codes, against TensorFlow Lite Micro."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from malformed.tflite_models import RESHAPE_OP, set_operator

from rlx.frontends.tflite import frontend as tflite
from rlx.ops.q import QReshape
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder
from support.messages import raises
from support.references.tflite_compare import compare, random_codes

CODES = {"scale": 0.5, "zero_point": -7}


def check(
    code: str, shape: Any, out: Any, *constants: Any, version: int = 1, **options: Any
) -> None:
    """Compare an operator with one int8 input, constants behind it and one output."""
    model = TfliteBuilder()
    x = model.tensor(shape, **CODES)
    y = model.tensor(out, **CODES)
    given = [model.constant(np.array(c, np.int32)) for c in constants]
    model.operator(code, [x, *given], [y], version=version, **options)
    compare(model.build([x], [y]))


@pytest.mark.parametrize("wanted", [(6, 4), (-1, 4), (2, 3, -1), (24,), (1, 1, 24, 1, 1)])
def test_reshape_equals_tflm(wanted: tuple[int, ...]) -> None:
    out = np.zeros((2, 3, 4)).reshape(wanted).shape
    check("RESHAPE", (2, 3, 4), out, wanted)
    check("RESHAPE", (2, 3, 4), out, newShape=np.array(wanted, np.int32))


def reshape_of_its_own_shape(
    begin: int = 0, out: tuple[int, ...] = (2, 12), code: str = "PACK", *, shrink: int = 1
) -> bytes:
    """Return the operators that converters write for ``x.reshape(x.shape[0], -1)``."""
    model = TfliteBuilder()
    x = model.tensor((2, 3, 4), **CODES)
    shape = model.tensor((3,), "int32")
    batch = model.tensor(() if shrink else (1,), "int32")
    packed = model.tensor((2,), "int32")
    y = model.tensor(out, **CODES)
    bounds = [model.constant(np.array([v], np.int32)) for v in (begin, begin + 1, 1)]
    rest = model.constant(np.array(-1 if code == "PACK" else [-1], np.int32))
    model.operator("SHAPE", [x], [shape], outType=2)
    model.operator("STRIDED_SLICE", [shape, *bounds], [batch], shrinkAxisMask=shrink)
    options = {"valuesCount": 2} if code == "PACK" else {}
    model.operator(code, [batch, rest], [packed], axis=0, **options)
    model.operator("RESHAPE", [x, packed], [y])
    return model.build([x], [y])


def test_shapes_computed_at_run_time_equal_tflm() -> None:
    compare(reshape_of_its_own_shape())
    compare(reshape_of_its_own_shape(1, (3, 8)))
    compare(reshape_of_its_own_shape(code="CONCATENATION", shrink=0))
    (node,) = tflite.load(reshape_of_its_own_shape()).graph.op_nodes
    assert node.op == QReshape(shape=(2, 12))


@pytest.mark.parametrize(
    "data",
    [
        reshape_of_its_own_shape(3),
        reshape_of_its_own_shape(out=(4, 6)),
        reshape_of_its_own_shape(shrink=0, code="CONCATENATION", begin=7),
    ],
    ids=["index", "shape", "empty"],
)
def test_contradictions_of_computed_shapes_are_refused(data: bytes) -> None:
    with raises(FrontendError):
        tflite.load(data)


def _known(code: str, *inputs: int | list[int], out: tuple[int, ...], **options: Any) -> bytes:
    """Return a model with one operator on integers; the input -1 is int8's own shape."""
    model = TfliteBuilder()
    x = model.tensor((2, 3, 4), **CODES)
    shape, y = model.tensor((3,), "int32"), model.tensor(out, "int32")
    given = [shape if i == -1 else model.constant(np.array(i, np.int32)) for i in inputs]
    model.operator("SHAPE", [x], [shape])
    model.operator(code, given, [y], **options)
    return model.build([x], [y])


@pytest.mark.parametrize(
    "data",
    [
        _known("STRIDED_SLICE", -1, [0, 0], [1], [1], out=(1,)),
        _known("CONCATENATION", 1, -1, out=(4,)),
        _known("PACK", 1, 2, out=(2,), valuesCount=2),
    ],
    ids=["STRIDED_SLICE", "CONCATENATION", "PACK"],
)
def test_whole_numbers_are_checked(data: bytes) -> None:
    with raises((FrontendError, UnsupportedOpError)):
        tflite.load(data)


def test_reshape_without_options_equals_tflm() -> None:
    compare(set_operator(RESHAPE_OP, builtinOptions=None, builtinOptionsType=0))


@pytest.mark.parametrize(("axes", "out"), [([], (3, 4)), ([0], (3, 1, 4)), ([-2], (1, 3, 4))])
def test_squeeze_equals_tflm(axes: list[int], out: tuple[int, ...]) -> None:
    check("SQUEEZE", (1, 3, 1, 4), out, squeezeDims=np.array(axes, np.int32))


@pytest.mark.parametrize("axis", [0, 1, 3, -1, -2])
def test_expand_dims_equals_tflm(axis: int) -> None:
    check("EXPAND_DIMS", (2, 3, 4), np.expand_dims(np.zeros((2, 3, 4)), axis).shape, [axis])


@pytest.mark.parametrize("axes", [(0, 2, 1, 3), (3, 1, 2, 0), (0, 1, 2, 3), (1, 0), (0, 2, 1)])
def test_transpose_equals_tflm(axes: tuple[int, ...]) -> None:
    shape = (2, 3, 4, 5)[: len(axes)]
    check("TRANSPOSE", shape, [shape[a] for a in axes], axes)


@pytest.mark.parametrize(
    "widths", [((0, 0), (1, 2), (3, 0), (0, 0)), ((1, 0), (0, 0), (2, 1), (0, 4))]
)
def test_pad_equals_tflm(widths: tuple[tuple[int, int], ...]) -> None:
    shape = (1, 3, 2, 5)
    out = [n + b + a for n, (b, a) in zip(shape, widths, strict=True)]
    check("PAD", shape, out, widths)
    model = TfliteBuilder()
    x, y = model.tensor(shape, **CODES), model.tensor(out, **CODES)
    value = model.tensor((1,), data=[33], **CODES)
    model.operator("PADV2", [x, model.constant(np.array(widths, np.int32)), value], [y])
    compare(model.build([x], [y]))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_concatenation_equals_tflm(axis: int, count: int) -> None:
    random = np.random.default_rng(count)
    model, shapes = TfliteBuilder(), []
    for place in range(count):
        shapes.append([2, 3, 4])
        shapes[-1][axis] += place
    parts = [model.tensor(s, **CODES) for s in shapes]
    parts.append(model.constant(random_codes(random, (2, 3, 4)), **CODES))
    out = np.concatenate([np.zeros(s) for s in [*shapes, (2, 3, 4)]], axis).shape
    y = model.tensor(out, **CODES)
    model.operator("CONCATENATION", parts, [y], axis=axis)
    compare(model.build(parts[:-1], [y]))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_pack_and_unpack_equal_tflm(axis: int) -> None:
    model = TfliteBuilder()
    parts = [model.tensor((3, 4), **CODES) for _ in range(3)]
    y = model.tensor(np.stack([np.zeros((3, 4))] * 3, axis).shape, **CODES)
    model.operator("PACK", parts, [y], axis=axis, valuesCount=3)
    compare(model.build(parts, [y]))
    model = TfliteBuilder()
    x = model.tensor(np.stack([np.zeros((3, 4))] * 2, axis).shape, **CODES)
    made = [model.tensor((3, 4), **CODES) for _ in range(2)]
    model.operator("UNPACK", [x], made, axis=axis, num=2)
    compare(model.build([x], made))


@pytest.mark.parametrize(
    ("begin", "size"),
    [((0, 1, 2), (2, 1, 3)), ((1, 0, 0), (-1, -1, -1)), ((0, 2, 4), (1, 1, 1))],
)
def test_slice_equals_tflm(begin: tuple[int, ...], size: tuple[int, ...]) -> None:
    shape = (2, 3, 5)
    out = [n - b if s == -1 else s for b, s, n in zip(begin, size, shape, strict=True)]
    check("SLICE", shape, out, begin, size)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_split_equals_tflm(axis: int) -> None:
    model = TfliteBuilder()
    x = model.tensor((4, 6, 2), **CODES)
    out = np.split(np.zeros((4, 6, 2)), 2, axis)[0].shape
    made = [model.tensor(out, **CODES) for _ in range(2)]
    model.operator("SPLIT", [model.constant(np.array([axis], np.int32)), x], made, numSplits=2)
    compare(model.build([x], made))


@pytest.mark.parametrize("sizes", [(1, 3, 2), (1, -1, 4), (6,)])
def test_split_v_equals_tflm(sizes: tuple[int, ...]) -> None:
    model = TfliteBuilder()
    x = model.tensor((4, 6, 2), **CODES)
    full = [6 - sum(s for s in sizes if s != -1) if s == -1 else s for s in sizes]
    made = [model.tensor((4, n, 2), **CODES) for n in full]
    constants = [model.constant(np.array(v, np.int32)) for v in (sizes, [1])]
    model.operator("SPLIT_V", [x, *constants], made, numSplits=len(sizes))
    compare(model.build([x], made))
