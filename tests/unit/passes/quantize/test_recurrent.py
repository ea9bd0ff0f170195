"""Recurrent layers of fixed length are quantized step by step."""

import numpy as np
import pytest

import rlx
from rlx.ir import f32
from rlx.support.errors import UnsupportedOpError
from support.messages import raises

RANDOM = np.random.default_rng(3)
STEPS, INPUTS, HIDDEN = 6, 4, 5


def weights(*shape):
    return RANDOM.uniform(-0.5, 0.5, shape).astype(np.float32)


def network(kind, steps=STEPS, **options):
    """Return a layer and a product of its last state."""
    rows = {"rnn": 1, "gru": 3, "lstm": 4}[kind] * HIDDEN
    w, r, bias = weights(rows, INPUTS), weights(rows, HIDDEN), weights(rows)

    def body(x):
        fixed = {n: x.builder.constant(a) for n, a in options.items()}
        _, state, *_ = getattr(x, kind)(w, r, bias, **fixed)
        return state.linear(weights(3, HIDDEN))

    return rlx.trace(kind, body, f32(steps, 1, INPUTS)).module


@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
def test_a_layer_of_fixed_length_becomes_integer_ops(kind):
    module = network(kind)
    samples = RANDOM.standard_normal((16, STEPS, 1, INPUTS)).astype(np.float32)
    quantized = rlx.quantize(module, samples)
    ops = {n.op.dialect for n in quantized.module.graph.op_nodes}
    assert ops == {"q", "real"}  # real: conversions at inputs and outputs
    expected, found = (rlx.run(m, samples).values for m in (module, quantized))
    noise = np.mean((expected - found) ** 2) / np.mean(expected**2)
    assert noise < 10**-2.5  # 25 dB


@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
def test_a_layer_of_too_many_steps_is_refused(kind):
    samples = np.zeros((2, 1000, 1, INPUTS), np.float32)
    with raises(UnsupportedOpError):
        rlx.quantize(network(kind, 1000), samples)


def test_a_layer_with_lengths_is_refused():
    samples = np.ones((2, STEPS, 1, INPUTS), np.float32)
    with raises(UnsupportedOpError):
        rlx.quantize(network("rnn", lengths=np.array([4], np.int32)), samples)
