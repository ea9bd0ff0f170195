"""Pipelines of scikit-learn as its converter writes them, and their operators one by one."""

import numpy as np
import pytest

from rlx.ir.evaluate import evaluate
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.onnx_builder import by_runtime, helper, load, onnx
from support.messages import raises

RANDOM = np.random.default_rng(8)


def numbers(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def ml(type_, inputs, outputs, **attributes):
    return helper.make_node(
        type_, inputs.split(), outputs.split(), domain="ai.onnx.ml", **attributes
    )


def model(nodes, outputs, tensors=(), x=("float", [3, 4])):
    kinds = {"float": 1, "int64": 7, "int32": 6, "string": 8}

    def info(name, kind, shape):
        return helper.make_tensor_value_info(name, kinds[kind], shape)

    outs = [
        helper.make_value_info(n, helper.make_sequence_type_proto(
            helper.make_map_type_proto(7, helper.make_tensor_type_proto(1, []))))
        if kind == "maps" else info(n, kind, None)
        for n, kind in outputs.items()
    ]  # fmt: skip
    graph = helper.make_graph(nodes, "net", [info("x", *x)], outs, list(tensors))
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()


def run(data, x):
    graph = load(data)
    return evaluate(graph, {graph.inputs[0].name: x})


def check(data, x):
    for ours, theirs in zip(run(data, x), by_runtime(data, x), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["float", "int64"])
@pytest.mark.parametrize(("offset", "scale"), [(4, 4), (1, 1)])
def test_scalers(kind, offset, scale):
    made = ml("Scaler", "x", "y", offset=numbers(offset).tolist(), scale=numbers(scale).tolist())
    x = numbers(3, 4) if kind == "float" else RANDOM.integers(-9, 9, (3, 4))
    check(model([made], {"y": "float"}, x=(kind, [3, 4])), x)


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizers(norm):
    x = np.abs(numbers(3, 4))
    x[1] = 0
    check(model([ml("Normalizer", "x", "y", norm=norm)], {"y": "float"}), x)


def test_the_sum_of_a_softmax_is_one():
    nodes = [helper.make_node("Softmax", ["x"], ["p"]), ml("Normalizer", "p", "y", norm="L1")]
    check(model(nodes, {"y": "float"}), numbers(3, 4))
    assert "real.div" not in [n.op.name for n in load(model(nodes, {"y": "float"})).op_nodes]


@pytest.mark.parametrize("kind", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize("labels", [[0, 1, 2], [7, 3, 5]])
def test_linear_classifiers(kind, labels):
    made = ml(
        "LinearClassifier", "x", "label scores", classlabels_ints=labels, post_transform=kind,
        coefficients=numbers(12).tolist(), intercepts=numbers(3).tolist(), multi_class=1,
    )  # fmt: skip
    check(model([made], {"label": "int64", "scores": "float"}), numbers(3, 4))


def test_linear_regressors():
    made = ml(
        "LinearRegressor", "x", "y", coefficients=numbers(8).tolist(), targets=2,
        intercepts=numbers(2).tolist(),
    )  # fmt: skip
    check(model([made], {"y": "float"}), numbers(3, 4))


def test_features_that_are_chosen():
    places = onnx.numpy_helper.from_array(np.array([[2, 0]]), "i")
    made = ml("ArrayFeatureExtractor", "x i", "y")
    check(model([made], {"y": "float"}, [places]), numbers(3, 4))


def classifier(classes, *, zipped):
    """Return a classifier: its label by an index into the classes, and a map from these."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Softmax", ["m"], ["p"]),
        helper.make_node("ArgMax", ["p"], ["a"], axis=1),
        ml("ArrayFeatureExtractor", "classes a", "e"),
        helper.make_node("Reshape", ["e", "flat"], ["label"]),
    ]
    texts = isinstance(classes[0], str)
    if zipped:
        nodes.append(ml("ZipMap", "p", "maps", classlabels_int64s=[0, 1, 2]))
    held = (
        helper.make_tensor("classes", 8, [3], [c.encode() for c in classes])
        if texts else onnx.numpy_helper.from_array(np.array(classes), "classes")
    )  # fmt: skip
    tensors = [held, onnx.numpy_helper.from_array(W, "w"),
               onnx.numpy_helper.from_array(np.array([-1]), "flat")]  # fmt: skip
    outputs = {"label": "string" if texts else "int64", **({"maps": "maps"} if zipped else {})}
    return model(nodes, outputs, tensors)


W = numbers(4, 3)


@pytest.mark.parametrize("classes", [[0, 1, 2], [7, 3, 5]])
def test_labels_that_are_numbers(classes):
    check(classifier(classes, zipped=False), numbers(3, 4))
    kinds = [n.op.name for n in load(classifier(classes, zipped=False)).op_nodes]
    assert ("real.gather" in kinds) == (classes != [0, 1, 2])


def test_labels_that_are_texts_are_their_places():
    classes, x = ["ant", "bee", "cat"], numbers(9, 4)[:3]
    data = classifier(classes, zipped=False)
    (found,), (wanted,) = run(data, x), by_runtime(data, x)
    assert [classes[i] for i in found] == list(wanted)


def test_maps_from_labels_stay_a_matrix():
    data, x = classifier([0, 1, 2], zipped=True), numbers(3, 4)
    found, (_, maps) = run(data, x), by_runtime(data, x)
    wanted = [[one[c] for c in range(3)] for one in maps]
    np.testing.assert_allclose(found[1], wanted, rtol=1e-6)


def test_texts_that_are_no_labels_are_refused():
    texts = helper.make_tensor("t", 8, [3], [b"a", b"b", b"c"])
    made = helper.make_node("Identity", ["t"], ["y"])
    with raises(UnsupportedOpError):
        load(model([made], {"y": "string"}, [texts]))


@pytest.mark.parametrize(
    ("made", "error"),
    [
        (ml("Scaler", "x", "y", offset=[1.0, 2.0], scale=[1.0]), FrontendError),
        (ml("Normalizer", "x", "y", norm="L3"), FrontendError),
        (ml("LinearRegressor", "x", "y", coefficients=[1.0]), FrontendError),
        (ml("LinearRegressor", "x", "y", coefficients=[1.0] * 4, post_transform="PROBIT"),
         UnsupportedOpError),
        (ml("LinearClassifier", "x", "l y", coefficients=[1.0] * 4, intercepts=[1.0],
            classlabels_ints=[0, 1]), UnsupportedOpError),
        (ml("TreeEnsembleRegressor", "x", "y"), UnsupportedOpError)
    ],
)  # fmt: skip
def test_what_does_not_fit(made, error):
    with raises(error):
        load(model([made], {"y": "float"}))
