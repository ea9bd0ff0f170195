"""Jacobians and second derivatives against each other and differences."""

from __future__ import annotations

import numpy as np
import pytest

import rlx
from rlx.ir import Dim, f32
from rlx.ir.evaluate import evaluate
from rlx.passes.transforms.jacobian import hessian, jacfwd, jacrev
from rlx.support.errors import UsageError
from support.derivatives import named
from support.messages import raises


def values(graph):
    generator = np.random.default_rng(0)
    return {
        v.name: generator.standard_normal(v.type.static_shape).astype(v.type.dtype.numpy)
        for v in graph.inputs
    }


def model(x, w):
    h = (x @ w).tanh()
    return {"y": h.reshape(2, -1).softmax(), "z": x.sum(0), "c": (x * 0.0 + 1.0).mean()}


@pytest.mark.parametrize("derive", [jacfwd, jacrev])
def test_jacobians_are_the_derivatives_by_each_element(derive):
    f64 = [rlx.TensorType(s, rlx.DType("f64")) for s in ((4, 3), (3, 2))]
    graph = rlx.trace("g", model, *f64).graph
    inputs = values(graph)
    found = named(derive(graph), inputs)
    assert set(found) == {f"d_{a}_d_{b}" for a in "yzc" for b in "xw"}
    for name in ("x", "w"):
        for place in np.ndindex(inputs[name].shape):
            step = np.zeros_like(inputs[name])
            step[place] = 1e-6
            above, below = (named(graph, {**inputs, name: inputs[name] + s}) for s in (step, -step))
            for output, y in above.items():
                expected = (y - below[output]) / 2e-6
                part = found[f"d_{output}_d_{name}"][(..., *place)]
                np.testing.assert_allclose(part, expected, atol=1e-8)


def test_second_derivatives_of_a_convolution():
    def loss(x, w):
        return (x.conv(w, padding=1, stride=2).silu().max_pool(2) ** 2.0).sum()

    graph = rlx.trace("g", loss, f32(1, 6, 6, 2), f32(3, 3, 3, 2)).graph
    inputs = values(graph)
    found = named(hessian(graph), inputs)
    assert list(found) == ["d_x_d_x", "d_x_d_w", "d_w_d_x", "d_w_d_w"]
    square = found["d_x_d_w"].reshape(72, 54)
    np.testing.assert_allclose(square, found["d_w_d_x"].reshape(54, 72).T, atol=1e-4)
    tangents = {"d_x": inputs["x"] * 2, "d_w": inputs["w"] * 3}
    product = named(rlx.hvp(graph), {**inputs, **tangents})["d_d_x"]
    expected = found["d_x_d_x"].reshape(72, 72) @ tangents["d_x"].ravel()
    expected += square @ tangents["d_w"].ravel()
    np.testing.assert_allclose(product.ravel(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("derive", [rlx.jacfwd, rlx.jacrev])
def test_outputs_may_be_named_like_derivatives(derive):
    graph = rlx.trace("g", lambda x, d_x: {"y": x * d_x, "d_x": x * 2.0}, f32(2), f32(2)).graph
    jacobians = derive(graph)
    assert jacobians.output_names == ("d_y_d_x", "d_y_d_d_x", "d_d_x_d_x", "d_d_x_d_d_x")
    inputs = {"x": np.float32([1, 2]), "d_x": np.float32([3, 4])}
    found = [a.tolist() for a in evaluate(jacobians, inputs)]
    assert found == [[[3, 0], [0, 4]], [[1, 0], [0, 2]], [[2, 0], [0, 2]], [[0, 0], [0, 0]]]


def test_open_sizes_are_refused():
    graph = rlx.trace("g", lambda x: x * 2.0, f32(Dim("n"))).graph
    for derive in (jacfwd, jacrev):
        with raises(UsageError):
            derive(graph)


def test_scalars_have_jacobians_of_the_shape_of_the_input():
    graph = rlx.trace("g", lambda x: (x * x).sum(), f32(3)).graph
    x = np.float32([1, 2, 3])
    for derive in (jacfwd, jacrev):
        (found,) = evaluate(derive(graph), {"x": x})
        assert found.tolist() == [2.0, 4.0, 6.0]
