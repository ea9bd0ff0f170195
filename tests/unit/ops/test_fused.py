"""Fused ops: one meaning, whatever way it is computed, and bodies that do not fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx.ir import Graph, f32
from rlx.ir.evaluate import evaluate
from rlx.ops import FUSED_OPS, fused
from rlx.ops.expression import Expression
from rlx.passes.decompose import decompose
from rlx.passes.fusion import FusionOptions, FusionPolicy, fuse
from rlx.support.errors import ShapeError
from strategies import STRATEGIES
from support.messages import raises

every_op = pytest.mark.parametrize("op", FUSED_OPS, ids=lambda op: op.name)


def node_of(case, op):
    """Return the first node of an op, and the values of its operands."""
    values = dict(zip(case.graph.inputs, case.inputs.values(), strict=True))
    node = next(n for n in case.graph.nodes if type(n.op) is op)
    return node, [values.get(o, o.constant) for o in node.operands]


@every_op
@settings(max_examples=10)
@given(data=st.data())
def test_op_means_its_body(op, data):
    node, operands = node_of(data.draw(STRATEGIES[op](size=3)), op)
    if any(o is None for o in operands):
        return  # it reads another node
    names = [v.name for v in node.op.body.inputs]
    expected = evaluate(node.op.body, dict(zip(names, operands, strict=True)))
    constants = [o if i % 2 else None for i, o in enumerate(operands)]
    for results in (
        node.op.evaluate(*operands),
        node.op.prepare([None] * len(operands))(*operands),
        node.op.prepare(constants)(*operands),
    ):
        for result, right in zip(results, expected, strict=True):
            assert result.dtype == right.dtype
            np.testing.assert_array_equal(result, right)


@every_op
@settings(max_examples=5)
@given(data=st.data())
def test_body_of_another_form_is_refused(op, data):
    """The body with one more op has not the form any more."""
    node, _ = node_of(data.draw(STRATEGIES[op](size=3)), op)
    body = Graph("body")
    inputs = [body.input(v.name, v.type) for v in node.op.body.inputs]
    inner = body.append(node.op, *inputs)
    body.output(*inner.results)
    wrong = type(node.op)(body=body)
    with pytest.raises(ShapeError, match=rf"\({node.op.name}\) has not the form of {op.name}"):
        wrong.infer(*(v.type for v in inputs))


def relu_body():
    body = Graph("body")
    x = Expression(body, body.input("x", f32(3)))
    body.output(x.tanh().exp().value)
    return body


def test_operands_must_be_those_of_the_body():
    op = fused.FusedElementwise(body=relu_body())
    assert op.infer(f32(3)) == (f32(3),)
    with raises(ShapeError):
        op.infer(f32(4))
    with raises(ShapeError):
        op.infer(f32(3), f32(3))


def test_body_without_outputs_is_refused():
    body = Graph("body")
    body.input("x", f32(3))
    with raises(ShapeError):
        fused.FusedElementwise(body=body).infer(f32(3))


def test_ops_are_equal_where_their_bodies_are():
    assert fused.FusedElementwise(body=relu_body()) == fused.FusedElementwise(body=relu_body())


@pytest.mark.parametrize("name", fused.NAMED)
def test_named_activations_are_recognized(name):
    graph = Graph("g")
    x = Expression(graph, graph.input("x", f32(2, 3)))
    w = x.wrap(graph.constant(np.ones((3, 4), np.float32)))
    graph.output((x @ w).apply(fused.NAMED[name]).value)
    options = FusionOptions(patterns=dict.fromkeys(["fold"], FusionPolicy.KEEP))
    found, _ = fuse(decompose(graph), options)
    (node,) = found.op_nodes
    assert node.op.form.activation.name == name
