from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx.ir import Dim, f32
from rlx.ops.nn import Layout, NnConv, NnConvTranspose
from rlx.ops.real import RealConv, SpatialWindow
from rlx.support.errors import ShapeError
from strategies import STRATEGIES
from support.messages import raises

GENERATOR = np.random.default_rng(0)
FIRST, LAST = Layout.CHANNELS_FIRST, Layout.CHANNELS_LAST


def whole(shape):
    """Small integers, whose sums of products are exact in float32."""
    return GENERATOR.integers(-4, 5, shape).astype(np.float32)


def to_first(x):
    return np.moveaxis(x, -1, 1)


@pytest.mark.parametrize("with_bias", [False, True])
def test_layouts_are_the_same_convolution(with_bias):
    window = SpatialWindow((3, 2), (2, 1), padding=((1, 0), (0, 1)))
    x, w, bias = whole((2, 5, 6, 4)), whole((6, 3, 2, 2)), whole((6,))
    (expected,) = RealConv(window=window, groups=2).evaluate(x, w)
    extra = (bias,) if with_bias else ()
    expected = expected + bias if with_bias else expected
    (last,) = NnConv(window=window, groups=2).evaluate(x, w, *extra)
    (first,) = NnConv(window=window, groups=2, layout=FIRST).evaluate(
        to_first(x), to_first(w), *extra
    )
    np.testing.assert_array_equal(last, expected)
    np.testing.assert_array_equal(first, to_first(expected))


def scattered(x, w, op):
    """Transposed convolution by its definition: every input element adds its kernel."""
    window, (batch, *size, channels) = op.window, x.shape
    extra = op.output_padding or (0,) * window.rank
    full = [
        (n - 1) * s + e + more
        for n, s, e, more in zip(size, window.stride, window.extent, extra, strict=True)
    ]
    inner, outputs = channels // op.groups, w.shape[-1]
    y = np.zeros((batch, *full, outputs * op.groups))
    for place, tap, c in product(np.ndindex(*size), np.ndindex(*window.kernel), range(channels)):
        target = (
            p * s + k * d
            for p, s, k, d in zip(place, window.stride, tap, window.dilation, strict=True)
        )
        first = c // inner * outputs
        part = (slice(None), *target, slice(first, first + outputs))
        y[part] += x[(slice(None), *place, c)][:, None] * w[(c, *tap)]
    cut = (
        slice(before, n - after) for n, (before, after) in zip(full, window.padding, strict=True)
    )
    return y[(slice(None), *cut)]


@settings(max_examples=40)
@given(data=st.data())
def test_transposed_convolution_adds_kernels(data):
    case = data.draw(STRATEGIES[NnConvTranspose](size=2))
    (node,) = case.graph.op_nodes
    op = node.op
    x, w, *bias = (whole(o.type.shape) for o in node.operands)
    (y,) = op.evaluate(x, w, *bias)
    if op.layout is FIRST:
        x, w, y = (np.moveaxis(a, 1, -1) for a in (x, w, y))
    expected = scattered(x, w, op)
    np.testing.assert_array_equal(y, expected + bias[0] if bias else expected)


def test_transposed_convolution_is_the_adjoint():
    """<conv(x), u> == <x, conv_transpose(u)> with the same kernel, exactly."""
    window = SpatialWindow((3,), (2,), padding=((1, 1),))
    x, w = whole((1, 9, 2)), whole((4, 3, 2))
    (y,) = RealConv(window=window).evaluate(x, w)
    u = whole(y.shape)
    (back,) = NnConvTranspose(window=window).evaluate(u, w)
    assert (y * u).sum() == (x * back).sum()


def test_types():
    batch, window = Dim("batch"), SpatialWindow((3, 3), (2, 2))
    conv = NnConv(window=window, layout=FIRST)
    assert conv.infer(f32(batch, 3, 9, 9), f32(8, 3, 3, 3)) == (f32(batch, 8, 4, 4),)
    up = NnConvTranspose(window=window, output_padding=(1, 0))
    assert up.infer(f32(batch, 4, 4, 3), f32(3, 3, 3, 8)) == (f32(batch, 10, 9, 8),)


W3 = SpatialWindow((3,))


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        (NnConv(window=W3), (f32(1, 2, 4), f32(5, 3, 4))),
        (NnConv(window=W3), (f32(1, 8, 4), f32(5, 3, 4), f32(4))),
        (NnConvTranspose(window=W3), (f32(1, 8, 4), f32(4, 2, 5))),
        (NnConvTranspose(window=W3), (f32(1, 8, 4), f32(5, 3, 4))),
        (NnConvTranspose(window=W3), (f32(1, 8, 4), f32(4, 3, 5), f32(4))),
        (NnConvTranspose(window=W3, output_padding=(1, 1)), (f32(1, 8, 4), f32(4, 3, 5))),
        (NnConvTranspose(window=SpatialWindow((3,), padding=((2, 1),))),
         (f32(1, 1, 4), f32(4, 3, 5)))
    ],
)  # fmt: skip
def test_refusals(op, operands):
    with raises(ShapeError):
        op.infer(*operands)
