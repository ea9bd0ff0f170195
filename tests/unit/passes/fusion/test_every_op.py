"""Graphs of every op, and random networks, go through fusion unharmed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx.ops import NN_OPS, Q_OPS, REAL_OPS
from rlx.passes.decompose import decompose
from rlx.passes.fusion import fuse
from strategies import STRATEGIES, float_graphs, random_graphs
from support.references.ulps import check_fused

OPS = [*NN_OPS, *REAL_OPS, *Q_OPS]


def check(case):
    graph = decompose(case.graph)
    fused, report = fuse(graph)
    check_fused(graph, fused, report, case.inputs)
    return graph, fused, report


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
@settings(max_examples=4)
@given(data=st.data())
def test_a_graph_of_one_op(op, data):
    check(data.draw(STRATEGIES[op](size=3)))


@settings(max_examples=60)
@given(float_graphs())
def test_float_networks(case):
    check(case)


@settings(max_examples=40)
@given(random_graphs())
def test_integer_networks_stay_as_they_are(case):
    graph, fused, report = check(case)
    assert report.fused == ()
    assert [n.op.name for n in fused.op_nodes] == [n.op.name for n in graph.op_nodes]
