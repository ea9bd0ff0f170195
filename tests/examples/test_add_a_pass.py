"""The pass of docs/how-to/add-a-pass.md: its commands, and that it keeps every bit."""

import sys

import numpy as np
import pytest
from hypothesis import given

from rlx.ir import Graph, GraphModule, i8
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.ops.q import QPad
from strategies import random_graphs
from support import ROOT
from support.page_commands import assert_prints, commands

FOLDER = ROOT / "examples" / "hello_pass"


@pytest.fixture(scope="module")
def merge_pads():
    """The pass."""
    sys.path.insert(0, str(FOLDER))
    try:
        import main

        yield main.MergePads()
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.pop("main", None)


@pytest.mark.slow
def test_the_commands_of_the_page_print_what_it_shows(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    pairs = commands(ROOT / "docs" / "how-to" / "add-a-pass.md")
    assert len(pairs) == 6
    for command, wanted in pairs:
        assert_prints(command, wanted, tmp_path, {})


def pads(*values):
    graph = Graph("pads")
    x = graph.input("x", i8(2))
    for value in values:
        x = graph.apply(QPad(before=(1,), after=(2,), value=value), x)
    graph.output(x, names=["y"])
    return graph


@pytest.mark.parametrize(
    ("values", "merged"), [((1, 1), 1), ((1, 1, 1), 1), ((1, 2), 2), ((1, 2, 2, 1), 3), ((1,), 1)]
)
def test_pads_of_one_value_are_merged(merge_pads, values, merged):
    graph = pads(*values)
    made = graph
    for _ in values:
        made = merge_pads.apply(made)
    used = {made.outputs[0].node}
    for node in reversed(made.nodes):
        if node in used:
            used |= {o.node for o in node.operands}
    assert sum(isinstance(node.op, QPad) for node in used) == merged
    x = {"x": np.array([5, -5], np.int8)}
    assert evaluate(made, x)[0].tolist() == evaluate(graph, x)[0].tolist()
    assert (made is graph) == (merged == len(values))


def test_it_keeps_every_bit_of_networks(merge_pads):
    @given(case=random_graphs(size=3))
    def check(case):
        after = merge_pads.apply(case.graph)
        verify(GraphModule.mir(after))
        expected, got = evaluate(case.graph, case.inputs), evaluate(after, case.inputs)
        assert [a.tolist() for a in got] == [a.tolist() for a in expected]

    check()
