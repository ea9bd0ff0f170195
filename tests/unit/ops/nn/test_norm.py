from __future__ import annotations

import math

import numpy as np
import pytest

from rlx.ir import Dim, f32
from rlx.ops import nn
from rlx.support.errors import ShapeError
from support.messages import raises

GENERATOR = np.random.default_rng(0)
X = GENERATOR.standard_normal((2, 4, 6)) * 3 + 1


def standard(values, epsilon):
    """The definition over a flat list: two exact sums, then one number after the other."""
    mean = math.fsum(values) / len(values)
    variance = math.fsum((v - mean) ** 2 for v in values) / len(values)
    return [(v - mean) / math.sqrt(variance + epsilon) for v in values]


# Numbers of order 1 after some ten roundings in float64.
def close(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)


@pytest.mark.parametrize("last", [1, 2])
@pytest.mark.parametrize("with_beta", [False, True])
def test_layer_norm(last, with_beta):
    gamma, beta = GENERATOR.standard_normal((2, *X.shape[-last:]))
    expected = np.stack([
        np.reshape(standard(row.ravel().tolist(), 0.1), row.shape)
        for row in X.reshape(-1, *X.shape[-last:])
    ]).reshape(X.shape) * gamma  # fmt: skip
    extra = (beta,) if with_beta else ()
    (y,) = nn.NnLayerNorm(epsilon=0.1).evaluate(X, gamma, *extra)
    close(y, expected + beta if with_beta else expected)


def test_rms_norm():
    gamma = GENERATOR.standard_normal(6)
    (y,) = nn.NnRmsNorm(epsilon=0.1).evaluate(X, gamma)
    for place in np.ndindex(2, 4):
        row = X[place]
        mean = math.fsum(float(v) ** 2 for v in row) / 6
        close(y[place], row / math.sqrt(mean + 0.1) * gamma)


@pytest.mark.parametrize("axis", [1, -1])
def test_batch_norm(axis):
    channels = X.shape[axis]
    gamma, beta, mean = GENERATOR.standard_normal((3, channels))
    variance = GENERATOR.random(channels)
    (y,) = nn.NnBatchNorm(axis=axis, epsilon=0.1).evaluate(X, gamma, beta, mean, variance)
    for c in range(channels):
        part = np.take(X, c, axis)
        expected = (part - mean[c]) / math.sqrt(variance[c] + 0.1) * gamma[c] + beta[c]
        close(np.take(y, c, axis), expected)


@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("groups", [1, 2])
def test_group_norm(axis, groups):
    channels = X.shape[axis]
    gamma, beta = GENERATOR.standard_normal((2, channels))
    (y,) = nn.NnGroupNorm(groups=groups, axis=axis, epsilon=0.1).evaluate(X, gamma, beta)
    moved, result = np.moveaxis(X, axis, 1), np.moveaxis(y, axis, 1)
    size = channels // groups
    for n in range(2):
        for first in range(0, channels, size):
            part = moved[n, first : first + size]
            normal = np.reshape(standard(part.ravel().tolist(), 0.1), part.shape)
            for c in range(size):
                expected = normal[c] * gamma[first + c] + beta[first + c]
                close(result[n, first + c], expected)


def test_l2_norm():
    (y,) = nn.NnL2Norm(axes=(1, 2)).evaluate(X)
    for n in range(2):
        length = math.sqrt(math.fsum(float(v) ** 2 for v in X[n].ravel()))
        close(y[n], X[n] / length)
    assert nn.NnL2Norm().evaluate(np.zeros(3))[0].tolist() == [0.0, 0.0, 0.0]


def test_types_with_symbols():
    batch, c = Dim("batch"), f32(6)
    assert nn.NnLayerNorm().infer(f32(batch, 4, 6), c) == (f32(batch, 4, 6),)
    assert nn.NnRmsNorm().infer(f32(batch, 6), c) == (f32(batch, 6),)
    assert nn.NnBatchNorm().infer(f32(batch, 4, 6), c, c, c, c) == (f32(batch, 4, 6),)
    assert nn.NnGroupNorm(groups=2).infer(f32(batch, 4, 6), c, c) == (f32(batch, 4, 6),)


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        (nn.NnLayerNorm(), (f32(2, 3), f32(2))),
        (nn.NnLayerNorm(), (f32(2, 3), f32(3), f32(2, 3))),
        (nn.NnRmsNorm(), (f32(2, 3), f32())),
        (nn.NnBatchNorm(), (f32(2, 3), f32(3), f32(3), f32(2), f32(3))),
        (nn.NnBatchNorm(axis=4), (f32(2, 3), f32(3), f32(3), f32(2), f32(3))),
        (nn.NnGroupNorm(groups=4), (f32(2, 6), f32(6), f32(6))),
        (nn.NnGroupNorm(groups=1, axis=0), (f32(2, 6), f32(2), f32(2))),
        (nn.NnL2Norm(axes=(1,)), (f32(2),)),
    ],
)
def test_refusals(op, operands):
    with raises(ShapeError):
        op.infer(*operands)
