from __future__ import annotations

import numpy as np

from rlx.ir import Dim, f32, i32
from rlx.ops.nn import NnEmbedding
from rlx.support.errors import ShapeError
from support.messages import raises


def test_rows_by_number():
    table = np.arange(6.0).reshape(3, 2)
    (y,) = NnEmbedding().evaluate(table, np.array([[2, 0], [1, 1]]))
    assert y.tolist() == [[[4, 5], [0, 1]], [[2, 3], [2, 3]]]
    batch = Dim("batch")
    assert NnEmbedding().infer(f32(9, 4), i32(batch, 3)) == (f32(batch, 3, 4),)


def test_refusals():
    with raises(ShapeError):
        NnEmbedding().infer(f32(9), i32(3))
    with raises(ShapeError):
        NnEmbedding().infer(f32(9, 4), f32(3))
