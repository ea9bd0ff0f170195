"""Sums in float64 are used only where they equal the op for every pair of values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.host.native_cases import native_results

from rlx.ir import DType, Graph, Refusal, TensorType
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import QAdd, QSub
from rlx.ops.rescale import sum_scaling
from rlx_host.instruction_set import available
from rlx_host.kernels.sum.rule import float_sum

VALUES = np.arange(256, dtype=np.uint8).view(np.int8)
ALL_PAIRS = (np.repeat(VALUES, 256), np.tile(VALUES, 256))


def sum_op(op, x_scale, y_scale, scale, zero_points, rounding):
    x, y, z = zero_points
    scaling = sum_scaling(x_scale, y_scale, scale, rounding)
    return op(
        x_zero_point=x, y_zero_point=y, zero_point=z, x_rescale=scaling.x_rescale,
        y_rescale=scaling.y_rescale, left_shift=scaling.left_shift, rescale=scaling.rescale,
    )  # fmt: skip


def node_of_all_pairs(op):
    graph = Graph("sum")
    type_ = TensorType((65536,), DType.I8)
    graph.output(graph.apply(op, graph.input("x", type_), graph.input("y", type_)))
    (node,) = graph.op_nodes
    return node, list(ALL_PAIRS)


scales = st.floats(0.0078125, 1.0, width=32)
zero_points = st.tuples(*[st.integers(-128, 127)] * 3)


@pytest.mark.parametrize("rounding", [Rounding.DOUBLE, Rounding.SINGLE])
@settings(max_examples=2)
@given(data=st.data())
def test_every_pair_is_equal(rounding, data):
    ops = [
        sum_op(
            data.draw(st.sampled_from([QAdd, QSub])),
            *(data.draw(scales) for _ in range(3)),
            data.draw(zero_points),
            rounding,
        )
        for _ in range(4)
    ]
    nodes = [node_of_all_pairs(op) for op in ops]
    for (node, arrays), found in zip(nodes, native_results(nodes, available()[0]), strict=True):
        assert not isinstance(found, Refusal)
        np.testing.assert_array_equal(found[0], node.op.evaluate(*arrays)[0])


def test_equal_scales_are_exact_in_float64():
    op = sum_op(QAdd, 0.5, 0.5, 0.75, (3, -4, 5), Rounding.DOUBLE)
    assert float_sum(op) is not None


def test_other_roundings_use_tables():
    op = sum_op(QAdd, 0.5, 0.5, 0.75, (3, -4, 5), Rounding.EVEN)
    assert float_sum(op) is None


def test_sums_beyond_the_range_of_the_conversion_use_tables():
    op = sum_op(QAdd, 0.5, 0.5, 0.75, (3, -4, 5), Rounding.DOUBLE)
    assert float_sum(replace(op, rescale=Rescale.of(2.0**12))) is None
