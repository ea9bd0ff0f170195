"""Chains of casts and reshapes behind an argmax become one of each, with the same values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import DType, Graph, TensorType
from rlx.ir.evaluate import evaluate
from rlx.ops.real import RealArgmax, RealCast, RealReshape
from rlx.passes.index_chains import IndexChains

TYPES = [DType.I8, DType.U8, DType.I16, DType.I32, DType.I64, DType.F32, DType.F16]
SHAPES = [(2, 3), (6,), (1, 6), (3, 1, 2)]


def chain(size, steps):
    """Return a graph with an argmax over ``size`` numbers and what follows it."""
    graph = Graph("net")
    value = graph.apply(RealArgmax(axis=1), graph.input("x", TensorType((6, size), DType.F32)))
    for step in steps:
        op = RealCast(dtype=step) if isinstance(step, DType) else RealReshape(shape=step)
        value = graph.apply(op, value)
    graph.output(value)
    return graph


@given(st.integers(1, 300), st.lists(st.sampled_from([*TYPES, *SHAPES]), max_size=6), st.data())
def test_the_values_stay_the_same(size, steps, data):
    graph = chain(size, steps)
    made = IndexChains().apply(graph)
    x = np.zeros((6, size), np.float32)
    x[np.arange(6), data.draw(st.lists(st.integers(0, size - 1), min_size=6, max_size=6))] = 1
    (wanted,), (found,) = (evaluate(g, {"x": x}) for g in (graph, made))
    assert wanted.dtype == found.dtype
    np.testing.assert_array_equal(wanted, found)
    assert len(made.nodes) <= len(graph.nodes)


@pytest.mark.parametrize(
    ("size", "steps", "ops"),
    [
        (3, [DType.I64, (6, 1), (6,), DType.I32, (1, 6), DType.F32, (6,), DType.I64], ["cast"]),
        (3, [DType.I64, (2, 3), DType.I32], ["reshape"]),
        (3, [DType.F32, DType.I32], []),
        # int8 has no 200: the indices wrap around, and stay as they are.
        (300, [DType.I8, DType.I32], ["cast", "cast"]),
    ],
)
def test_what_is_left(size, steps, ops):
    made = IndexChains().apply(chain(size, steps))
    assert [n.op.name for n in made.op_nodes] == ["real.argmax", *(f"real.{op}" for op in ops)]
