"""Dimensions that a file leaves open: bound by samples, 1 for the batch, or asked for by name."""

import numpy as np
import pytest

import rlx
from rlx.frontends.open_shapes import DimensionSizes, OpenInput
from rlx.ir import Dim
from rlx.support.errors import UnsupportedOpError, UsageError
from support.files.onnx_builder import by_runtime, load, model, node
from support.messages import raises

RANDOM = np.random.default_rng(6)


def numbers(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


ACCEL = OpenInput("accel", ("batch", 3, "length"))


@pytest.mark.parametrize(
    ("samples", "sizes"),
    [
        ({"accel": (40, 3, 128)}, {"length": 128, "batch": 1}),
        ({"x": (40, 3, 128)}, {"length": 128, "batch": 1}),
        ({"accel": (5, 40, 3, 128)}, {"length": 128, "batch": 40}),
        ({"accel": (3, 128)}, {"length": 128, "batch": 1}),
    ],
)
def test_samples_say_how_large_dimensions_are(samples, sizes):
    fixer = DimensionSizes(samples)
    assert fixer.fix([ACCEL]) == sizes
    assert fixer.notes == []


def test_samples_may_be_channels_last():
    image = OpenInput("x", ("n", 3, "h", "w"))
    sizes = {"n": 1, "h": 24, "w": 32}
    assert DimensionSizes({"x": (9, 24, 32, 3)}, channels_last=True).fix([image]) == sizes
    assert DimensionSizes({"x": (9, 3, 24, 32)}, channels_last=True).fix([image]) == sizes
    with raises(UsageError):
        DimensionSizes({"x": (9, 24, 32, 3)}).fix([image])


def test_the_batch_is_one_and_said():
    fixer = DimensionSizes()
    assert fixer.fix([OpenInput("accel", ("batch", 3, 128))]) == {"batch": 1}
    assert fixer.notes == [
        "input 'accel' [batch, 3, 128]: the batch is 1 (--input-shape accel=4x3x128 for another)"
    ]


def test_what_nobody_knows_is_asked_for_by_its_own_name():
    with raises(UsageError):
        DimensionSizes().fix([ACCEL, OpenInput("mask", ("batch", "length"))])


@pytest.mark.parametrize(
    "inputs",
    [
        [OpenInput("nodes", ("n", 4)), OpenInput("edges", ("n", "n"))],
        [OpenInput("sound", ("n",))],
    ],
)
def test_a_first_dimension_that_is_no_batch_is_asked_for(inputs):
    with raises(UsageError):
        DimensionSizes().fix(inputs)


def test_a_batch_may_have_vectors_beside_it():
    inputs = [OpenInput("x", ("n", 4)), OpenInput("length", ("n",))]
    assert DimensionSizes().fix(inputs) == {"n": 1}


def of_batch(nodes, constants=None):
    """Return a network whose shapes follow from the batch, as exporters write it."""
    shape = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "n"),
        node("Unsqueeze", "n one", "b"),
    ]
    return model(
        [*shape, *nodes], {"x": ["N", 4]}, {"y": ["N", 4]},
        {"zero": np.array(0), "one": np.array([0]), "four": np.array([4]), **(constants or {})},
    )  # fmt: skip


NETWORKS = {
    "zeros": of_batch(
        [node("Concat", "b four", "c", axis=0), node("ConstantOfShape", "c", "z"),
         node("Sub", "x z")]
    ),
    "ones": of_batch(
        [node("Concat", "b four", "c", axis=0), node("Expand", "k c", "z"), node("Mul", "x z")],
        {"k": numbers(1, 4)},
    ),
    "a row for each": of_batch([node("Expand", "k s", "z"), node("Mul", "x z")], {"k": numbers(4)}),
    **{
        f"up to {end}": model(
            [node("Slice", "x starts ends axes", "t"), node("Relu", "t")],
            {"x": ["N", 4]}, {"y": ["N", 4]},
            {"starts": np.array([start, start]), "ends": np.array([end, end]),
             "axes": np.array([0, 1])},
        )
        for start, end in ((0, 10**9), (-(10**9), 2**31 - 1), (0, 2**63 - 1))
    },
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_shapes_that_follow_from_the_batch(name, tmp_path):
    data, x = NETWORKS[name], numbers(3, 4)
    (wanted,) = by_runtime(data, x)
    assert load(data).outputs[0].type.shape == (Dim("N"), 4)
    path = tmp_path / "net.onnx"
    path.write_bytes(data)
    for net in (path, rlx.load(path)):
        np.testing.assert_array_equal(rlx.run(net, x).values, wanted)
    whole = rlx.load(path, input_shape={"x": (3, 4)})
    np.testing.assert_array_equal(rlx.run(whole, x).values.reshape(3, 4), wanted)


@pytest.mark.parametrize(("start", "end", "step"), [(10**9, -(10**9), -1), (10**9, 2**40, 1)])
def test_bounds_beyond_an_axis_of_any_length(start, end, step):
    data = model(
        [node("Slice", "x starts ends axes steps")], {"x": ["N", 4]}, {"y": [None, 4]},
        {"starts": np.array([start]), "ends": np.array([end]), "axes": np.array([0]),
         "steps": np.array([step])},
    )  # fmt: skip
    x = numbers(3, 4)
    (wanted,) = by_runtime(data, x)
    graph = load(data, **({"input_shape": {"x": (3, 4)}} if step < 0 else {}))
    assert graph.outputs[0].type.shape == wanted.shape
    if step < 0:
        assert np.array_equal(rlx.run(graph, x[None]).values[0], wanted)


def test_what_fails_for_open_dimensions_does_not_accuse_the_file():
    data = model(
        [node("Reshape", "x to", "t"), node("Relu", "t")], {"x": ["n", 4]}, {"y": None},
        {"to": np.array([2, 4])},
    )  # fmt: skip
    with raises(UnsupportedOpError):
        load(data)
    assert load(data, input_shape={"x": (2, 4)}).outputs[0].type.shape == (2, 4)


@pytest.mark.parametrize("shape", [(3, 4), [3, 4], {"x": "3x4"}, {"x": np.array([3, 4])}, "x=3x4"])
def test_python_writes_a_shape_in_several_forms(tmp_path, shape):
    path = tmp_path / "net.onnx"
    path.write_bytes(model([node("Relu", "x")], {"x": ["n", "m"]}, {"y": ["n", "m"]}))
    assert rlx.load(path, input_shape=shape).graph.inputs[0].type.shape == (3, 4)


def test_a_shape_without_a_name_is_that_of_the_only_input(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(model([node("Add", "a b")], {"a": ["n"], "b": ["n"]}, {"y": ["n"]}))
    with raises(UsageError):
        rlx.load(path, input_shape=(3,))
    graph = rlx.load(path, input_shape=(3,), input_value={"b": 2}).graph
    assert [value.type.shape for value in graph.inputs] == [(3,)]


def test_python_names_options_and_values(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(model([node("Relu", "x")], {"x": ["n", 3, 4, 5]}, {"y": ["n", 3, 4, 5]}))
    graph = rlx.load(path, channels_last=True, input_shape="x=1x3x4x5").graph
    assert graph.inputs[0].type.shape == (1, 3, 4, 5)
    with raises(UsageError):
        rlx.load(path, channel_last=True)
    with raises(UsageError):
        rlx.load(path, input_shape="x:3")
    rlx.save(rlx.load(path), tmp_path / "net.rlx")
    with raises(UsageError):
        rlx.load(tmp_path / "net.rlx", channels_last=True)
