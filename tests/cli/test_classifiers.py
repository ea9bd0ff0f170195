"""Classifiers of scikit-learn as skl2onnx writes them, with labels and scores, to integers and C.

The operators of each file are those that skl2onnx 1.20 writes for the class that names it.
"""

import numpy as np
import pytest

from rlx import frontends
from rlx.cli import main
from rlx.ir.evaluate import evaluate
from rlx.support.errors import UnsupportedOpError
from support.files.onnx_builder import helper, load, onnx
from support.messages import raises

RANDOM = np.random.default_rng(5)
CLASSES = np.array([[1, 0, 1, 0], [0, 1, -1, 0.5], [-1, -1, 0, 0.3]], np.float32)
SAMPLES = RANDOM.standard_normal((200, 1, 4)).astype(np.float32)
HIDDEN = RANDOM.standard_normal((4, 8)).astype(np.float32)
LAST = RANDOM.standard_normal((8, 3)).astype(np.float32)


def node(type_, inputs, outputs, domain="", **attributes):
    return helper.make_node(type_, inputs.split(), outputs.split(), domain=domain, **attributes)


def ml(type_, inputs, outputs, **attributes):
    return node(type_, inputs, outputs, "ai.onnx.ml", **attributes)


def linear(post_transform="SOFTMAX", x="X", scores="probabilities", **labels):
    return ml(
        "LinearClassifier", x, f"label {scores}", coefficients=CLASSES.reshape(-1).tolist(),
        intercepts=[0.0, 0.1, 0.2], multi_class=1, post_transform=post_transform, **labels,
    )  # fmt: skip


def logistic_regression(**labels):
    return [linear(scores="raw", **labels), ml("Normalizer", "raw", "probabilities", norm="L1")]


def labelled():
    """Return the nodes behind the scores of a network: the label of the largest."""
    return [
        node("ArgMax", "probabilities", "place", axis=1),
        ml("ArrayFeatureExtractor", "labels place", "found"),
        node("Reshape", "found flat", "row"),
        node("Cast", "row", "label", to=7),
    ]


def mlp():
    layers = [
        node("MatMul", "X hidden", "a"), node("Relu", "a", "b"), node("MatMul", "b last", "c"),
        node("Softmax", "c", "probabilities", axis=-1),
    ]  # fmt: skip
    return [*layers, *labelled()]


def naive_bayes():
    return [
        node("Reshape", "X rows", "x3"), node("Sub", "x3 means", "d"), node("Pow", "d two", "s"),
        node("ReduceSum", "s last_axis", "sum", keepdims=0), node("Neg", "sum", "log"),
        node("Softmax", "log", "probabilities", axis=-1),
        node("ArgMax", "probabilities", "place", axis=1),
        ml("ArrayFeatureExtractor", "labels place", "found"),
        node("Cast", "found", "real", to=1), node("Reshape", "real flat", "row"),
        node("Cast", "row", "label", to=7),
    ]  # fmt: skip


def written(nodes, folder, labels=(0, 1, 2)):
    """Write ``net.onnx`` and ``samples.npz``, and return the graph."""
    constants = {
        "hidden": HIDDEN, "last": LAST, "labels": np.array(labels, np.int32),
        "flat": np.array([-1]), "rows": np.array([-1, 1, 4]), "means": CLASSES[np.newaxis],
        "two": np.array(2, np.float32), "last_axis": np.array([2]),
    }  # fmt: skip
    used = {name for n in nodes for name in n.input}
    tensors = [onnx.numpy_helper.from_array(a, k) for k, a in constants.items() if k in used]
    outs = [
        helper.make_tensor_value_info("label", 7, [None]),
        helper.make_tensor_value_info("probabilities", 1, [None, 3]),
    ]
    inputs = [helper.make_tensor_value_info("X", 1, [None, 4])]
    graph = helper.make_graph(nodes, "net", inputs, outs, tensors)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    content = helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()
    (folder / "net.onnx").write_bytes(content)
    np.savez(folder / "samples.npz", X=SAMPLES)
    return load(content)


FILES = {
    "LogisticRegression": logistic_regression(classlabels_ints=[0, 1, 2]),
    "LogisticRegression, texts": logistic_regression(classlabels_strings=["cat", "dog", "eel"]),
    "LinearSVC": [linear("NONE", classlabels_ints=[0, 1, 2])],
    "MLPClassifier": mlp(),
    "GaussianNB": naive_bayes(),
    "StandardScaler": [
        ml("Scaler", "X", "s", offset=[0.1] * 4, scale=[0.9, 1.1, 1.0, 1.2]),
        linear(x="s", classlabels_ints=[0, 1, 2]),
    ],
    "MinMaxScaler": [
        node("Mul", "X two", "s"), node("Add", "s two", "t"),
        linear(x="t", classlabels_ints=[0, 1, 2]),
    ],
    "Normalizer": [
        ml("Normalizer", "X", "s", norm="L2"), linear(x="s", classlabels_ints=[0, 1, 2]),
    ],
}  # fmt: skip


def quantized(*options):
    command = ["-q", "quantize", "net.onnx", *options, "--calib", "samples.npz", "-o", "q.rlx"]
    assert main(command) == 0
    return frontends.load("q.rlx").graph


@pytest.mark.parametrize("name", FILES)
def test_labels_and_scores_become_integers_and_c(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = written(FILES[name], tmp_path)
    made = quantized()
    found = [evaluate(made, {"X": x}) for x in SAMPLES]
    wanted = [evaluate(graph, {"X": x}) for x in SAMPLES]
    assert [o.dtype for o in found[0]] == [np.int64, np.float32]
    labels, scores = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    float_labels, float_scores = (np.concatenate(arrays) for arrays in zip(*wanted, strict=True))
    # The label is that of the largest score, as quantized.
    rows = np.arange(len(labels))
    np.testing.assert_array_equal(scores[rows, labels], scores.max(axis=1))
    assert (labels == float_labels).mean() > 0.95
    span = float_scores.max() - float_scores.min()
    assert np.abs(scores - float_scores).mean() < span / 32
    assert main(["-q", "emit", "q.rlx", "--target", "cortexm", "-o", "out"]) == 0


def test_labels_that_are_no_places_are_left_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(mlp(), tmp_path, labels=(10, 20, 30))
    quantized()
    assert main(["emit", "q.rlx", "--target", "cortexm", "-o", "out"]) == 5
    said = capsys.readouterr().err
    assert "the target has no such integer op" in said
    assert "try: compute this in your program: --outputs NAME" in said
    assert quantized("--outputs", "probabilities").output_names == ("probabilities",)
    assert main(["-q", "emit", "q.rlx", "--target", "cortexm", "-o", "out"]) == 0


@pytest.mark.parametrize("name", ["TreeEnsembleClassifier", "SVMClassifier"])
def test_other_models_are_refused_by_name(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    nodes = [ml(name, "X", "label probabilities")]
    with raises(UnsupportedOpError):
        written(nodes, tmp_path)
    assert main(["quantize", "net.onnx", "--calib", "samples.npz", "-o", "q.rlx"]) == 5
    assert "classical machine learning" in capsys.readouterr().err
