"""Elementwise nodes as tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx.ir import DType, Graph, TensorType, i8
from rlx.ir.evaluate import evaluate
from rlx.ops.q import Q_OPS, QClamp, QConvert, QMaximum, QReshape, QSigmoid16, QTanh16
from rlx.ops.tabulate import tabulated
from strategies import STRATEGIES

# q.convert leaves int8 or comes to it; the others are on int16.
WITHOUT_TABLES = (QConvert, QSigmoid16, QTanh16)
ELEMENTWISE = [op for op in Q_OPS if op.traits.elementwise and op not in WITHOUT_TABLES]


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
@settings(max_examples=25)
@given(data=st.data())
def test_tables_give_what_the_op_gives(op, data):
    case = data.draw(STRATEGIES[op](size=3))
    (node,) = (n for n in case.graph.op_nodes if type(n.op) is op)
    found = tabulated(node)
    if found is None:
        assert len(node.operands) == 2
        return
    (expected,) = evaluate(case.graph, case.inputs)
    x = case.inputs[found.operand.name]
    channels = np.arange(x.shape[-1]) % len(found.tables)
    assert np.array_equal(found.tables[channels, x.astype(int) + 128], expected)


def node(op, *operands):
    graph = Graph("g")
    values = [
        graph.constant(o) if isinstance(o, np.ndarray) else graph.input(f"x{i}", i8(*o))
        for i, o in enumerate(operands)
    ]
    return graph.append(op, *values, name="node")


def on_int16(op):
    graph = Graph("g")
    return graph.append(op, graph.input("x", TensorType((2, 3), DType.I16)), name="node")


def test_equal_tables_are_one():
    found = tabulated(node(QMaximum(), (2, 3), np.full(3, 7, np.int8)))
    assert found is not None
    assert found.tables.tolist() == [[max(v, 7) for v in range(-128, 128)]]
    assert len(tabulated(node(QMaximum(), np.array([1, 2, 3], np.int8), (2, 3))).tables) == 3


@pytest.mark.parametrize(
    "refused",
    [
        node(QMaximum(), (2, 3), (2, 3)),
        node(QMaximum(), (2, 3), np.zeros((2, 1), np.int8)),
        node(QMaximum(), (1, 3), np.zeros((2, 3), np.int8)),
        node(QMaximum(), (1, 3), np.zeros((2, 1), np.int8)),
        node(QReshape(shape=(3, 2)), (2, 3)),
        on_int16(QSigmoid16(multiplier=1, shift=0)),
        on_int16(QClamp(low=3, high=5)),
    ],
    ids=str,
)
def test_other_nodes_have_no_tables(refused):
    assert tabulated(refused) is None


def test_a_node_of_rank_zero_has_a_table():
    assert tabulated(node(QClamp(low=3, high=5), ())).tables.shape == (1, 256)
