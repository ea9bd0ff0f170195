"""Shapes and numbers that once came out wrong, on each instruction set of this machine."""

from __future__ import annotations

import numpy as np
import pytest
from targets.host.native_cases import native_results

from rlx.ir import DType, Graph, TensorType
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QConv2d, Window
from rlx.ops.real import RealSign
from rlx_host.instruction_set import available

EACH_SET = pytest.mark.parametrize("instructions", available(), ids=lambda one: one.name)


def check(op, arrays, instructions):
    """Compare one op on these operands with ``evaluate``."""
    graph = Graph("odd")
    x = graph.input("x", TensorType(arrays[0].shape, DType.of(arrays[0].dtype)))
    value = graph.apply(op, x, *map(graph.constant, arrays[1:]))
    ((found,),) = native_results([(value.node, arrays)], instructions)
    np.testing.assert_array_equal(found, op.evaluate(*arrays)[0], strict=True)


def int8_values(generator, *shape):
    return generator.integers(-128, 128, shape).astype(np.int8)


@EACH_SET
@pytest.mark.parametrize("channels", [3, 4, 12, 13])
def test_images_one_pixel_wide(channels, instructions):
    """GCC 12 read rows of the padded image before it wrote them."""
    generator = np.random.default_rng(channels)
    op = QConv2d(
        window=Window((4, 1), (3, 1), padding=((1, 1), (0, 0))),
        x_zero_point=-128,
        rescale=Rescale.of(0.0006),
        zero_point=-46,
    )
    arrays = [int8_values(generator, 1, 11, 1, channels), int8_values(generator, 1, 4, 1, channels)]
    check(op, [*arrays, np.array([77], np.int32)], instructions)


@EACH_SET
@pytest.mark.parametrize(
    ("size", "window"),
    [
        ((17, 3, 1), Window((5, 1), (1, 2), padding=((2, 2), (0, 0)))),
        ((10, 1, 3), Window((10, 1), (2, 3), padding=((4, 4), (0, 0)))),
    ],
)
def test_padded_rows_of_three_values(size, window, instructions):
    """GCC 12 read rows of the padded image before it wrote them."""
    generator = np.random.default_rng(0)
    groups = size[-1]
    op = QConv2d(
        window=window, groups=groups, x_zero_point=-126, rescale=Rescale.of(0.002), zero_point=24
    )
    arrays = [int8_values(generator, 1, *size), int8_values(generator, 3, *window.kernel, 1)]
    check(op, [*arrays, np.array([7, -5, 0], np.int32)], instructions)


@EACH_SET
def test_sign_of_negative_zero_is_zero(instructions):
    x = np.array([-0.0, 0.0, 2.0, -1e-45] * 5, np.float32)
    graph = Graph("sign")
    value = graph.apply(RealSign(), graph.input("x", TensorType(x.shape, DType.F32)))
    ((found,),) = native_results([(value.node, [x])], instructions)
    np.testing.assert_array_equal(np.copysign(1, found), np.copysign(1, np.sign(x)))
