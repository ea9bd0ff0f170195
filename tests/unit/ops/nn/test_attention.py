from __future__ import annotations

import math

import numpy as np
import pytest

from rlx.ir import Dim, DType, Graph, TensorType, f32, i8
from rlx.ir.binding import substitute
from rlx.ir.evaluate import evaluate
from rlx.ops.nn import NnAttention
from rlx.passes.transforms.bind import bind
from rlx.runtime import Session
from rlx.support.errors import ShapeError
from support.messages import raises

GENERATOR = np.random.default_rng(0)
Q, K, V = (GENERATOR.standard_normal((2, 3, *s)) for s in ((4, 5), (6, 5), (6, 2)))


def attend(q, k, v, allowed, added, scale, cap=None):
    """The definition for one head, query by query."""
    result = []
    for s, query in enumerate(q):
        scores = {}
        for t in range(len(k)):
            score = math.fsum(query * k[t]) * scale
            score = score if cap is None else cap * math.tanh(score / cap)
            if allowed[s][t]:
                scores[t] = score + added[s][t]
        top = max(scores.values())
        whole = math.fsum(math.exp(x - top) for x in scores.values())
        shares = {t: math.exp(x - top) / whole for t, x in scores.items()}
        result.append([math.fsum(shares[t] * v[t][e] for t in shares) for e in range(v.shape[1])])
    return np.array(result)


SCALE = 1 / math.sqrt(5)


def check(op, *mask, allowed=None, added=None, scale=SCALE, cap=None):
    everywhere, zero = np.ones((4, 6), bool), np.zeros((4, 6))
    allowed = everywhere if allowed is None else allowed
    added = zero if added is None else added
    (y,) = op.evaluate(Q, K, V, *mask)
    for head in np.ndindex(2, 3):
        expected = attend(Q[head], K[head], V[head], allowed, added, scale, cap)
        # Numbers of order 1 after some thirty roundings in float64.
        np.testing.assert_allclose(y[head], expected, rtol=0, atol=1e-13)


def test_every_query_attends_to_every_key():
    check(NnAttention())


def test_scale_and_soft_cap():
    check(NnAttention(scale=0.3), scale=0.3)
    check(NnAttention(soft_cap=0.7), cap=0.7)


def test_masks():
    allowed = GENERATOR.random((4, 6)) < 0.6
    allowed[:, 0] = True
    check(NnAttention(), allowed, allowed=allowed)
    added = GENERATOR.standard_normal((4, 6))
    check(NnAttention(), added, added=added)


def test_causal_queries_are_the_last_ones():
    allowed = np.array([[key <= query + 2 for key in range(6)] for query in range(4)])
    check(NnAttention(causal=True), allowed=allowed)
    near = allowed & np.array([[key >= query + 2 - 1 for key in range(6)] for query in range(4)])
    check(NnAttention(causal=True, window=1), allowed=near)


@pytest.mark.parametrize("window", [None, 0, 1, 3])
@pytest.mark.parametrize("sizes", [{"s": 1, "t": 6}, {"s": 4, "t": 4}, {"s": 3, "t": 7}], ids=str)
def test_causal_mask_of_symbolic_lengths(window, sizes):
    op = NnAttention(causal=True, window=window)
    graph = Graph("g")
    s, t = Dim("s"), Dim("t")
    types = {"q": f32(2, s, 4), "k": f32(2, t, 4), "v": f32(2, t, 3)}
    (y,) = op.decompose(graph, *(graph.input(name, type_) for name, type_ in types.items()))
    graph.output(y, names=["y"])
    assert y.type == f32(2, s, 3)
    arrays = {
        name: GENERATOR.standard_normal(substitute(type_, sizes).shape).astype(np.float32)
        for name, type_ in types.items()
    }
    (expected,) = op.evaluate(*arrays.values())
    np.testing.assert_array_equal(evaluate(graph, arrays)[0], expected)
    np.testing.assert_array_equal(evaluate(bind(graph, sizes), arrays)[0], expected)
    (simple,) = Session().compile(graph).run(arrays)
    np.testing.assert_array_equal(simple, expected)


def test_a_query_that_attends_to_nothing_gives_nan():
    nothing = np.zeros((4, 6), bool)
    assert np.isnan(NnAttention().evaluate(Q, K, V, nothing)[0]).all()


def test_types_with_symbols():
    batch, length = Dim("batch"), Dim("length")
    q, k = f32(batch, 2, length, 4), f32(batch, 1, 7, 4)
    assert NnAttention().infer(q, k, f32(batch, 1, 7, 3)) == (f32(batch, 2, length, 3),)


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        (NnAttention(), (f32(4), f32(6, 4), f32(6, 4))),
        (NnAttention(), (f32(2, 4), f32(6, 5), f32(6, 4))),
        (NnAttention(), (f32(2, 4), f32(6, 4), f32(6, 4), i8(2, 6))),
        (NnAttention(), (f32(2, Dim("d")), f32(6, Dim("d")), f32(6, 4))),
        (NnAttention(), (f32(2, 0), f32(6, 0), f32(6, 4))),
        (NnAttention(window=2), (f32(2, 4), f32(6, 4), f32(6, 4))),
        (NnAttention(), (f32(2, 2, 4), f32(3, 6, 4), f32(3, 6, 4))),
    ],
)
def test_refusals(op, operands):
    with raises(ShapeError):
        op.infer(*operands)


def test_mask_of_booleans_is_one_of_the_types():
    mask = TensorType((2, 6), DType.BOOL)
    assert NnAttention().infer(f32(2, 4), f32(6, 4), f32(6, 3), mask) == (f32(2, 3),)
