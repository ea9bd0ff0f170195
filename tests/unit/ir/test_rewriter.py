"""New graphs that are made from old ones, node by node."""

import numpy as np
import pytest

from rlx.ir import Constant, Graph, Origin, Param, QuantParams, Rewriter, State, f32, i8, rebuild
from rlx.ir.evaluate import evaluate
from rlx.ir.printer import format_graph
from rlx.ops.q import QClamp
from rlx.ops.real import RealAdd, RealMul, RealNeg, RealTopK
from support.messages import raises
from support.networks.ir_samples import clamp_graph, network


def every_source():
    """Return a graph with a source of each kind: out = (x + s) w + 1, and x + s is the next s."""
    graph = Graph("every_source")
    x = graph.input("x", f32(2), origin=Origin("m", "input"))
    graph.input("unread", f32(1))
    s = graph.state("s", f32(2))
    w = graph.param("w", f32(2))
    total = graph.apply(RealAdd(), x, s, name="add", origin=Origin("m", "layer 0", ("decompose",)))
    y = graph.apply(RealMul(), total, w, name="mul", origin=Origin("m", "layer 1"))
    z = graph.apply(RealAdd(), y, graph.constant(np.ones(2, np.float32), name="one"), name="bias")
    graph.output(total, z, names=["s", "out"])
    return graph


def node_of(graph, name):
    (node,) = (n for n in graph.nodes if n.name == name)
    return node


@pytest.mark.parametrize("graph", [network(), every_source(), clamp_graph()], ids=lambda g: g.name)
def test_what_the_loop_leaves_alone_is_kept(graph):
    rewriter = Rewriter(graph, by="nothing")
    assert list(rewriter) == list(graph.nodes)
    copy = rewriter.finish()
    assert copy is rewriter.new is not graph
    assert format_graph(copy) == format_graph(graph)
    assert rewriter.sources == {n: (o,) for n, o in zip(copy.nodes, graph.nodes, strict=True)}


def test_a_rewriter_without_a_loop_keeps_everything():
    graph = every_source()
    assert format_graph(Rewriter(graph).finish()) == format_graph(graph)


def test_inputs_states_parameters_and_constants_stay_what_they_are():
    graph = every_source()
    rewriter = Rewriter(graph, by="double")
    for node in rewriter:
        if node.name == "mul":
            first = rewriter.new.apply(RealMul(), *rewriter.operands(node))
            rewriter.replace(node, rewriter.new.apply(RealAdd(), first, first))
    new = rewriter.finish()
    assert [v.name for v in new.inputs] == ["x", "unread", "s"]
    assert [v.node.op for v in new.inputs] == [v.node.op for v in graph.inputs]
    assert new.inputs[0].node.origin == Origin("m", "input")
    assert new.output_names == ("s", "out")
    ((state, following),) = new.states
    assert isinstance(state.node.op, State)
    assert following == rewriter[graph.states[0][1]]
    assert [v.name for v in new.params] == ["w"]
    for name, op in (("w", Param), ("one", Constant)):
        assert isinstance(node_of(new, name).op, op)
        assert node_of(new, name).op is node_of(graph, name).op
    numbers = np.array([1, 2], np.float32)
    inputs = {"x": numbers, "s": numbers, "unread": numbers[:1]}
    outputs = evaluate(new, inputs, {"w": numbers})
    assert [a.tolist() for a in outputs] == [[2, 4], [5, 17]]


def test_new_nodes_have_name_and_origin_of_the_visited_one():
    graph = clamp_graph()
    rewriter = Rewriter(graph, by="split")
    for node in rewriter:
        if isinstance(node.op, QClamp):
            first = rewriter.new.apply(QClamp(low=1), *rewriter.operands(node))
            rewriter.replace(node, rewriter.new.apply(QClamp(high=9), first, name="own"))
    new = rewriter.finish()
    _, first, second = new.nodes
    assert (first.name, second.name) == ("relu", "own")
    assert first.origin.passes == ("fuse-clamps", "split")
    assert str(second.origin) == "tiny.tflite operator 0 RELU > fuse-clamps > split"
    assert new.outputs == (second.result,)
    assert new.output_names == ("y",)
    # What is built after the last node does not inherit anything.
    later = new.apply(QClamp(), second.result).node
    assert (later.name, later.origin) == ("", Origin())
    assert later not in rewriter.sources


def test_a_pass_that_runs_again_is_recorded_once():
    graph = every_source()
    for _ in range(2):
        rewriter = Rewriter(graph, by="negate")
        for node in rewriter:
            if isinstance(node.op, RealAdd | RealNeg):
                rewriter.replace(
                    node, rewriter.new.append(node.op, *rewriter.operands(node)).result
                )
        graph = rewriter.finish()
    assert node_of(graph, "add").origin == Origin("m", "layer 0", ("decompose", "negate"))
    assert node_of(graph, "mul").origin == Origin("m", "layer 1")


def joined(graph):
    """Return a rewriter that has made one node of "mul" and "bias", at the place of "mul"."""
    rewriter = Rewriter(graph, by="join")
    mul, bias = node_of(graph, "mul"), node_of(graph, "bias")
    visited = []
    for node in rewriter:
        visited.append(node)
        if node is mul:
            made = rewriter.new.apply(RealMul(), *rewriter.operands(node))
            rewriter.join((mul, bias), {bias.result: made})
    assert bias not in visited
    return rewriter


def test_a_joined_node_came_from_all_that_it_replaces():
    graph = every_source()
    rewriter = joined(graph)
    new = rewriter.finish()
    mul, bias = node_of(graph, "mul"), node_of(graph, "bias")
    node = new.outputs[1].node
    assert rewriter.sources[node] == (mul, bias)
    assert rewriter.origins(node) == (Origin("m", "layer 1"), Origin())
    assert (node.name, node.origin) == ("mul", Origin("m", "layer 1", ("join",)))
    assert bias.result in rewriter
    assert mul.result not in rewriter  # nobody may read what is inside
    assert rewriter.sources[node_of(new, "add")] == (node_of(graph, "add"),)
    assert rewriter.sources[node_of(new, "one")] == (node_of(graph, "one"),)


def test_origins_that_joined_nodes_share_are_given_once():
    graph = Graph("g")
    x = graph.input("x", f32(2))
    first = graph.apply(RealNeg(), x, origin=Origin("m", "layer"))
    second = graph.apply(RealNeg(), first, origin=Origin("m", "layer"))
    graph.output(second)
    rewriter = Rewriter(graph)
    for node in rewriter:
        if node is first.node:
            made = rewriter.new.apply(RealNeg(), rewriter[x])
            rewriter.join((first.node, second.node), {second: made})
    assert rewriter.origins(rewriter.finish().outputs[0].node) == (Origin("m", "layer"),)
    assert rewriter.origins(first.node) == ()


def test_a_node_may_be_replaced_by_an_input():
    graph = clamp_graph()
    rewriter = Rewriter(graph)
    for node in rewriter:
        if isinstance(node.op, QClamp):
            rewriter.replace(node, *rewriter.operands(node))
    new = rewriter.finish()
    assert new.outputs == new.inputs
    assert new.output_names == graph.output_names
    assert list(rewriter.sources.values()) == [(graph.nodes[0],)]


def test_a_node_may_become_an_input():
    graph = every_source()
    total = node_of(graph, "add").result
    rewriter = Rewriter(graph)
    for node in rewriter:
        if node is total.node:
            rewriter.replace(node, rewriter.new.input("total", total.type))
    assert [v.name for v in rewriter.finish().inputs] == ["x", "unread", "s", "total"]


def test_a_node_is_kept_on_other_operands():
    graph = every_source()
    rewriter = Rewriter(graph, by="turn")
    for node in rewriter:
        if node.name == "add":
            made = rewriter.keep(node, *reversed(rewriter.operands(node)))
            assert made.results == (rewriter[node.result],)
    add = node_of(rewriter.finish(), "add")
    assert [o.name for o in add.operands] == ["s", "x"]
    assert add.origin == node_of(graph, "add").origin


def test_every_result_of_a_node_is_replaced():
    graph = Graph("g")
    node = graph.append(RealTopK(count=2), graph.input("x", f32(4)))
    graph.output(*reversed(node.results), names=["places", "values"])
    new = Rewriter(graph).finish()
    assert [v.index for v in new.outputs] == [1, 0]
    rewriter = Rewriter(graph)
    for visited in rewriter:
        if visited is node:
            with raises(ValueError):
                rewriter.replace(node, *rewriter.operands(node))


def test_values_of_the_old_graph_stand_for_nothing():
    graph = clamp_graph()
    rewriter = Rewriter(graph)
    for node in rewriter:
        if isinstance(node.op, QClamp):
            with raises(ValueError):
                rewriter.replace(node, *node.operands)


def test_only_the_nodes_that_are_named_are_visited_in_their_order():
    graph = every_source()
    nodes = [node_of(graph, name) for name in ("s", "x", "add")]
    rewriter = Rewriter(graph, nodes=nodes, name="part")
    assert list(rewriter) == nodes
    new = rewriter.finish([nodes[-1].result, nodes[0].result], ["total", "before"])
    assert [n.name for n in new.nodes] == ["s", "x", "add"]
    assert (new.name, new.output_names) == ("part", ("total", "before"))
    assert node_of(graph, "mul").result not in rewriter


def test_what_comes_after_a_loop_that_stops_is_kept():
    graph = every_source()
    rewriter = Rewriter(graph)
    assert next(iter(rewriter)) is graph.nodes[0]
    assert format_graph(rewriter.finish()) == format_graph(graph)


def test_rebuild_asks_a_function_for_each_node():
    graph = clamp_graph()

    def visit(new, node, operands):
        return operands if isinstance(node.op, QClamp) else None

    new = rebuild(graph, visit, by="drop")
    assert new.outputs == new.inputs
    with raises(ValueError):
        rebuild(graph, lambda new, node, operands: ())


def test_rebuild_keeps_quantization_that_was_given():
    graph = Graph("g")
    quant = QuantParams.per_tensor(0.5, 1)
    x = graph.input("x", i8(2))
    graph.output(graph.apply(QClamp(), x, quant=quant))
    (value,) = rebuild(graph, lambda new, node, operands: None).outputs
    assert value.type.quant == quant
