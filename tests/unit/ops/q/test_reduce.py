from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import i8, i32
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QArgmax, QMean
from rlx.support.errors import ShapeError
from support.messages import raises
from support.references.oracle import Quant, codes, quants, run_operator

MEAN = QMean(axes=(1,), x_zero_point=0, rescale=Rescale.of(1.0), zero_point=0)


@st.composite
def shapes_and_axes(draw) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=4)))
    axes = st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True)
    return shape, tuple(draw(axes))


@given(shapes_and_axes(), quants(), quants(0.05, 1.0), st.booleans(), st.booleans(),
       st.integers(0, 2**16))  # fmt: skip
def test_mean_equals_tflm(where, source: Quant, target: Quant, keep, same, seed: int) -> None:
    shape, axes = where
    target = source if same else target
    x = codes(seed, shape)
    count = math.prod(shape[a] for a in axes)
    op = QMean(
        axes=axes,
        keep_dims=keep,
        x_zero_point=source.zero_point,
        rescale=Rescale.of(source.scale / target.scale).divided(count),
        zero_point=target.zero_point,
    )
    (result,) = op.evaluate(x)
    assert op.infer(i8(*shape)) == (i8(*result.shape),)
    expected = run_operator(
        "MEAN", [(x, source)], (result.shape, target),
        [(np.array(axes, np.int32), {})], keepDims=keep,
    )  # fmt: skip
    assert np.array_equal(result, expected)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.data(), st.integers(0, 2**16))
def test_argmax_equals_tflm(shape: list[int], data, seed: int) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    x = codes(seed, tuple(shape)) >> data.draw(st.sampled_from((0, 5, 7)))
    (result,) = QArgmax(axis=axis).evaluate(x)
    expected = run_operator(
        "ARG_MAX", [(x, Quant(0.5, 3))], (result.shape, None),
        [(np.array(axis, np.int32), {})], dtype="int32", outputType=2,
    )  # fmt: skip
    assert result.dtype == np.int32
    assert np.array_equal(result, expected)


def test_argmax_takes_the_first_of_equal_codes() -> None:
    x = np.array([[3, 5, 5], [-1, -1, -1]], np.int8)
    assert QArgmax().evaluate(x)[0].tolist() == [1, 0]
    assert QArgmax(axis=0).evaluate(x)[0].tolist() == [0, 0, 0]


def test_shapes() -> None:
    assert QArgmax(axis=-2).infer(i8(4, 5, 6)) == (i32(4, 6),)
    mean = replace(MEAN, axes=(-1, 0))
    assert mean.infer(i8(4, 5, 6)) == (i8(5),)
    assert replace(mean, keep_dims=True).infer(i8(4, 5, 6)) == (i8(1, 5, 1),)


@pytest.mark.parametrize(
    ("op", "type_"),
    [
        (MEAN, i32(2, 2)),
        (replace(MEAN, rescale=Rescale.of(1.0, 1.0)), i8(2, 2)),
        (replace(MEAN, x_zero_point=-129), i8(2, 2)),
        (replace(MEAN, low=1, high=0), i8(2, 2)),
        (replace(MEAN, axes=(2,)), i8(2, 2)),
        (replace(MEAN, axes=(1, -1)), i8(2, 2)),
        (replace(MEAN, axes=()), i8(2, 2)),
        (QArgmax(), i32(2)),
        (QArgmax(axis=-2), i8(2)),
    ],
)
def test_refusals(op, type_) -> None:
    with raises(ShapeError):
        op.infer_checked(type_)
