"""``If``, inputs with a value, and networks that are cut."""

import numpy as np
import pytest

from rlx.ir.evaluate import evaluate
from rlx.support.errors import UnsupportedOpError
from support.files.onnx_builder import by_runtime, helper, load, model, node, value
from support.messages import raises

RANDOM = np.random.default_rng(7)


def numbers(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def graph(nodes, output="r", tensors=()):
    made = [helper.make_tensor(n, 1, a.shape, a.reshape(-1)) for n, a in tensors]
    return helper.make_graph(nodes, "branch", [], [value(output, None)], made)


def choice(then, other, condition="c", outputs="y"):
    return node("If", condition, outputs, then_branch=then, else_branch=other)


W, V = numbers(4, 3), numbers(4, 3)


def of_rate(rate, inner=False):
    """Return a network that takes one dense layer or another, by a number of samples a second."""
    then = graph([node("MatMul", "x w", "r")], tensors=[("w", W)])
    other = graph([node("MatMul", "x v", "m"), node("Neg", "m", "r")])
    if inner:
        then = graph([choice(then, other, "d", "q"), node("Abs", "q", "r")])
    nodes = [node("Equal", "rate k", "c"), node("Not", "c", "d"), choice(then, other)]
    constants = {"k": np.array(16000), "v": V}
    inputs = {"x": [2, 4]}
    if rate is None:
        inputs["rate"] = ([], np.int64)
    else:
        constants["rate"] = np.array(rate)
    return model(nodes, inputs, {"y": [2, 3]}, constants)


def run(graph, **arrays):
    return evaluate(graph, {i.name: arrays[i.name] for i in graph.inputs})


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("rate", [16000, 8000])
def test_a_condition_that_is_known_takes_its_branch(rate, inner):
    x, data = numbers(2, 4), of_rate(rate, inner)
    (wanted,) = by_runtime(data, x)
    np.testing.assert_allclose(run(load(data), x=x)[0], wanted, rtol=1e-6)
    assert [n.op.name for n in load(data).op_nodes].count("nn.linear") == 1


@pytest.mark.parametrize("rate", [16000, 8000])
def test_a_value_of_an_input_takes_a_branch(rate):
    x, data = numbers(2, 4), of_rate(None)
    (wanted,) = by_runtime(data, x, np.array(rate))
    found = load(data, input_value={"rate": rate})
    assert [i.name for i in found.inputs] == ["x"]
    assert [n.op.name for n in found.op_nodes].count("nn.linear") == 1
    np.testing.assert_allclose(run(found, x=x)[0], wanted, rtol=1e-6)


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("rate", [16000, 8000])
def test_a_condition_that_is_computed_chooses(rate, inner):
    x, data = numbers(2, 4), of_rate(None, inner)
    (wanted,) = by_runtime(data, x, np.array(rate))
    np.testing.assert_allclose(run(load(data), x=x, rate=np.array(rate))[0], wanted, rtol=1e-6)


def test_several_results_and_constants_of_a_branch():
    then = helper.make_graph(
        [node("Add", "x k", "a")], "t", [], [value("a", None), value("k", None)],
        [helper.make_tensor("k", 1, [3], [1.0, 2.0, 3.0])],
    )  # fmt: skip
    other = helper.make_graph(
        [node("Identity", "x", "i"), node("Constant", "", "z", value_floats=[4.0, 5.0, 6.0])],
        "e", [], [value("i", None), value("z", None)],
    )  # fmt: skip
    nodes = [node("ReduceSum", "x", "s", keepdims=0), node("Greater", "s zero", "c"),
             choice(then, other, "c", "y z")]  # fmt: skip
    data = model(nodes, {"x": [3]}, {"y": [3], "z": [3]}, {"zero": np.float32(0)})
    for x in (numbers(3), -numbers(3), np.ones(3, np.float32), -np.ones(3, np.float32)):
        for ours, theirs in zip(run(load(data), x=x), by_runtime(data, x), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_branches_of_other_shapes_are_refused():
    then = graph([node("Relu", "x", "r")])
    other = graph([node("Unsqueeze", "x one", "r")])
    data = model(
        [choice(then, other)], {"x": [3], "c": ([], np.bool_)}, {"y": None}, {"one": np.array([0])}
    )
    with raises(UnsupportedOpError):
        load(data)
    assert load(data, input_value={"c": 1}).outputs[0].type.shape == (3,)


def test_a_branch_that_reads_what_nothing_writes():
    from rlx.support.errors import FrontendError

    data = model(
        [choice(graph([node("Relu", "q", "r")]), graph([node("Relu", "x", "r")]))],
        {"x": [3], "c": ([], np.bool_)}, {"y": None},
    )  # fmt: skip
    with raises(FrontendError):
        load(data)


@pytest.mark.parametrize(
    ("name", "number"),
    [("q", 1), ("c", 2), ("i", 0.5), ("o", 1)],
)
def test_values_that_an_input_cannot_have(name, number):
    data = model(
        [node("Identity", "c", "y"), node("Identity", "i", "z"), node("Identity", "o", "p")],
        {"c": ([], np.bool_), "i": ([2], np.int64), "o": ["n", 2]},
        {"y": ([], np.bool_), "z": ([2], np.int64), "p": None},
    )
    with raises(UnsupportedOpError):
        load(data, input_value={name: number})


def test_outputs_cut_a_network():
    nodes = [node("Relu", "x", "a"), node("Neg", "b", "c"), helper.make_node(
        "Unknown", ["a"], ["y"], domain="custom")]  # fmt: skip
    data = model(nodes, {"x": [3], "b": [2]}, {"y": None, "c": [2]}, domains=["custom"])
    with pytest.raises(UnsupportedOpError):
        load(data)
    found = load(data, outputs=["a"])
    assert [i.name for i in found.inputs] == ["x"]
    assert list(found.output_names) == ["a"]
    both = load(data, outputs=("c", "a", "x"))
    assert list(both.output_names) == ["c", "a", "x"]
    with raises(UnsupportedOpError):
        load(data, outputs=["aa"])
