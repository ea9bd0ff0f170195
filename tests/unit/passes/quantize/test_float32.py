"""Layers of ONNX Runtime's QOperator form become integer layers with its very codes.

It multiplies a sum by one float32 factor; what the product rounds to a half, goes to the even code.
"""

from __future__ import annotations

import numpy as np
import pytest

from rlx.ir.evaluate import evaluate
from rlx.ops.nn import NnQuantized
from rlx.ops.numerics.fixed_point import Rounding
from rlx.passes.pipelines import SIMPLIFY
from rlx.passes.quantize import convert
from rlx.passes.quantize.convert import refusal
from rlx.support.errors import UnsupportedOpError
from support.files.onnx_builder import by_runtime, load
from support.messages import raises
from support.networks.quantized_operators import OPERATORS, Random, file_of

PAIRS = np.indices((256, 256)).reshape(2, -1).astype(np.uint8)


def quotient(random):
    """Return a factor: quotients with halves, powers of two, or any."""
    part = random.draw.integers(1, 12) / random.pick(3, 6, 10, 12, 20)
    return random.pick(1.0, part, random.draw.uniform(0.5, 2)) / 2 ** random.draw.integers(3, 9)


def layer(operator, seed):
    """Return a file whose sums are those of all pairs of codes, and its input."""
    random = Random(seed)
    dtype, outputs = random.byte(), 4
    factors = np.array([quotient(random) for _ in range(outputs)])
    if random.pick(True, False):
        factors = factors[:1]
    own = {"sa": random.scale(), "za": random.point(dtype), "zc": random.point(dtype)}
    alpha = random.pick(1.0, 1.0, 0.5, 1.7) if operator == "QGemm" else 1.0
    own["sc"] = np.float32(own["sa"] * alpha * random.pick(1.0, 0.84375, 0.1))
    scales = (factors * float(own["sc"]) / (float(own["sa"]) * alpha)).astype(np.float32)
    w = random.draw.integers(-60, 60, (outputs, 2)).astype(np.int8)
    own |= {"sw": scales if len(factors) > 1 else scales[0],
            "zw": np.zeros(len(factors), np.int8) if len(factors) > 1 else np.int8(0)}  # fmt: skip
    bias = random.draw.integers(-300, 300, outputs).astype(np.int32)
    inputs = "a sa za w sw zw"
    x, more = PAIRS.view(dtype), {}
    if operator == "QLinearConv":
        x, own["w"] = x.reshape(1, 2, 256, 256), w.reshape(outputs, 2, 1, 1)
        own, inputs, domain = {**own, "b": bias}, inputs + " sc zc b", ""
    else:
        x, own["w"], domain = np.ascontiguousarray(x.T), np.ascontiguousarray(w.T), ""
        inputs += " sc zc"
        if operator == "QGemm":
            own, domain, more = {**own, "b": bias}, "com.microsoft", {"alpha": alpha}
            inputs = "a sa za w sw zw b sc zc"
    return file_of(operator, inputs, more, own, {"a": x}, out=dtype, domain=domain), x


@pytest.mark.parametrize("operator", ["QLinearConv", "QLinearMatMul", "QGemm"])
@pytest.mark.parametrize("seed", range(25))
def test_every_sum_becomes_the_code_of_onnx_runtime(operator, seed):
    data, x = layer(operator, seed)
    (expected,) = by_runtime(data, x)
    made = convert(load(data), {}).graph
    for graph in (made, SIMPLIFY.apply(made)):
        (found,) = evaluate(graph, {"a": x})
        assert np.array_equal(found, expected)


def test_these_sums_tell_the_rounding():
    """Rounded exactly, halves to even, many of the codes above are others."""
    apart = 0
    for seed in range(25):
        data, x = layer("QLinearConv", seed)
        graph = load(data)
        once = convert(graph, {}, rounding=Rounding.SINGLE).graph
        apart += not np.array_equal(*(evaluate(g, {"a": x})[0] for g in (graph, once)))
    assert apart > 10


@pytest.mark.parametrize("operator", ["QLinearConv", "QLinearMatMul", "QGemm"])
def test_layers_of_any_kind(operator):
    """Strides, groups, zero points of weights, channels last, stacks of rows."""
    random, converted = Random(len(operator) + 1), 0
    for _ in range(90):
        data, arrays = OPERATORS[operator](random, operator)
        graph = load(data)
        layers = [n for n in graph.op_nodes if isinstance(n.op, NnQuantized)]
        if not layers:
            continue
        (expected,) = by_runtime(data, *arrays.values())
        if refusal(layers[0]) is not None:
            with raises(UnsupportedOpError):
                convert(graph, {})
            continue
        made, converted = convert(graph, {}).graph, converted + 1
        assert np.array_equal(evaluate(made, arrays)[0], expected)
    assert converted > 5
