"""Fixed-point scaling of any accumulator, by integers of 64 and of 32 bits."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import DType, Graph, TensorType
from rlx.ir.evaluate import evaluate
from rlx.ops.numerics.fixed_point import INT32_MAX, Rescale, Rounding
from rlx.ops.q import QDense
from rlx.runtime import CompileOptions, Device, Session
from rlx.support import config
from rlx_wgpu import program
from rlx_wgpu.adapters import open_gpu

COUNT = 6000
EDGES = [
    (x, m, s)
    for x in (-INT32_MAX, -(2**30), -1, 0, 1, 2**30, INT32_MAX)
    for m in (0, 1, 2**30, 2**30 + 1, INT32_MAX)
    for s in (-31, -30, -2, -1, 0, 1, 2, 29, 30)
]


def samples(rounding):
    """Return accumulators with a multiplier and a shift each.

    Half of the results are int8 values, many of them halves before they were rounded; the others
    are of any size.
    """
    random = np.random.default_rng(sum(map(ord, rounding.value)))
    bits = random.integers(1, 32, COUNT)
    x = random.integers(-(2**bits), 2**bits)
    shift = np.where(random.random(COUNT) < 0.5, 7 - bits, random.integers(-31, 31, COUNT))
    shift = np.clip(shift, -31, 30)
    multiplier = random.integers(2**30, 2**31, COUNT)
    exact = random.random(COUNT) < 0.3
    multiplier[exact] = 2**30
    edges = np.array(EDGES, np.int64).T
    columns = (x, multiplier, shift)
    return [np.concatenate(pair).tolist() for pair in zip(columns, edges, strict=True)]


@pytest.mark.usefixtures("adapter")
@pytest.mark.parametrize("wide", [True, False], ids=["64 bits", "32 bits"])
@pytest.mark.parametrize("rounding", [r for r in Rounding if r is not Rounding.FLOAT32], ids=str)
def test_a_dense_layer_of_biases(rounding, wide, monkeypatch):
    if wide and not open_gpu(Device.VULKAN).wide:
        pytest.skip("this adapter has no integers of 64 bits in shaders")
    make = program.Writer
    monkeypatch.setattr(program, "Writer", lambda layout, **_: make(layout, wide=wide))
    accumulators, multiplier, shift = samples(rounding)
    graph = Graph("biases")
    x = graph.input("x", TensorType((1, 1), DType.I8))
    w = graph.constant(np.zeros((len(accumulators), 1), np.int8))
    bias = graph.constant(np.array(accumulators, np.int64).astype(np.int32))
    rescale = Rescale(tuple(multiplier), tuple(shift), rounding)
    graph.output(graph.apply(QDense(x_zero_point=3, rescale=rescale, zero_point=-5), x, w, bias))
    inputs = {"x": np.ones((1, 1), np.int8)}
    with config.override(check_compiled=False, compilations=0):
        compiled = Session("vulkan", CompileOptions(backend="wgpu", simplify=False)).compile(graph)
        (found,) = compiled.run_typed(inputs)
    (right,) = evaluate(graph, inputs)
    np.testing.assert_array_equal(found, right)
    assert len(np.unique(right)) > 240
