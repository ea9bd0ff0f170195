from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import Dim, f32
from rlx.ops.nn import Layout, NnAveragePool, NnMaxPool
from rlx.ops.real import RealAveragePool, RealMaxPool, SpatialWindow
from rlx.support.errors import ShapeError
from support.messages import raises

WINDOW = SpatialWindow((2, 3), (2, 1), padding=((1, 0), (0, 2)))
X = np.random.default_rng(0).standard_normal((2, 5, 6, 3))


@pytest.mark.parametrize(
    ("layer", "op"),
    [
        (NnMaxPool(window=WINDOW), RealMaxPool(window=WINDOW)),
        (NnAveragePool(window=WINDOW), RealAveragePool(window=WINDOW)),
        (NnAveragePool(window=WINDOW, count_padding=True),
         RealAveragePool(window=WINDOW, count_padding=True)),
    ],
)  # fmt: skip
def test_layouts_are_the_same_pool(layer, op):
    (expected,) = op.evaluate(X)
    np.testing.assert_array_equal(layer.evaluate(X)[0], expected)
    kind = type(layer)
    attributes = layer.attributes() | {"layout": Layout.CHANNELS_FIRST}
    (first,) = kind(**attributes).evaluate(np.moveaxis(X, -1, 1))
    np.testing.assert_array_equal(first, np.moveaxis(expected, -1, 1))


def test_types():
    batch = Dim("batch")
    pool = NnMaxPool(window=SpatialWindow((2, 2), (2, 2)), layout=Layout.CHANNELS_FIRST)
    assert pool.infer(f32(batch, 3, 4, 6)) == (f32(batch, 3, 2, 3),)


@pytest.mark.parametrize("kind", [NnMaxPool, NnAveragePool])
def test_refusals(kind):
    with raises(ShapeError):
        kind(window=WINDOW).infer(f32(1, 0, 4, 1))
