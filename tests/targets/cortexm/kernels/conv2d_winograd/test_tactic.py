"""Winograd's numbers in integers: every product and every sum is exact."""

import numpy as np
import pytest
from targets.cortexm.graph_builder import GraphBuilder

from rlx_cortexm.image import WindowedImage
from rlx_cortexm.kernels.conv2d_winograd import tactic as winograd
from rlx_cortexm.kernels.rules import candidates

TILE_MATRIX = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
RESULT_MATRIX = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])


def convolution(shape=(1, 6, 6, 8), outputs=4, kernel=(3, 3), **attributes):
    """Return a graph's node with a convolution."""
    builder = GraphBuilder()
    builder.conv(shape, outputs, kernel, **attributes)
    (node,) = builder.graph.op_nodes
    return node


def names(node):
    return {c.name.split(",")[0] for c in candidates(node) if c.name.startswith("winograd")}


def test_four_times_the_sums_come_out():
    random = np.random.default_rng(1)
    values = random.integers(-128, 128, (4, 4, 20))
    weights = random.integers(-128, 128, (3, 3, 3, 20))
    products = winograd.transformed(weights) * (
        np.einsum("iy,yxc,jx->ijc", TILE_MATRIX, values, TILE_MATRIX)
    )
    scaled = products * np.multiply.outer(winograd.FACTORS, winograd.FACTORS)[:, :, np.newaxis]
    sums = np.einsum("iy,oyxc,jx->oij", RESULT_MATRIX, scaled, RESULT_MATRIX)
    direct = [[(values[i : i + 3, j : j + 3] * weights).sum(axis=(1, 2, 3)) for j in range(2)]
              for i in range(2)]  # fmt: skip
    assert (sums == 4 * np.transpose(direct, (2, 0, 1))).all()


def test_extreme_weights_and_values_stay_within_16_and_32_bits():
    for weights in (np.full((1, 3, 3, 128), 127), np.full((1, 3, 3, 128), -128)):
        edges = winograd.transformed(weights) * winograd.FACTORS.reshape(4, 1, 1)
        assert np.abs(edges).max() < -winograd.MARK
    extreme = np.einsum("iy,yx,jx->ij", *(np.abs(TILE_MATRIX), np.full((4, 4), -128)) * 1,
                        np.abs(TILE_MATRIX))  # fmt: skip
    assert np.abs(extreme).max() == winograd.VALUE_BOUND


def test_the_bound_is_that_of_the_worst_values():
    weights = np.zeros((2, 3, 3, 1), np.int8)
    weights[1, 1, 1] = 1
    # One weight in the middle is in the four inner positions only, once in each.
    assert winograd.sum_bound(weights) == 4 * winograd.VALUE_BOUND


def test_sums_beyond_int32_are_not_computed_this_way(monkeypatch):
    assert names(convolution())
    monkeypatch.setattr(winograd, "VALUE_BOUND", 1 << 24)
    # What is known of a node is kept: another one is looked at again.
    assert not names(convolution())


@pytest.mark.parametrize(
    "attributes",
    [
        {"stride": (2, 1)},
        {"dilation": (1, 2)},
        {"kernel": (3, 2)},
        {"groups": 2},
        {"shape": (1, 6, 6, 6)},
        {"shape": (1, 1, 6, 8)},
        {"shape": (1, 6, 6, 132)},
        {"outputs": 1},
    ],
    ids=lambda attributes: next(iter(attributes)),
)
def test_other_convolutions_do_not_fit(attributes):
    assert not names(convolution(**attributes))


@pytest.mark.parametrize("size", range(2, 7))
@pytest.mark.parametrize("padding", [((1, 1), (1, 1)), ((0, 0), (0, 0)), ((2, 1), (0, 2))])
def test_tiles_inside_the_image_read_nothing_outside(size, padding):
    node = convolution((1, size + 2, size + 1, 4), 2, padding=padding)
    image = WindowedImage.of(node)
    if min(image.out_h, image.out_w) < 2:
        return
    tiles = winograd.Tiles(image, "ram", 1)
    y0, y1, x0, x1 = tiles.interior
    for oy in range(image.out_h - 1):
        for ox in range(image.out_w - 1):
            top, left = oy - padding[0][0], ox - padding[1][0]
            inside = top >= 0 and left >= 0 and top + 4 <= image.in_h and left + 4 <= image.in_w
            assert (y0 <= oy < y1 and x0 <= ox < x1) == inside
