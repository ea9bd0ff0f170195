from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import rlx
from rlx.ir import Op, f32
from rlx.ops.nn import NnOp
from rlx.passes.decompose import Decompose, decompose
from support.messages import raises


def test_layers_inside_layers_come_down_to_algebra():
    graph = rlx.trace("g", lambda q: q.attention(q, q).hard_swish(), f32(4, 8)).graph
    plain = decompose(graph)
    assert {n.op.dialect for n in plain.op_nodes} == {"real"}
    assert all(n.origin.passes == ("decompose",) for n in plain.op_nodes)
    assert [o.type for o in plain.outputs] == [o.type for o in graph.outputs]


def test_a_graph_of_algebra_is_left_alone():
    graph = rlx.trace("g", lambda x: x + 1.0, f32(2)).graph
    assert decompose(graph) is graph


def test_several_results_are_all_replaced():
    graph = rlx.trace("g", lambda x: x.split([1, 3]), f32(4)).graph
    assert [o.type for o in decompose(graph).outputs] == [f32(1), f32(3)]


def test_an_op_that_decomposes_to_itself_is_our_bug():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Endless(NnOp):
        name: ClassVar[str] = "test.endless"

        def infer(self, *operands):
            return operands

        def expand(self, *operands):
            return operands[0].apply(Endless())

    try:
        graph = rlx.Graph("g")
        graph.output(graph.input("x", 2).apply(Endless()))
        with raises(AssertionError):
            Decompose(rounds=3).apply(graph.graph)
    finally:
        del Op.registry["test.endless"]
