"""Recurrent layers, against ONNX Runtime on random operands."""

import numpy as np
import pytest

import rlx
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.onnx_builder import by_runtime, load, model, node, run
from support.messages import raises

RANDOM = np.random.default_rng(1)
STEPS, BATCH, INPUTS, HIDDEN = 4, 3, 2, 5
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
OUTPUTS = {"RNN": "y h", "GRU": "y h", "LSTM": "y h c"}
LENGTHS = np.array([2, 4, 0], np.int32)

every_kind = pytest.mark.parametrize("kind", GATES)
every_direction = pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])


def numbers(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


def operands(kind, directions):
    """All operands of a node, by name; lengths are not among them."""
    rows = GATES[kind] * HIDDEN
    given = {
        "x": numbers(STEPS, BATCH, INPUTS), "w": numbers(directions, rows, INPUTS),
        "r": numbers(directions, rows, HIDDEN), "b": numbers(directions, 2 * rows),
        "h0": numbers(directions, BATCH, HIDDEN),
    }  # fmt: skip
    if kind == "LSTM":
        given["c0"] = numbers(directions, BATCH, HIDDEN)
        given["p"] = numbers(directions, 3 * HIDDEN)
    return given


def built(kind, inputs, constants, *, outputs=None, opset=14, **attributes):
    """A model of one node; operands are inputs of the graph, constants, or left out."""
    names = ["x", "w", "r", "b", "lengths", "h0", *(("c0", "p") if kind == "LSTM" else ())]
    used = " ".join(n if n in inputs or n in constants else "_" for n in names)
    layer = node(kind, used, outputs or OUTPUTS[kind], hidden_size=HIDDEN, **attributes)
    results = {n: None for n in (outputs or OUTPUTS[kind]).split() if n != "_"}
    types = {n: (list(a.shape), a.dtype) for n, a in inputs.items()}
    return model([layer], types, results, constants, opset=opset)


def check(kind, computed=("x",), without=(), lengths=None, **attributes):
    """Compare with ONNX Runtime; operands in ``computed`` are inputs, the others constants."""
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    given = {n: a for n, a in operands(kind, directions).items() if n not in without}
    if lengths is not None:
        given["lengths"] = lengths
    inputs = {n: a for n, a in given.items() if n in computed}
    constants = {n: a for n, a in given.items() if n not in computed}
    data = built(kind, inputs, constants, **attributes)
    for ours, theirs in zip(run(data, *inputs.values()), by_runtime(data, *inputs.values()),
                            strict=True):  # fmt: skip
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@every_kind
@every_direction
def test_directions(kind, direction):
    check(kind, direction=direction)
    check(kind, direction=direction, opset=7)


@every_kind
@every_direction
def test_operands_that_are_left_out(kind, direction):
    check(kind, direction=direction, without=("b", "h0", "c0", "p"))
    check(kind, direction=direction, without=("b", "c0"))


@every_kind
@every_direction
def test_lengths(kind, direction):
    check(kind, direction=direction, lengths=LENGTHS)
    check(kind, direction=direction, lengths=LENGTHS, computed=("x", "lengths"))


@every_kind
def test_lengths_of_the_tensor_need_no_mask(kind):
    given = operands(kind, 1)
    given["lengths"] = np.full(BATCH, STEPS, np.int32)
    graph = load(built(kind, {"x": given.pop("x")}, given))
    (layer,) = (n for n in graph.op_nodes if n.op.name == f"nn.{kind.lower()}")
    assert not layer.op.masked


@every_kind
def test_operands_that_are_computed(kind):
    check(kind, computed=("x", "w", "r", "b", "h0", "c0", "p"), direction="bidirectional")


@every_kind
def test_clip(kind):
    check(kind, clip=0.3, direction="bidirectional")


def test_forms_of_a_gru():
    for direction in ("forward", "bidirectional"):
        check("GRU", linear_before_reset=1, direction=direction)
        check("GRU", linear_before_reset=1, direction=direction, without=("b",))
    check("GRU", linear_before_reset=1, clip=0.3, lengths=LENGTHS)


def test_coupled_gates_of_an_lstm():
    check("LSTM", input_forget=1)
    check("LSTM", input_forget=1, direction="bidirectional", clip=0.5)


@pytest.mark.parametrize(
    "name",
    ["Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh", "Sigmoid", "Softplus",
     "Softsign", "Tanh", "ThresholdedRelu"],
)  # fmt: skip
def test_activations(name):
    parameters = {"activation_alpha": [0.4], "activation_beta": [0.3]}
    check("RNN", activations=[name], **parameters)
    check("GRU", activations=["Sigmoid", name], **parameters)
    check("LSTM", activations=["Sigmoid", name, "Tanh"], **parameters)
    check("LSTM", activations=["Sigmoid", "Tanh", name], **parameters)


@pytest.mark.parametrize("name", ["Elu", "HardSigmoid", "LeakyRelu"])
def test_default_parameters_of_activations(name):
    check("RNN", activations=[name])


def test_parameters_are_taken_in_the_order_of_activations():
    check(
        "LSTM", direction="bidirectional",
        activations=["HardSigmoid", "LeakyRelu", "ScaledTanh", "Sigmoid", "Elu", "HardSigmoid"],
        activation_alpha=[0.3, 0.2, 0.9, 0.5, 0.1], activation_beta=[0.4, 0.8, 0.6],
    )  # fmt: skip


@every_kind
@every_direction
def test_batch_first(kind, direction):
    """ONNX Runtime lacks this layout: compared with the other one."""
    directions = 2 if direction == "bidirectional" else 1
    given = operands(kind, directions) | {"lengths": LENGTHS}
    first = given | {"x": given["x"].swapaxes(0, 1)}
    first |= {n: given[n].swapaxes(0, 1) for n in ("h0", "c0") if n in given}
    results = [
        run(built(kind, {"x": g.pop("x")}, g, direction=direction, layout=layout), x)
        for layout, g, x in ((0, given, given["x"]), (1, first, first["x"]))
    ]
    (y, *states), (y_first, *states_first) = results
    np.testing.assert_array_equal(y.transpose(2, 0, 1, 3), y_first)
    for state, state_first in zip(states, states_first, strict=True):
        np.testing.assert_array_equal(state.swapaxes(0, 1), state_first)


@pytest.mark.parametrize("outputs", ["y", "_ h", "_ _ c", "y _ c"])
def test_outputs_that_nobody_reads(outputs):
    check("LSTM", outputs=outputs)


def test_open_batch_and_length():
    given = operands("LSTM", 1)
    constants = {n: given[n] for n in ("w", "r", "b")}
    layer = node("LSTM", "x w r b", "y h c", hidden_size=HIDDEN)
    data = model([layer], {"x": ["steps", "batch", INPUTS]}, {"y": None, "h": None}, constants)
    graph = load(data)
    assert [str(v.type) for v in graph.outputs] == [
        f"f32[steps, 1, batch, {HIDDEN}]", f"f32[1, batch, {HIDDEN}]"
    ]  # fmt: skip
    fixed = load(data, input_shape=(("x", (STEPS, BATCH, INPUTS)),))
    assert fixed.outputs[0].type.shape == (STEPS, 1, BATCH, HIDDEN)


def weights_of(kind, name, directions, inputs):
    """Constants of a layer whose names end in ``name``."""
    rows = GATES[kind] * HIDDEN
    shapes = {"w": (rows, inputs), "r": (rows, HIDDEN), "b": (2 * rows,)}
    return {f"{n}{name}": numbers(directions, *s) * 0.5 for n, s in shapes.items()}


def classifier():
    """An LSTM, its last step, a dense layer; batch first, as PyTorch writes it."""
    nodes = [
        node("Transpose", "x", "xt", perm=[1, 0, 2]),
        node("LSTM", "xt w r b _ start start", "ys ys_h ys_c", hidden_size=HIDDEN),
        node("Squeeze", "ys axis", "rows"),
        node("Transpose", "rows", "batch", perm=[1, 0, 2]),
        node("Gather", "batch last", "features", axis=1),
        node("Gemm", "features dense", "logits", transB=1),
        node("Softmax", "logits", "y", axis=-1),
    ]
    constants = weights_of("LSTM", "", 1, INPUTS) | {
        "start": np.zeros((1, BATCH, HIDDEN), np.float32), "axis": np.array([1]),
        "last": np.array(-1), "dense": numbers(3, HIDDEN),
    }  # fmt: skip
    return model(nodes, {"x": [BATCH, STEPS, INPUTS]}, {"y": None}, constants, opset=17)


def bidirectional():
    """A GRU in both directions, a dense layer for each step."""
    nodes = [
        node("GRU", "x w r b", "ys h", hidden_size=HIDDEN, direction="bidirectional",
             linear_before_reset=1),
        node("Transpose", "ys", "steps", perm=[0, 2, 1, 3]),
        node("Reshape", "steps shape", "features"),
        node("MatMul", "features dense", "y"),
    ]  # fmt: skip
    constants = weights_of("GRU", "", 2, INPUTS) | {
        "shape": np.array([0, 0, -1]), "dense": numbers(2 * HIDDEN, 3)
    }  # fmt: skip
    return model(nodes, {"x": [STEPS, BATCH, INPUTS]}, {"y": None, "h": None}, constants, opset=17)


def stacked():
    """Two LSTMs in both directions, states in one tensor of which each takes its slice."""
    nodes = [node("Transpose", "x", "x0", perm=[1, 0, 2])]
    constants = {"shape": np.array([0, 0, -1]), "axis": np.array([0]), "dense": numbers(3, 10)}
    for i, width in enumerate((INPUTS, 2 * HIDDEN)):
        constants |= weights_of("LSTM", str(i), 2, width)
        constants |= {f"from{i}": np.array([2 * i]), f"to{i}": np.array([2 * i + 2])}
        nodes += [
            node("Slice", f"h from{i} to{i} axis", f"h{i}"),
            node("Slice", f"c from{i} to{i} axis", f"c{i}"),
            node("LSTM", f"x{i} w{i} r{i} b{i} _ h{i} c{i}", f"ys{i} last{i} cell{i}",
                 hidden_size=HIDDEN, direction="bidirectional"),
            node("Transpose", f"ys{i}", f"steps{i}", perm=[0, 2, 1, 3]),
            node("Reshape", f"steps{i} shape", f"x{i + 1}"),
        ]  # fmt: skip
    nodes += [
        node("Concat", "last0 last1", "hn", axis=0),
        node("Concat", "cell0 cell1", "cn", axis=0),
        node("Transpose", "x2", "batch", perm=[1, 0, 2]),
        node("ReduceMean", "batch", "features", axes=[1], keepdims=0),
        node("Gemm", "features dense", "y", transB=1),
    ]
    states = [4, BATCH, HIDDEN]
    inputs = {"x": [BATCH, STEPS, INPUTS], "h": states, "c": states}
    return model(nodes, inputs, {"y": None, "hn": None, "cn": None}, constants, opset=17)


@pytest.mark.parametrize("backend", ["numpy", "native", "xla"])
@pytest.mark.parametrize("build", [classifier, bidirectional, stacked])
def test_networks(build, backend):
    if backend == "xla":
        pytest.importorskip("jax")
    data = build()
    graph = load(data)
    arrays = [numbers(*v.type.shape) for v in graph.inputs]
    compiled = rlx.Session(options=rlx.CompileOptions(backend=backend)).compile(graph)
    found = compiled.run({v.name: a for v, a in zip(graph.inputs, arrays, strict=True)})
    for ours, theirs in zip(found, by_runtime(data, *arrays), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


REFUSED = {
    "unknown activation": ({"activations": ["Sin"]}, {}),
    "activation without default": ({"activations": ["Affine"]}, {}),
    "beta without default": ({"activations": ["ScaledTanh"], "activation_alpha": [1.0]}, {}),
}


@pytest.mark.parametrize(("attributes", "changes"), REFUSED.values(), ids=REFUSED)
def test_refusals(attributes, changes):
    given = operands("RNN", 1) | changes
    with raises(UnsupportedOpError):
        load(built("RNN", {"x": given.pop("x")}, given, **attributes))


MALFORMED = {
    "direction": ({"direction": "sideways"}, {}),
    "number of activations": ({"activations": ["Tanh", "Tanh"]}, {}),
    "layout": ({"layout": 2}, {}),
    "clip": ({"clip": -1.0}, {}),
    "directions of weights": ({"direction": "bidirectional"}, {}),
    "input of two dimensions": ({}, {"x": numbers(STEPS, INPUTS)}),
    "rows of weights": ({}, {"w": numbers(1, HIDDEN + 1, INPUTS)}),
    "bias": ({}, {"b": numbers(1, HIDDEN)}),
    "hidden size": ({}, {"r": numbers(1, HIDDEN + 1, HIDDEN + 1)}),
    "lengths": ({}, {"lengths": np.array([1, 2, STEPS + 1], np.int32)}),
    "type of the input": ({}, {"x": numbers(STEPS, BATCH, INPUTS).astype(np.int8)}),
    "type of the bias": ({}, {"b": numbers(1, 2 * HIDDEN).astype(np.int32)}),
    "type of lengths": ({}, {"lengths": np.full(BATCH, STEPS, np.float32)}),
    "no lengths": ({}, {"lengths": np.zeros(0, np.int32)}),
    "count of lengths": ({}, {"lengths": np.array([1, 2], np.int32)}),
    "state": ({}, {"h0": numbers(1, BATCH + 1, HIDDEN)}),
}


@pytest.mark.parametrize(("attributes", "changes"), MALFORMED.values(), ids=MALFORMED)
def test_contradictions(attributes, changes):
    given = operands("RNN", 1) | changes
    with raises(FrontendError):
        load(built("RNN", {"x": given.pop("x")}, given, **attributes))


def test_an_open_size_of_the_hidden_state_is_refused():
    layer = node("LSTM", "x w r", "y")
    types = {"x": ["t", "b", 2], "w": ["d", "g", 2], "r": ["d", "g", "h"]}
    with raises(UnsupportedOpError):
        load(model([layer], types, {"y": None}))


def test_weights_of_open_sizes_are_no_contradiction():
    layer = node("RNN", "x w r b", "y", hidden_size=HIDDEN)
    types = {"x": ["t", "b", INPUTS], "w": ["d", HIDDEN, INPUTS], "r": ["d", HIDDEN, HIDDEN],
             "b": ["d", 2 * HIDDEN]}  # fmt: skip
    data = model([layer], types, {"y": None})
    given = operands("RNN", 1)
    arrays = [given[name] for name in types]
    (found,), (expected,) = run(data, *arrays), by_runtime(data, *arrays)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
