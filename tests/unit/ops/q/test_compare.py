"""Maximum, minimum and PReLU."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import QuantParams, TensorType, i8, i32
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QMaximum, QMinimum, QPrelu
from rlx.support.errors import ShapeError
from support.messages import raises

X = np.array([[-128, 5, 127], [0, -1, 3]], np.int8)
HALF, TWO = QuantParams.per_tensor(0.5, 3), QuantParams.per_tensor(2.0, 3)
PRELU = QPrelu(
    x_zero_point=1, y_zero_point=-2, rescale=Rescale.of(0.5), slope_rescale=Rescale.of(0.25),
    zero_point=10, low=-100, high=60,
)  # fmt: skip


def test_extremes_broadcast():
    y = np.array([0, 6, -3], np.int8)
    assert QMaximum().evaluate(X, y)[0].tolist() == [[0, 6, 127], [0, 6, 3]]
    assert QMinimum().evaluate(y, X)[0].tolist() == [[-128, 5, -3], [0, -1, -3]]


def test_extremes_keep_the_quantization():
    typed = TensorType((2, 3), i8().dtype, HALF)
    assert QMaximum().infer(i8(1, 3), typed) == (typed,)
    assert QMinimum().infer(typed, typed) == (typed,)


@pytest.mark.parametrize("op", [QMaximum(), QMinimum()], ids=lambda op: op.name)
def test_extremes_refuse_what_cannot_be_compared(op):
    with raises(ShapeError):
        op.infer(i8(3, quant=HALF), i8(3, quant=TWO))
    with raises(ShapeError):
        op.infer(i8(3), i32(3))


def test_prelu_multiplies_by_the_slope_below_zero_only():
    slopes = np.array([2, -4, 0], np.int8)
    expected = [
        [max(10 + -129 * (2 + 2) // 4, -100), 10 + 2, min(10 + 63, 60)],
        [10 - 1, 10 + 1, 10 + 1],
    ]
    assert PRELU.evaluate(X, slopes)[0].tolist() == expected


@pytest.mark.parametrize(
    "slopes",
    [i8(2), i8(1, 3), i32(3)],
    ids=str,
)
def test_prelu_refuses_other_slopes(slopes):
    with raises(ShapeError):
        PRELU.infer(i8(2, 3), slopes)


def test_prelu_refuses_factors_by_channel():
    op = QPrelu(
        x_zero_point=0, y_zero_point=0, rescale=Rescale.of(0.5, 0.5, 0.5),
        slope_rescale=Rescale.of(0.5), zero_point=0,
    )  # fmt: skip
    with raises(ShapeError):
        op.infer(i8(2, 3), i8(3))
