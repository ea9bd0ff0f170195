"""The fast forms against the definitions, on every strategy and where they change their ways."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx.ir.evaluate import evaluate_all
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import Q_OPS, QAveragePool2d, QConv2d, QDense, QMaxPool2d, Window
from strategies import STRATEGIES, Case, random_graphs
from support.references.oracle import codes

if TYPE_CHECKING:
    from rlx.ir import Array, Op


def check(op: Op, *operands: Array) -> None:
    """Compare the fast form, first and second call, with the definition."""
    prepared = op.prepare([None, *operands[1:]])
    before = [o.copy() for o in operands]
    for _ in range(2):
        results = prepared(*operands)
        for result, expected in zip(results, op.evaluate(*operands), strict=True):
            assert result.dtype == expected.dtype
            assert np.array_equal(result, expected)
    assert all(np.array_equal(o, b) for o, b in zip(operands, before, strict=True))


def check_case(case: Case) -> None:
    values = evaluate_all(case.graph, case.inputs)
    for node in case.graph.op_nodes:
        prepared = node.op.prepare([o.constant for o in node.operands])
        results = prepared(*(values[o] for o in node.operands))
        for value, result in zip(node.results, results, strict=True):
            assert result.dtype == value.type.dtype.numpy
            assert np.array_equal(result, values[value])


@pytest.mark.parametrize("op", Q_OPS, ids=lambda op: op.name)
@settings(max_examples=25)
@given(data=st.data())
def test_prepared_equals_definition(op, data) -> None:
    check_case(data.draw(STRATEGIES[op](batch=2)))


@settings(max_examples=25)
@given(random_graphs(batch=2))
def test_prepared_networks_equal_definition(case: Case) -> None:
    check_case(case)


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("kernel", [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 1)])
def test_convolutions_of_small_images(kernel: tuple[int, int], channels: int) -> None:
    """Windows side by side hold as many elements as the image, but seldom in the same order."""
    w = codes(1, (3, *kernel, channels))
    for stride in ((1, 1), (1, 2), (2, 1), kernel):
        window = Window(kernel=kernel, stride=stride)
        op = QConv2d(window=window, x_zero_point=5, rescale=Rescale.of(0.01), zero_point=-3)
        for height in range(kernel[0], 5):
            for width in range(kernel[1], 5):
                x = codes(2, (2, height, width, channels))
                check(op, x, w, np.arange(3, dtype=np.int32))


@pytest.mark.parametrize("rounding", Rounding)
@pytest.mark.parametrize("groups", [1, 2, 16])
@pytest.mark.parametrize("batch", [1, 9])
def test_blocks_of_large_batches(rounding, groups: int, batch: int) -> None:
    """Each image is a block of its own or shares one; the last block is shorter."""
    x, w = codes(1, (batch, 30, 30, 16)), codes(2, (32, 3, 3, 16 // groups))
    op = QConv2d(
        window=Window.same((30, 30), (3, 3)),
        groups=groups,
        x_zero_point=-7,
        rescale=Rescale.of(*np.geomspace(1e-4, 1e-2, 32), rounding=rounding),
        zero_point=5,
    )
    check(op, x, w, np.arange(32, dtype=np.int32) * 100)


@pytest.mark.parametrize("inner", [1, 1023, 1024, 1025, 3000])
def test_dense_sums_beyond_float32(inner: int) -> None:
    w = np.full((3, inner), -128, np.int8)
    w[1, ::2], w[2] = 127, codes(3, (inner,))
    op = QDense(x_zero_point=3, rescale=Rescale.of(2.0 / (inner * 128)), zero_point=-2)
    x = np.stack([codes(4, (inner,)), np.full(inner, -128, np.int8), np.full(inner, 127, np.int8)])
    check(op, x, w, np.array([0, 7, -7], np.int32))


def test_numbers_that_may_wrap_are_left_to_the_definition() -> None:
    w = np.full((1, 200), 127, np.int8)
    op = QDense(x_zero_point=-128, rescale=Rescale((2**30,), (12,)), zero_point=0)
    check(op, codes(5, (4, 200)), w, np.zeros(1, np.int32))


@pytest.mark.parametrize("taps", [1, 254, 255, 400])
def test_pools_of_many_taps(taps: int) -> None:
    """Sums of 255 codes and more do not fit int16 with what rounding adds."""
    for kind in (QAveragePool2d, QMaxPool2d):
        op = kind(window=Window((1, taps)), low=-128, high=127)
        for code in (-128, 127):
            check(op, np.full((1, 1, taps + 1, 2), code, np.int8))
        check(replace(op, low=-3, high=8), codes(6, (2, 3, taps + 3, 2)))


def test_weights_that_change_are_left_to_the_definition() -> None:
    x, w, bias = codes(1, (2, 4)), codes(2, (3, 4)), np.zeros(3, np.int32)
    dense = QDense(x_zero_point=0, rescale=Rescale.of(0.01), zero_point=0)
    assert dense.prepare([None, None, bias]) == dense.evaluate
    assert np.array_equal(dense.prepare([x, w, bias])(x, w, bias), dense.evaluate(x, w, bias))
    conv = QConv2d(window=Window((1, 1)), x_zero_point=0, rescale=Rescale.of(0.01), zero_point=0)
    assert conv.prepare([None, None, bias]) == conv.evaluate


def test_results_may_be_written_to() -> None:
    """The runtime hands results out; nobody may find them read-only or shared."""
    x = codes(1, (2, 4))
    for op, *operands in (
        (replace(QMaxPool2d(window=Window((1, 1))), low=0), x.reshape(1, 2, 2, 2)),
        (QAveragePool2d(window=Window((1, 1))), x.reshape(1, 2, 2, 2)),
    ):
        (result,) = op.prepare([None])(*operands)
        assert result.flags.writeable
        assert not np.shares_memory(result, x)
