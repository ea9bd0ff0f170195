"""Differences between two graphs."""

import json

import numpy as np
import pytest
from hypothesis import given

from rlx.ir import Graph, QuantParams, f32, i8, rebuild
from rlx.ir.diff import inspect_graph_diff
from rlx.ops.q import QClamp, QMaxPool2d, Window
from rlx.ops.real import RealAdd, RealNeg, RealSub, RealTopK
from strategies import random_graphs
from support.networks.ir_samples import SAMPLES, clamp_graph, network


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_equal_graphs_do_not_differ(make):
    diff = inspect_graph_diff(make(), make())
    assert not diff
    assert (diff.added, diff.removed, diff.changed, diff.outputs) == ((), (), (), ())
    assert diff.unchanged == len(make().nodes)


@given(random_graphs(size=3))
def test_networks_do_not_differ_from_themselves(case):
    assert not inspect_graph_diff(case.graph, case.graph)


def test_changed_attribute():
    diff = inspect_graph_diff(clamp_graph(), clamp_graph(low=5))
    assert diff
    (change,) = diff.changed
    assert change.details == ("low: -3 -> 5",)
    assert change.before.startswith("%1 = q.clamp(%0) {low=-3, high=127}")
    assert str(diff) == (
        '--- "tiny"\n'
        '+++ "tiny"\n'
        '~ %1 = q.clamp(%0) {low=5, high=127} : i8[1, 4] q(0.5, -3) name "relu" from'
        ' "tiny.tflite" at "operator 0 RELU" by "fuse-clamps"\n'
        "    low: -3 -> 5\n"
        "1 node unchanged"
    )


def test_changed_constant_and_nothing_behind_it():
    graph = network()

    def visit(new, node, operands):
        del operands
        if node.name != "kernel":
            return None
        return (new.constant(-node.op.value, name="kernel", quant=node.types[0].quant),)

    diff = inspect_graph_diff(graph, rebuild(graph, visit))
    (change,) = diff.changed
    assert change.before.startswith("%1 = core.constant()")
    assert change.details[0].startswith("value: dense<...")
    assert len(change.details) == 1
    assert diff.unchanged == len(graph.nodes) - 1


def test_removed_node():
    graph = network()

    def visit(new, node, operands):
        del new
        return operands[:1] if node.op.name == "q.softmax" else None

    diff = inspect_graph_diff(graph, rebuild(graph, visit))
    assert [line.partition(" = ")[0] for line in diff.removed] == ["%8"]
    assert (diff.added, diff.changed) == ((), ())
    assert diff.outputs == ("output 0: %8 -> %7",)
    assert diff.op_counts == {"q.softmax": (1, 0)}
    lines = str(diff).splitlines()
    assert lines[2] == "  q.softmax: 1 -> 0"
    assert lines[3].startswith("- %8 = q.softmax(%7)")
    assert lines[4:] == ["~ output 0: %8 -> %7", "8 nodes unchanged"]


def chain(*ops, shape=(4,), name=""):
    graph = Graph("g")
    value = graph.input("x", i8(*shape))
    for op in ops:
        value = graph.apply(op, value, name=name)
    graph.output(value, names=["y"])
    return graph


def test_added_node_changes_the_operand_of_the_next_one():
    diff = inspect_graph_diff(
        chain(QClamp(low=1), QClamp(low=3)), chain(QClamp(low=1), QClamp(low=2), QClamp(low=3))
    )
    assert diff.added == ("%2 = q.clamp(%1) {low=2, high=127} : i8[4]",)
    (change,) = diff.changed
    assert change.details == ("operand 0: %1 -> %2",)
    assert str(diff).splitlines()[2:] == [
        "  q.clamp: 2 -> 3",
        "+ %2 = q.clamp(%1) {low=2, high=127} : i8[4]",
        "~ %3 = q.clamp(%2) {low=3, high=127} : i8[4]",
        "    operand 0: %1 -> %2",
        "2 nodes unchanged",
    ]


def test_fused_nodes():
    pool = QMaxPool2d(window=Window((2, 2)))
    fused = QMaxPool2d(window=Window((2, 2)), low=3)
    shape = (1, 4, 4, 1)
    diff = inspect_graph_diff(chain(pool, QClamp(low=3), shape=shape), chain(fused, shape=shape))
    assert [c.details for c in diff.changed] == [("low: -128 -> 3",)]
    assert len(diff.removed) == 1
    assert diff.outputs == ("output 0: %2 -> %1",)


def test_replaced_op_is_removed_and_added():
    def graph(op):
        g = Graph("g")
        x = g.input("x", f32(2))
        g.output(g.apply(RealNeg(), g.apply(op, x, x)))
        return g

    diff = inspect_graph_diff(graph(RealAdd()), graph(RealSub()))
    assert diff.op_counts == {"real.add": (1, 0), "real.sub": (0, 1)}
    assert (len(diff.added), len(diff.removed), len(diff.changed)) == (1, 1, 1)
    assert diff.changed[0].details == ("operand 0: %1 -> %1",)


def test_changed_types_inputs_and_results():
    def graph(scale, result, name="x"):
        g = Graph("g")
        x = g.input(name, i8(4, quant=QuantParams.per_tensor(scale)))
        g.output(x)
        top = g.append(RealTopK(count=1), g.input("z", f32(3)))
        g.output(top.results[result])
        return g

    diff = inspect_graph_diff(graph(0.5, 0), graph(0.25, 1))
    assert [c.details for c in diff.changed] == [("type: i8[4] q(0.5, 0) -> i8[4] q(0.25, 0)",)]
    assert diff.outputs == ("output 1: %2:0 -> %2:1",)
    renamed = inspect_graph_diff(graph(0.5, 0), graph(0.5, 0, name="other"))
    assert not renamed.removed


def test_number_of_operands_and_outputs():
    def graph(count):
        from rlx.ops.q import QConcat

        g = Graph("g")
        x = g.input("x", i8(4))
        y = g.apply(QConcat(axis=0), *[x] * count, name="join")
        g.output(*[y] * count)
        return g

    diff = inspect_graph_diff(graph(2), graph(3))
    assert diff.changed[0].details == ("type: i8[8] -> i8[12]", "operands: 2 -> 3")
    assert diff.outputs == ("outputs: 2 -> 3",)


def test_duplicates_are_paired_in_order():
    graph = Graph("g")
    x = graph.input("x", i8(2))
    twins = [graph.apply(QClamp(low=1), x) for _ in range(3)]
    graph.output(*twins)
    assert not inspect_graph_diff(graph, graph)


def test_data_is_json():
    data = inspect_graph_diff(clamp_graph(), network()).to_dict()
    text = json.loads(json.dumps(data))
    assert text["op_counts"]["q.clamp"] == [1, 0]
    assert "lines" not in text
    assert len(text["added"]) + text["unchanged"] + len(text["changed"]) == len(network().nodes)


def test_contents_decide_even_where_the_text_is_abbreviated():
    def graph(last):
        g = Graph("g")
        g.output(g.constant(np.array([*range(40), last], np.int32), name="c"))
        return g

    assert inspect_graph_diff(graph(1), graph(2)).changed[0].details[0].startswith("value: ")
    assert not inspect_graph_diff(graph(1), graph(1))
