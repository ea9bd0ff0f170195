"""Forms that operators had in old versions: the suite of the standard has the newest ones only."""

import numpy as np
import pytest

from rlx.ir import Dim
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.onnx_builder import by_runtime, load, model, node, onnx, run
from support.messages import raises

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((2, 3, 4, 6)).astype(np.float32)


def check(data, *arrays):
    for ours, theirs in zip(run(data, *arrays), by_runtime(data, *arrays), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("opset", "attributes"),
    [
        (9, {"type_": "Slice", "starts": [0, -3], "ends": [9, -1], "axes": [1, 3]}),
        (9, {"type_": "Slice", "starts": [1, 1], "ends": [2, 2]}),
        (9, {"type_": "Squeeze", "axes": [0]}),
        (9, {"type_": "Unsqueeze", "axes": [0, 4]}),
        (9, {"type_": "Pad", "pads": [0, 0, 1, 2, 0, 0, 3, 0], "value": 1.5}),
        (9, {"type_": "Pad", "pads": [0, 0, 1, 2, 0, 0, 3, 0], "mode": "reflect"}),
        (9, {"type_": "Pad", "pads": [0, 0, -1, 2, 0, 0, 0, -1], "mode": "edge"}),
        (9, {"type_": "ReduceSum", "axes": [1, -1], "keepdims": 0}),
        (9, {"type_": "ReduceMean", "axes": [2]}),
        (12, {"type_": "ReduceL2"}),
        (12, {"type_": "ReduceLogSumExp", "axes": [1], "keepdims": 0}),
        (9, {"type_": "ArgMax", "axis": 2, "keepdims": 0}),
        (9, {"type_": "Clip", "min": -0.5, "max": 0.25}),
        (9, {"type_": "Softmax", "axis": 1}),
        (9, {"type_": "LogSoftmax", "axis": 2}),
        (9, {"type_": "Flatten", "axis": 2}),
        (9, {"type_": "Cast", "to": 7}),
        (9, {"type_": "DepthToSpace", "blocksize": 1}),
        (9, {"type_": "SpaceToDepth", "blocksize": 2}),
        (9, {"type_": "GlobalLpPool", "p": 2}),
    ],
    ids=lambda p: p["type_"] if isinstance(p, dict) else str(p),
)
def test_attributes_of_old_versions(opset, attributes):
    attributes = dict(attributes)
    x = X[:1] if attributes["type_"] == "Squeeze" else X
    kinds = {"ArgMax": np.int64, "Cast": np.int64}
    kind = kinds.get(attributes["type_"], np.float32)
    made = node(attributes.pop("type_"), "x", **attributes)
    data = model([made], {"x": list(x.shape)}, {"y": (None, kind)}, opset=opset)
    check(data, x)


@pytest.mark.parametrize("opset", [9, 10])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", [[1, 1, 2, 2], [1, 1, 1.5, 0.5]])
def test_images_of_another_size(opset, mode, scales):
    type_ = "Upsample" if opset == 9 else "Resize"
    if type_ == "Upsample":
        scales = [max(s, 1.0) for s in scales]
    data = model(
        [node(type_, "x s", mode=mode)], {"x": list(X.shape)}, {"y": None},
        {"s": np.array(scales, np.float32)}, opset=opset,
    )  # fmt: skip
    check(data, X)


@pytest.mark.parametrize("opset", [9, 10, 11])
def test_the_greatest_numbers(opset):
    given = {"k": 2} if opset == 9 else {}
    names = "x" if opset == 9 else "x k"
    constants = {} if opset == 9 else {"k": np.array([2])}
    data = model(
        [node("TopK", names, "v i", axis=1, **given)],
        {"x": list(X.shape)}, {"v": None, "i": (None, np.int64)}, constants, opset=opset,
    )  # fmt: skip
    check(data, X)


@pytest.mark.parametrize("opset", [9, 13])
def test_parts_of_given_and_of_equal_size(opset):
    sizes = np.array([1, 2, 3])
    given = {"split": sizes.tolist()} if opset == 9 else {}
    nodes = [
        node("Split", "x" if opset == 9 else "x s", "a b c", axis=3, **given),
        node("Split", "x", "d e", axis=2),
    ]
    outputs = dict.fromkeys("abcde")
    constants = {} if opset == 9 else {"s": sizes}
    check(model(nodes, {"x": list(X.shape)}, outputs, constants, opset=opset), X)


@pytest.mark.parametrize("opset", [9, 11])
def test_scatter_had_another_name(opset):
    type_ = "Scatter" if opset == 9 else "ScatterElements"
    places = np.array([[[[0, 1, -1, 3, 2, 5]]]] if opset == 11 else [[[[0, 1, 4, 3, 2, 5]]]])
    data = model(
        [node(type_, "x i u", axis=3)], {"x": list(X.shape), "u": [1, 1, 1, 6]}, {"y": None},
        {"i": places}, opset=opset,
    )  # fmt: skip
    check(data, X, X[:1, :1, :1] * 9)


@pytest.mark.parametrize(
    ("base", "exponent"),
    [
        (np.float32, np.int64),
        (np.int32, np.float32),
        (np.int64, np.int32),
        (np.float32, np.float32),
    ],
)
def test_powers_of_mixed_types(base, exponent):
    x, y = np.array([2, 3, 4]).astype(base), np.array([3, 2, 1]).astype(exponent)
    data = model(
        [node("Pow", "x e")], {"x": ([3], base), "e": ([3], exponent)}, {"y": ([3], base)},
        opset=13,
    )  # fmt: skip
    check(data, x, y)


@pytest.mark.parametrize("exponent", [2.0, 0.5, 1.0, 3.0])
def test_powers_by_a_constant(exponent):
    data = model(
        [node("Pow", "x e")], {"x": [6]}, {"y": [6]}, {"e": np.array(exponent, np.float32)}
    )
    check(data, np.abs(X[0, 0, 0]))


N = Dim("n")


@pytest.mark.parametrize(
    ("made", "constants", "shape"),
    [
        (node("Slice", "x a b c", "y"), {"a": [1], "b": [2**63 - 1], "c": [1]}, (N, 3, 4)),
        (node("Slice", "x a b c", "y"), {"a": [1], "b": [-1], "c": [0]}, (N - 2, 4, 4)),
        (node("Expand", "x a", "y"), {"a": [2, 1, 4, 1]}, (2, N, 4, 4)),
        (node("Concat", "x x", "y", axis=0), {}, (2 * N, 4, 4)),
        (node("Tile", "x a", "y"), {"a": [3, 1, 1]}, (3 * N, 4, 4)),
        (node("Pad", "x a", "y"), {"a": [1, 0, 0, 1, 0, 0]}, (N + 2, 4, 4)),
        (node("ReduceMax", "x a", "y", keepdims=0), {"a": [1]}, (N, 4)),
        (node("Gather", "x a", "y", axis=1), {"a": [[0, 1]]}, (N, 1, 2, 4)),
        (node("Trilu", "x", "y"), {}, (N, 4, 4)),
        (node("CumSum", "x a", "y"), {"a": 0}, (N, 4, 4)),
        (node("Einsum", "x x", "y", equation="nij,njk->nik"), {}, (N, 4, 4)),
        (node("Flatten", "x", "y"), {}, (N, 16)),
        (node("Resize", "x _ a", "y", mode="linear"), {"a": np.float32([1, 1, 2])}, None),
    ],
    ids=lambda p: getattr(p, "op_type", None),
)
def test_dimensions_stay_symbols(made, constants, shape):
    arrays = {k: np.asarray(v) for k, v in constants.items()}
    data = model([made], {"x": ["n", 4, 4]}, {"y": None}, arrays)
    if shape is None:
        with raises(UnsupportedOpError):
            load(data)
        return
    assert load(data).outputs[0].type.shape == shape
    x = RANDOM.standard_normal((3, 4, 4)).astype(np.float32)
    check(data, x)


@pytest.mark.parametrize(
    ("made", "constants"),
    [
        (node("Slice", "x a b c d"), {"a": [0], "b": [1], "c": [0], "d": [0]}),
        (node("Slice", "x a b c"), {"a": [0, 0], "b": [1, 1], "c": [0, -3]}),
        (node("Slice", "x a b"), {"a": [0, 1], "b": [1]}),
        (node("Split", "x a", "y z"), {"a": [1, 2]}),
        (node("Split", "x", "y z", num_outputs=3), {}),
        (node("Expand", "x a"), {"a": [3, 4, 4]}),
        (node("Pad", "x a"), {"a": [1, 2]}),
        (node("Pad", "x a"), {"a": [0, 0, 0, 2**40, 0, 0]}),
        (node("Pad", "x a", mode="round"), {"a": [0] * 6}),
        (node("Tile", "x a"), {"a": [2**40, 1, 1]}),
        (node("TopK", "x a", "y z"), {"a": [9]}),
        (node("CumSum", "x a"), {"a": 5}),
        (node("Einsum", "x", equation="ij->ij"), {}),
        (node("Einsum", "x x", equation="ijk->i"), {}),
        (node("Einsum", "x", equation="ijk->z"), {}),
        (node("BitShift", "x x", direction="UP"), {}),
        (node("OneHot", "x a b"), {"a": [0], "b": [0.0, 1.0]}),
        (node("GatherND", "x a"), {"a": np.zeros((1, 4), int)}),
        (node("ScatterND", "x a x"), {"a": [[0]]}),
        (node("Resize", "x _ a"), {"a": np.float32([1, 1])}),
        (node("Resize", "x _ a"), {"a": np.float32([1, 1, -2])}),
        (node("Resize", "x _ a"), {"a": np.float32([1, 1, np.nan])}),
        (
            node("Resize", "x _ a", keep_aspect_ratio_policy="not_larger"),
            {"a": np.float32([1, 1, 2])},
        ),
        (node("Resize", "x _ _ a"), {"a": [2, 4, 0]}),
        (node("Resize", "x _ _ a"), {"a": [2, 4, 2**40]}),
        (node("Range", "a b c"), {"a": 0.0, "b": 1e30, "c": 1e-9}),
        (node("Range", "a b c"), {"a": 0, "b": 9, "c": 0}),
        (node("ConstantOfShape", "a"), {"a": [2**20, 2**20]}),
        (node("ConstantOfShape", "a"), {"a": [-4]}),
        (node("Cast", "x", to=99), {}),
        (node("Compress", "x a", axis=5), {"a": [True]}),
    ],
    ids=lambda p: getattr(p, "op_type", None),
)
def test_nodes_that_contradict_themselves(made, constants):
    arrays = {k: np.asarray(v) for k, v in constants.items()}
    outputs = dict.fromkeys(made.output)
    data = model([made], {"x": [2, 4, 4]}, outputs, arrays)
    with raises(FrontendError):
        load(data)


def test_what_depends_on_values_is_refused():
    for made in (
        node("NonZero", "x"), node("Compress", "x c"), node("Reshape", "x s"), node("Unique", "x"),
        node("Cast", "x", to=24), node("DFT", "z s", inverse=1),
    ):  # fmt: skip
        data = model(
            [made],
            {"x": [4], "z": [1, 4, 2], "c": ([4], np.bool_), "s": ([1], np.int64)},
            {"y": None},
            opset=17,
        )
        with raises(UnsupportedOpError):
            load(data)


def test_weights_of_an_image_that_shrinks_are_limited():
    made = node("Resize", "x _ _ a", mode="linear", antialias=1)
    data = model([made], {"x": [1, 2**22]}, {"y": None}, {"a": np.array([1, 2**20])})
    with raises(FrontendError):
        load(data)


def test_many_taps_are_a_matrix():
    made = node("Resize", "x _ _ a", mode="linear", antialias=1)
    x = RANDOM.standard_normal((2, 3, 64, 5)).astype(np.float32)
    data = model([made], {"x": list(x.shape)}, {"y": None}, {"a": np.array([2, 3, 4, 5])})
    assert "real.matmul" in {n.op.name for n in load(data).op_nodes}
    check(data, x)


@pytest.mark.parametrize(
    ("made", "constants"),
    [
        (node("TopK", "x k", "y z", sorted=0), {"k": [1]}),
        (node("ReduceSum", "x k", noop_with_empty_axes=1), {"k": [1]}),
        (node("Clip", "x"), {}),
    ],
    ids=lambda p: getattr(p, "op_type", None),
)  # fmt: skip
def test_attributes_that_change_nothing_here(made, constants):
    arrays = {k: np.asarray(v) for k, v in constants.items()}
    outputs = {"y": None, "z": (None, np.int64)}
    wanted = {n: outputs[n] for n in made.output}
    check(model([made], {"x": [3, 4]}, wanted, arrays), RANDOM.random((3, 4), np.float32))


def test_only_narrow_floats_saturate():
    data = model([node("Cast", "x", to=10, saturate=0)], {"x": [2]}, {"y": ([2], np.float16)})
    (y,) = run(data, np.array([1e9, 1.5], np.float32))
    assert y.tolist() == [np.inf, 1.5]


def test_a_shape_with_minus_ones_that_an_exporter_replaces():
    """PyTorch writes expand(-1, 3, -1) so: 1 where the wanted shape has -1."""
    nodes = [
        node("Shape", "w", "n"),
        node("ConstantOfShape", "n", "ones", value=onnx.helper.make_tensor("v", 7, [1], [1])),
        node("Mul", "ones minus", "all"),
        node("Equal", "wanted all", "same"),
        node("Where", "same ones wanted", "shape"),
        node("Expand", "x shape", "y"),
    ]
    data = model(
        [node("Shape", "x", "s"), node("Slice", "s zero one", "batch"),
         node("Concat", "batch rest", "wanted", axis=0), *nodes],
        {"x": ["n", 1, 4]}, {"y": None},
        {"w": np.zeros(3), "minus": np.array(-1), "rest": np.array([3, -1]),
         "zero": np.array([0]), "one": np.array([1])},
    )  # fmt: skip
    assert load(data).outputs[0].type.shape == (N, 3, 4)
    check(data, RANDOM.standard_normal((2, 1, 4)).astype(np.float32))


def test_comparisons_that_depend_on_a_size():
    nodes = [node("Shape", "x", "s"), node("Equal", "s c", "y")]
    data = model(nodes, {"x": ["n", 4]}, {"y": (None, np.bool_)}, {"c": np.array([2, 4])})
    with raises(UnsupportedOpError):
        load(data)


@pytest.mark.parametrize("made", [node("Range", "c c c"), node("CumSum", "x c")])
def test_numbers_that_must_be_one(made):
    data = model([made], {"x": [4]}, {"y": None}, {"c": np.array([1, 1])})
    with raises(FrontendError):
        load(data)
