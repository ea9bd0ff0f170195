"""Activations against their definitions in Python's ``math``, in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rlx.ir import Dim, f32, i8
from rlx.ops import nn
from rlx.support.errors import ShapeError
from support.messages import raises


def selu(v: float) -> float:
    return 1.0507009873554805 * (v if v >= 0 else 1.6732632423543772 * math.expm1(v))


def sigmoid(v: float) -> float:
    return 1 / (1 + math.exp(-v))


def softplus(v: float) -> float:
    return math.log1p(math.exp(v))


def hard_sigmoid(v: float, alpha: float = 1 / 6, beta: float = 0.5) -> float:
    return min(max(alpha * v + beta, 0), 1)


def tanh_gelu(v: float) -> float:
    return v / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))


DEFINITIONS = [
    (nn.NnRelu(), lambda v: max(v, 0)),
    (nn.NnClamp(low=-1, high=6), lambda v: min(max(v, -1), 6)),
    (nn.NnClamp(high=2), lambda v: min(v, 2)),
    (nn.NnClamp(), lambda v: v),
    (nn.NnLeakyRelu(slope=0.2), lambda v: v if v >= 0 else 0.2 * v),
    (nn.NnElu(alpha=0.5), lambda v: v if v >= 0 else 0.5 * math.expm1(v)),
    (nn.NnSelu(), selu),
    (nn.NnGelu(), lambda v: v / 2 * math.erfc(-v / math.sqrt(2))),
    (nn.NnGelu(approximate=True), tanh_gelu),
    (nn.NnSilu(), lambda v: v * sigmoid(v)),
    (nn.NnSoftplus(), softplus),
    (nn.NnSoftsign(), lambda v: v / (1 + abs(v))),
    (nn.NnMish(), lambda v: v * math.tanh(softplus(v))),
    (nn.NnHardSigmoid(), hard_sigmoid),
    (nn.NnHardSigmoid(alpha=0.2, beta=0.4), lambda v: hard_sigmoid(v, 0.2, 0.4)),
    (nn.NnHardSwish(), lambda v: v * hard_sigmoid(v)),
]  # fmt: skip


# Each formula has at most 10 roundings of numbers below 100: far below 1e-13 absolutely.
@pytest.mark.parametrize(("op", "definition"), DEFINITIONS, ids=[str(op) for op, _ in DEFINITIONS])
def test_activation_is_its_definition(op, definition):
    x = np.linspace(-9, 9, 181)
    expected = np.array([definition(float(v)) for v in x])
    np.testing.assert_allclose(op.evaluate(x)[0], expected, rtol=0, atol=1e-13)


def test_every_activation_is_tested():
    activations = {op for op in nn.NN_OPS if issubclass(op, nn.NnRelu.__mro__[1])}
    assert {type(op) for op, _ in DEFINITIONS} == activations


@pytest.mark.parametrize("op", [op for op, _ in DEFINITIONS], ids=str)
def test_no_overflow_and_a_type_that_stays(op):
    x = np.array([-3e38, -100.0, 0.0, 100.0], np.float32)
    (y,) = op.evaluate(x)
    assert y.dtype == np.float32
    assert np.isfinite(y[1:]).all()
    assert op.infer(f32(Dim("batch"), 3)) == (f32(Dim("batch"), 3),)


def test_softplus_is_the_identity_far_to_the_right():
    x = np.array([-1e30, 1e30], np.float32)
    assert nn.NnSoftplus().evaluate(x)[0].tolist() == [0.0, float(np.float32(1e30))]


def test_prelu_has_a_slope_for_each_channel():
    x = np.array([[-1.0, -1.0, 2.0]])
    (y,) = nn.NnPrelu().evaluate(x, np.array([0.5, 0.25, 9.0]))
    assert y.tolist() == [[-0.5, -0.25, 2.0]]


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        (nn.NnRelu(), (i8(2),)),
        (nn.NnClamp(low=2, high=1), (f32(2),)),
        (nn.NnPrelu(), (f32(2), i8(2))),
    ],
)
def test_refusals(op, operands):
    with raises(ShapeError):
        op.infer(*operands)
