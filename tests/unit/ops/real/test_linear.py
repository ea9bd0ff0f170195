from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import Dim, f32, i32
from rlx.ops.real import RealMatmul
from rlx.support.errors import ShapeError
from support.messages import raises


def naive(x, y):
    """Sum of products in Python's integers, so that nothing rounds or overflows."""
    shape = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x = np.broadcast_to(x, (*shape, *x.shape[-2:])).astype(object)
    y = np.broadcast_to(y, (*shape, *y.shape[-2:])).astype(object)
    return (x[..., :, :, None] * y[..., None, :, :]).sum(axis=-2)


@pytest.mark.parametrize(
    ("first", "second"),
    [((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (6, 3, 1))],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.int8])
def test_product_of_whole_numbers_is_exact(first, second, dtype):
    generator = np.random.default_rng(1)
    x, y = (generator.integers(-4, 5, shape).astype(dtype) for shape in (first, second))
    (z,) = RealMatmul().evaluate(x, y)
    assert z.dtype == dtype
    assert z.tolist() == naive(x.astype(int), y.astype(int)).tolist()


def test_symbols_pass_through():
    batch, length = Dim("batch"), Dim("length")
    assert RealMatmul().infer(f32(batch, 1, length, 3), f32(2, 3, 4)) == (f32(batch, 2, length, 4),)
    assert RealMatmul().infer(f32(2, length), f32(length, 4)) == (f32(2, 4),)


@pytest.mark.parametrize(
    "operands",
    [
        (f32(3), f32(3, 2)),
        (f32(2, 3), f32(2, 3)),
        (f32(2, Dim("k")), f32(3, 2)),
        (f32(2, 1, 3), f32(4, 3, 2)),
        (f32(2, 2), i32(2, 2)),
    ],
)
def test_refusals(operands):
    with raises(ShapeError):
        RealMatmul().infer(*operands)
