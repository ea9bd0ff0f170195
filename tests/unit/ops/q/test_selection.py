from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Graph, QuantParams, i8
from rlx.ir.evaluate import evaluate
from rlx.ops.q import selection
from support.references.oracle import codes

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Value

PARAMS = QuantParams.per_tensor(0.5, -7)


def result(build: Callable[[Graph, Value], Value], x: np.ndarray) -> tuple[np.ndarray, Graph]:
    """Return the result of a selection, and its graph; the quantization must stay."""
    graph = Graph("selection")
    value = build(graph, graph.input("x", i8(*x.shape, quant=PARAMS)))
    assert value.type.quant == PARAMS
    graph.output(value)
    (array,) = evaluate(graph, {"x": x})
    return array, graph


@given(st.lists(st.integers(1, 7), min_size=1, max_size=3), st.data(), st.integers(0, 2**16))
def test_a_selection_equals_take(shape, data, seed: int) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    picked = data.draw(st.lists(st.integers(0, shape[axis] - 1), min_size=1, max_size=20))
    indices, x = np.array(picked), codes(seed, tuple(shape))
    assert selection.check_runs(indices, shape[axis]) is None
    found, _ = result(lambda g, v: selection.select(g.apply, v, axis, indices), x)
    assert np.array_equal(found, np.take(x, indices, axis))


@pytest.mark.parametrize(
    ("indices", "ops"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7], 0),
        ([1, 3, 5], 1),
        ([4, 5, 0, 1], 3),
        ([5, 3], 3),
        ([7, 5, 3, 1], 6),  # a slice, and its four elements joined in opposite order
        ([2] * 50, 2),
        (sorted([*range(8)] * 2), 3),
    ],
)
def test_runs_need_few_ops(indices: list[int], ops: int) -> None:
    x = codes(0, (2, 8, 3))
    found, graph = result(lambda g, v: selection.select(g.apply, v, 1, np.array(indices)), x)
    assert np.array_equal(found, np.take(x, indices, 1))
    assert len(list(graph.op_nodes)) == ops


@pytest.mark.parametrize("size", [1, 2, 13, 16, 17, 34, 97, 121, 224])
def test_a_reversed_axis_equals_flip(size: int) -> None:
    x = codes(size, (2, size, 3))
    found, graph = result(lambda g, v: selection.reverse(g.apply, v, 1), x)
    assert np.array_equal(found, np.flip(x, 1))
    assert len(list(graph.op_nodes)) < 60


@pytest.mark.parametrize("count", [1, 2, 64, 65, 128, 130, 5000])
def test_copies_equal_tile(count: int) -> None:
    x = codes(count, (2, 3))
    found, graph = result(lambda g, v: selection.copies(g.apply, v, 1, count), x)
    assert np.array_equal(found, np.tile(x, (1, count)))
    assert all(len(node.operands) <= 64 for node in graph.op_nodes)


@pytest.mark.parametrize(
    ("indices", "reason"),
    [
        ([], "its indices are empty, or outside of the axis"),
        ([3, -1], "its indices are empty, or outside of the axis"),
        ([200], "its indices are empty, or outside of the axis"),
        ([5, 5, 0] * 40, "it comes down to 81 slices, expected at most 64"),
    ],
)
def test_indices_without_a_form_are_refused(indices: list[int], reason: str) -> None:
    refusal = selection.check_runs(np.array(indices, np.int64), 200)
    assert refusal is not None
    assert refusal.reason == reason
