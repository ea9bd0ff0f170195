"""Facts about a node are found out once."""

import gc
import weakref

import pytest

from rlx.ir import Graph, copy_node, i8, once_per_node
from rlx.ops.q import QClamp


def clamp():
    graph = Graph("g")
    return graph, graph.apply(QClamp(low=0), graph.input("x", i8(2))).node


def test_a_function_runs_once_for_each_node_and_arguments():
    runs = []

    @once_per_node
    def looked_at(node, core="m4", *, fast=False):
        runs.append((node.index, core, fast))
        return object()

    graph, node = clamp()
    assert looked_at(node) is looked_at(node)
    assert looked_at(node, "m0") is not looked_at(node)
    assert looked_at(node, fast=True) is looked_at(node, fast=True)
    looked_at(copy_node(graph, node, node.operands))
    assert runs == [(1, "m4", False), (1, "m0", False), (1, "m4", True), (2, "m4", False)]


def test_two_functions_do_not_mix():
    first, second = once_per_node(lambda node: "first"), once_per_node(lambda node: "second")
    _, node = clamp()
    assert (first(node), second(node)) == ("first", "second")


def test_errors_are_not_kept():
    runs = []

    @once_per_node
    def fails(node):
        runs.append(node)
        raise ValueError("no")

    _, node = clamp()
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^no$"):
            fails(node)
    assert runs == [node, node]


def test_results_are_freed_with_the_graph():
    class Found:
        pass

    @once_per_node
    def found(node):
        result = Found()
        result.node = node
        return result

    graph, node = clamp()
    left = weakref.ref(found(node))
    del graph, node
    gc.collect()
    assert left() is None
