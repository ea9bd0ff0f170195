from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx.ir import Dim, f32, i8, i32
from rlx.ops.real import RealAveragePool, RealMaxPool, SpatialWindow
from rlx.support.errors import ShapeError
from strategies import STRATEGIES
from support.messages import raises


def seen(x, window, n, place, channel):
    """The elements of the image that one window sees."""
    for tap in product(*map(range, window.kernel)):
        source = [
            p * s + k * d - before
            for p, s, k, d, (before, _) in zip(
                place, window.stride, tap, window.dilation, window.padding, strict=True
            )
        ]
        if all(0 <= i < m for i, m in zip(source, x.shape[1:-1], strict=True)):
            yield int(x[(n, *source, channel)])


def whole_numbers(case):
    (x,) = (o.type.shape for o in next(case.graph.op_nodes).operands)
    return np.random.default_rng(0).integers(-100, 100, x)


@settings(max_examples=30)
@given(data=st.data())
def test_max_is_the_greatest_that_is_seen(data):
    case = data.draw(STRATEGIES[RealMaxPool](size=2))
    (node,) = case.graph.op_nodes
    x = whole_numbers(case)
    for dtype in (np.float32, np.int8):
        (y,) = node.op.evaluate(x.astype(dtype))
        for n, *place, c in np.ndindex(y.shape):
            assert y[(n, *place, c)] == max(seen(x, node.op.window, n, place, c))


@settings(max_examples=30)
@given(data=st.data())
def test_average_is_the_mean_of_what_is_seen(data):
    case = data.draw(STRATEGIES[RealAveragePool](size=2))
    (node,) = case.graph.op_nodes
    x = whole_numbers(case)
    (y,) = node.op.evaluate(x.astype(np.float64))
    for n, *place, c in np.ndindex(y.shape):
        numbers = list(seen(x, node.op.window, n, place, c))
        count = int(np.prod(node.op.window.kernel)) if node.op.count_padding else len(numbers)
        # The sum of integers is exact: one rounding is left, that of the division.
        assert y[(n, *place, c)] == float(Fraction(sum(numbers), count))


def test_padding_is_never_the_greatest():
    op = RealMaxPool(window=SpatialWindow((2,), padding=((1, 1),)))
    assert op.evaluate(np.full((1, 1, 1), -5.0))[0].ravel().tolist() == [-5.0, -5.0]
    assert op.evaluate(np.full((1, 1, 1), -128, np.int8))[0].ravel().tolist() == [-128, -128]


def test_types():
    window = SpatialWindow((2, 2), (2, 2))
    batch = Dim("batch")
    assert RealMaxPool(window=window).infer(i32(batch, 4, 6, 3)) == (i32(batch, 2, 3, 3),)
    assert RealAveragePool(window=window).infer(f32(1, 4, 6, 3)) == (f32(1, 2, 3, 3),)


def test_refusals():
    wide = SpatialWindow((2, 2), padding=((0, 2), (0, 0)))
    with raises(ShapeError):
        RealMaxPool(window=wide).infer(f32(1, 4, 4, 1))
    with raises(ShapeError):
        RealAveragePool(window=wide).infer(f32(1, 4, 4, 1))
    with raises(ShapeError):
        RealAveragePool(window=SpatialWindow((2, 2))).infer(i8(1, 4, 4, 1))
