from __future__ import annotations

import numpy as np

from rlx.ir import Dim, f32
from rlx.ir.evaluate import evaluate
from rlx.tracing import trace
from support.messages import raises


def test_inputs_are_named_like_the_parameters():
    graph = trace("g", lambda x, weights: x @ weights, f32(2, 3), f32(3, 4))
    assert [v.name for v in graph.graph.inputs] == ["x", "weights"]
    x, w = np.ones((2, 3), np.float32), np.full((3, 4), 2, np.float32)
    (y,) = evaluate(graph.graph, {"x": x, "weights": w})
    np.testing.assert_array_equal(y, x @ w)


def test_several_inputs_of_one_parameter_are_numbered():
    def joined(first, *others):
        return first.concat(*others, axis=0)

    graph = trace("g", joined, f32(1), f32(2), f32(3))
    assert [v.name for v in graph.graph.inputs] == ["first", "others0", "others1"]


def test_the_function_may_declare_everything_itself():
    def hello(t):
        x = t.input("x", ("batch", 8))
        return (x @ t.param("w", (8, 2))).gelu()

    graph = trace("hello", hello)
    assert graph.graph.outputs[0].type == f32(Dim("batch"), 2)
    assert [n.op.name for n in graph.graph.op_nodes] == ["real.matmul", "nn.gelu"]


def test_results_may_be_several_and_named():
    graph = trace("g", lambda x: (x, -x), f32(2))
    assert graph.graph.output_names == ("x", "output1")
    graph = trace("g", lambda x: {"twice": x + x, "x": x}, f32(2))
    assert graph.graph.output_names == ("twice", "x")


def test_a_module_of_the_usual_kind():
    """x -> gelu(x w + b), normed: one op for each step, and the values of NumPy."""

    def layer(x, w, b, gamma, beta):
        return (x @ w + b).relu().layer_norm(gamma, beta).softmax(-1)

    graph = trace("layer", layer, f32(4, 8), f32(8, 3), f32(3), f32(3), f32(3))
    names = [n.op.name for n in graph.graph.op_nodes]
    assert names == ["real.matmul", "real.add", "nn.relu", "nn.layer_norm", "nn.softmax"]
    generator = np.random.default_rng(0)
    inputs = {v.name: generator.standard_normal(v.type.shape).astype(np.float32)
              for v in graph.graph.inputs}  # fmt: skip
    (y,) = evaluate(graph.graph, inputs)
    wide = {n: a.astype(np.float64) for n, a in inputs.items()}
    h = np.maximum(wide["x"] @ wide["w"] + wide["b"], 0)
    h = (h - h.mean(-1, keepdims=True)) / np.sqrt(h.var(-1, keepdims=True) + 1e-5)
    e = np.exp(h * wide["gamma"] + wide["beta"])
    # Numbers of order 1 after some forty roundings in float32.
    np.testing.assert_allclose(y, e / e.sum(-1, keepdims=True), rtol=0, atol=1e-5)


def test_after_the_trace_tensors_are_dead():
    kept = []
    graph = trace("g", lambda x: kept.append(x) or x, f32(2))
    with raises(ValueError):
        kept[0] + 1
    with raises(ValueError):
        graph.input("y", 1)
    with raises(ValueError):
        graph.output(kept[0])


def test_bad_functions():
    with raises(TypeError):
        trace("relu", f32(2))
    with raises(TypeError):
        trace("g", lambda x: None, f32(2))
    with raises(TypeError):
        trace("g", lambda x: [x, 1], f32(2))
    with raises(TypeError):
        trace("g", lambda x: x, f32(2), f32(2))
