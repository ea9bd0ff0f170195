"""Elementwise operators that compare, against TensorFlow Lite Micro."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlx.driver.exporters import export
from rlx.frontends.onnx import frontend as onnx
from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.ops.q import QPrelu
from rlx.passes.dead_code import DeadCode
from rlx.support.errors import ModelWarning, UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder, run_tflm
from support.messages import raises, warns
from support.references.litert import run_reference
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


RELATIONS = ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
CODES = np.arange(-128, 128, dtype=np.int8)


def evaluated(data: bytes, *inputs: np.ndarray) -> np.ndarray:
    graph = tflite.load(data).graph
    (result,) = evaluate(graph, dict(zip((v.name for v in graph.inputs), inputs, strict=True)))
    return result


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("code", RELATIONS)
def test_relations_of_all_pairs_equal_tflm(code: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    model = TfliteBuilder()
    scale = random_scale(random, 1e-3, 0.99)
    scales = (scale, scale if seed % 2 else float(np.float32(scale * random.uniform(0.5, 1))))
    x, y = (
        model.tensor(shape, scale=s, zero_point=random_zero_point(random))
        for shape, s in zip(((256, 1), (1, 256)), scales, strict=True)
    )
    z = model.tensor((256, 256), "bool")
    model.operator(code, [x, y], [z])
    data, pairs = model.build([x, y], [z]), (CODES.reshape(256, 1), CODES.reshape(1, 256))
    np.testing.assert_array_equal(evaluated(data, *pairs), run_tflm(data, *pairs)[0])


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("code", RELATIONS)
def test_relations_with_a_constant_are_tables(code: str, first: bool) -> None:
    model = TfliteBuilder()
    x = model.tensor((1, 256), scale=0.1, zero_point=3)
    y = model.constant(np.array([7], np.int8), scale=0.09, zero_point=-2)
    z = model.tensor((1, 256), "bool")
    model.operator(code, [y, x] if first else [x, y], [z])
    data = model.build([x], [z])
    assert [n.op.name for n in tflite.load(data).graph.op_nodes] == ["q.table", "real.cast"]
    codes = CODES.reshape(1, 256)
    np.testing.assert_array_equal(evaluated(data, codes), run_tflm(data, codes)[0])


def test_relations_of_scales_from_1_are_refused() -> None:
    model = TfliteBuilder()
    x, y = (model.tensor((4,), scale=1.0, zero_point=0) for _ in range(2))
    z = model.tensor((4,), "bool")
    model.operator("LESS", [x, y], [z])
    with raises(UnsupportedOpError):
        tflite.load(model.build([x, y], [z]))


@pytest.mark.parametrize("seed", range(len(SHAPES)))
@pytest.mark.parametrize("same", [True, False])
def test_select_equals_tflm(seed: int, same: bool) -> None:
    random = np.random.default_rng(seed)
    first, second = SHAPES[seed] if seed % 2 else SHAPES[seed][::-1]
    shape = np.broadcast_shapes(first, second)
    params = [{"scale": 0.1 + 0.1 * i * (not same), "zero_point": 3} for i in range(3)]
    model = TfliteBuilder()
    condition = model.tensor(shape if seed % 3 else first, "bool")
    x, y = (model.tensor(s, **p) for s, p in zip((first, second), params, strict=False))
    z = model.tensor(shape, **params[2])
    model.operator("SELECT_V2", [condition, x, y], [z])
    data = model.build([condition, x, y], [z])
    flags = random.integers(0, 2, shape if seed % 3 else first).astype(bool)
    inputs = flags, random_codes(random, first), random_codes(random, second)
    with nullcontext() if same else warns(ModelWarning):
        result = evaluated(data, *inputs)
    np.testing.assert_array_equal(result, run_tflm(data, *inputs)[0])


@pytest.mark.parametrize("code", RELATIONS)
def test_values_chosen_by_a_relation_equal_tflm(code: str) -> None:
    model = TfliteBuilder()
    params = {"scale": 0.1, "zero_point": -3}
    x, y = model.tensor((256, 1), **params), model.tensor((1, 256), scale=0.09, zero_point=5)
    threshold = model.constant(np.array([7], np.int8), **params)
    condition, z = model.tensor((256, 256), "bool"), model.tensor((256, 256), **params)
    model.operator(code, [x, y], [condition])
    model.operator("SELECT_V2", [condition, x, threshold], [z])
    data, pairs = model.build([x, y], [z]), (CODES.reshape(256, 1), CODES.reshape(1, 256))
    # Nothing reads the condition as booleans.
    ops = {node.op.name for node in DeadCode().apply(tflite.load(data).graph).op_nodes}
    assert ops == {"q.sub", "q.table", "q.minimum", "q.maximum"}
    np.testing.assert_array_equal(evaluated(data, *pairs), run_tflm(data, *pairs)[0])


def test_values_chosen_by_a_threshold_are_written_to_files() -> None:
    """The relation is a table, and nothing of it is left that files cannot have."""
    params = {"scale": 0.1, "zero_point": -3}
    model = TfliteBuilder()
    x, y = (model.tensor((1, 256), **params) for _ in range(2))
    threshold = model.constant(np.array([7], np.int8), **params)
    condition, z = model.tensor((1, 256), "bool"), model.tensor((1, 256), **params)
    model.operator("GREATER", [x, threshold], [condition])
    model.operator("SELECT_V2", [condition, x, y], [z])
    data, values = model.build([x, y], [z]), (CODES.reshape(1, 256), CODES[::-1].reshape(1, 256))
    graph = tflite.load(data).graph
    (expected,) = run_tflm(data, *values)
    np.testing.assert_array_equal(run_tflm(export(graph, Path("a.tflite")).content, *values)[0],
                                  expected)  # fmt: skip
    read = onnx.load(export(graph, Path("a.onnx")).content).graph
    names = (v.name for v in read.inputs)
    (found,) = evaluate(read, dict(zip(names, values, strict=True)))
    np.testing.assert_array_equal(found, expected)


def test_a_constant_condition_and_slices_equal_litert() -> None:
    random = np.random.default_rng(3)
    params = {"scale": 0.1, "zero_point": -3}
    model = TfliteBuilder()
    condition = model.constant(np.array([True, False, True]))
    x, y, z = (model.tensor((3, 4), **params) for _ in range(3))
    model.operator("SELECT", [condition, x, y], [z])
    data = model.build([x, y], [z])
    inputs = random_codes(random, (3, 4)), random_codes(random, (3, 4))
    np.testing.assert_array_equal(evaluated(data, *inputs), run_reference(data, *inputs)[0])
