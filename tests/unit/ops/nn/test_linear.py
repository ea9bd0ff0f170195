from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import Dim, f32
from rlx.ops.nn import NnDot, NnLinear
from rlx.support.errors import ShapeError
from support.messages import raises

GENERATOR = np.random.default_rng(0)


def whole(*shape):
    """Small integers, whose sums of products are exact in float32."""
    return GENERATOR.integers(-4, 5, shape).astype(np.float32)


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_linear_multiplies_by_the_transposed_weights(lead):
    x, w, bias = whole(*lead, 4), whole(5, 4), whole(5)
    (plain,) = NnLinear().evaluate(x, w)
    (shifted,) = NnLinear().evaluate(x, w, bias)
    assert plain.shape == (*lead, 5)
    for place in np.ndindex(plain.shape):
        expected = sum(
            float(a) * float(b) for a, b in zip(x[place[:-1]], w[place[-1]], strict=True)
        )
        assert plain[place] == expected
        assert shifted[place] == expected + bias[place[-1]]


@pytest.mark.parametrize(
    ("equation", "op", "x", "y"),
    [
        ("mk,kn->mn", NnDot(x_contract=(1,), y_contract=(0,)), (2, 3), (3, 4)),
        ("abc,cab->", NnDot(x_contract=(0, 1, 2), y_contract=(1, 2, 0)), (2, 3, 4), (4, 2, 3)),
        ("bmk,nbk->bmn", NnDot(x_contract=(2,), y_contract=(2,), x_batch=(0,), y_batch=(1,)),
         (2, 3, 4), (5, 2, 4)),
        ("m,n->mn", NnDot(x_contract=(), y_contract=()), (2,), (3,)),
        ("ab,ab->ab", NnDot(x_contract=(), y_contract=(), x_batch=(0, 1), y_batch=(0, 1)),
         (2, 3), (2, 3)),
        ("akbl,lkc->abc", NnDot(x_contract=(1, 3), y_contract=(1, 0)), (2, 3, 4, 5), (5, 3, 2)),
    ],
)  # fmt: skip
def test_dot_is_the_einsum(equation, op, x, y):
    a, b = whole(*x), whole(*y)
    (z,) = op.evaluate(a, b)
    np.testing.assert_array_equal(z, np.einsum(equation, a, b, optimize=False))


def test_types_with_symbols():
    batch, length = Dim("batch"), Dim("length")
    assert NnLinear().infer(f32(batch, length, 4), f32(5, 4)) == (f32(batch, length, 5),)
    op = NnDot(x_contract=(2,), y_contract=(2,), x_batch=(0,), y_batch=(0,))
    assert op.infer(f32(batch, length, 4), f32(batch, 6, 4)) == (f32(batch, length, 6),)
    op = NnDot(x_contract=(2,), y_contract=(0,))
    assert op.infer(f32(batch, length, 4), f32(4, length, 3)) == (f32(batch, length, length, 3),)


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        (NnLinear(), (f32(2, 3), f32(3, 5))),
        (NnLinear(), (f32(), f32(3, 5))),
        (NnLinear(), (f32(2, 3), f32(5, 3), f32(3))),
        (NnDot(x_contract=(0, 0), y_contract=(0, 1)), (f32(2), f32(2, 2))),
        (NnDot(x_contract=(0,), y_contract=(2,)), (f32(2), f32(2, 2))),
        (NnDot(x_contract=(0,), y_contract=(0,)), (f32(2), f32(3))),
        (NnDot(x_contract=(), y_contract=(), x_batch=(0,), y_batch=()), (f32(2), f32(3))),
    ],
)
def test_refusals(op, operands):
    with raises(ShapeError):
        op.infer(*operands)
