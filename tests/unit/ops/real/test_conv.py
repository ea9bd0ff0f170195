from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx.ir import Dim, f32, i32
from rlx.ops.real import RealConv, SpatialWindow
from rlx.support.errors import ShapeError
from strategies import STRATEGIES
from support.messages import raises


def naive(x, w, window, groups):
    """The definition, one output element after the other, in Python's integers."""
    size = window.output_size(x.shape[1:-1])
    outputs, inner = w.shape[0], w.shape[-1]
    y = np.zeros((x.shape[0], *size, outputs), object)
    for n, *place, o in np.ndindex(y.shape):
        first = o // (outputs // groups) * inner
        for tap in product(*map(range, window.kernel)):
            source = [
                p * s + k * d - before
                for p, s, k, d, (before, _) in zip(
                    place, window.stride, tap, window.dilation, window.padding, strict=True
                )
            ]
            if all(0 <= i < m for i, m in zip(source, x.shape[1:-1], strict=True)):
                seen = x[(n, *source, slice(first, first + inner))]
                y[(n, *place, o)] += int((seen.astype(object) * w[(o, *tap)].astype(object)).sum())
    return y


@settings(max_examples=40)
@given(data=st.data())
def test_convolution_of_whole_numbers_is_the_definition(data):
    case = data.draw(STRATEGIES[RealConv](size=2))
    (node,) = case.graph.op_nodes
    generator = np.random.default_rng(0)
    # Sums of so few small products are exact in float32.
    x, w = (generator.integers(-4, 5, o.type.shape).astype(np.float32) for o in node.operands)
    (y,) = node.op.evaluate(x, w)
    assert (
        y.tolist() == naive(x.astype(int), w.astype(int), node.op.window, node.op.groups).tolist()
    )


def test_prepared_form_is_equal_and_takes_weights_that_change():
    op = RealConv(window=SpatialWindow((2,)))
    x, w = np.ones((1, 3, 2), np.float32), np.ones((4, 2, 2), np.float32)
    np.testing.assert_array_equal(op.prepare([None, w])(x, w)[0], np.full((1, 2, 4), 4.0))
    changing = op.prepare([None, None])
    np.testing.assert_array_equal(changing(x, 2 * w)[0], np.full((1, 2, 4), 8.0))


def test_half_precision_accumulates_in_single():
    op = RealConv(window=SpatialWindow((1,)))
    x = np.ones((1, 1, 4096), np.float16)
    (y,) = op.evaluate(x, x)
    # Adding 1 to 2048 one by one would stay at 2048 in f16.
    assert y.tolist() == [[[4096.0]]]


def test_types_for_any_number_of_axes():
    batch = Dim("batch")
    one = RealConv(window=SpatialWindow((3,), (2,)))
    three = RealConv(window=SpatialWindow((1, 2, 3)), groups=2)
    assert one.infer(f32(batch, 9, 4), f32(5, 3, 4)) == (f32(batch, 4, 5),)
    assert three.infer(f32(2, 4, 4, 4, 4), f32(6, 1, 2, 3, 2)) == (f32(2, 4, 3, 2, 6),)


@pytest.mark.parametrize(
    ("groups", "x", "w"),
    [
        (1, f32(1, 8, 4), i32(4, 3, 4)),
        (1, f32(1, 8, 4), f32(4, 3)),
        (1, f32(1, 8, 4), f32(Dim("o"), 3, 4)),
        (1, f32(1, 8, 4), f32(4, 2, 4)),
        (3, f32(1, 8, 4), f32(4, 3, 4)),
        (0, f32(1, 8, 4), f32(4, 3, 4)),
        (2, f32(1, 8, 4), f32(4, 3, 4)),
    ],
)
def test_refusals(groups, x, w):
    with raises(ShapeError):
        RealConv(window=SpatialWindow((3,)), groups=groups).infer(x, w)
