"""The conversion of calibrated float graphs: what each op becomes, and what is refused."""

import numpy as np
import pytest
from quant_support import convert_with

from rlx.ir.evaluate import evaluate
from rlx.ir.module import GraphModule, Stage
from rlx.ir.verify import verify
from rlx.tracing import Graph


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def built(body, *shapes):
    """Return the float graph of ``body`` over float32 inputs of the given shapes."""
    graph = Graph("net")
    inputs = [graph.input(f"x{i}", shape) for i, shape in enumerate(shapes)]
    results = body(*inputs)
    graph.output(*(results if isinstance(results, tuple) else (results,)))
    return graph.graph


def ops(converted):
    return [n.op.name for n in converted.graph.op_nodes]


def inner(converted):
    """Return the integer ops between the boundaries."""
    return [name for name in ops(converted) if name.startswith("q.")]


def worst(graph, converted, samples):
    """Return the greatest error of each output, in steps of its codes."""
    errors = [0.0] * len(graph.outputs)
    for inputs in samples:
        pairs = zip(evaluate(graph, inputs), evaluate(converted.graph, inputs), strict=True)
        for i, (real, found) in enumerate(pairs):
            made = converted.graph.outputs[i].node.operands[0]
            step = made.type.quant.scale[0]
            errors[i] = max(errors[i], float(np.abs(real - found).max()) / step)
    return errors


LAYERS = {
    "q.conv2d": (lambda x: x.conv(normal(4, 3, 3, 2) / 4, normal(4), padding="same"), (1, 6, 5, 2)),
    "q.dense": (lambda x: x.linear(normal(5, 8) / 4, normal(5)), (2, 8)),
    "q.add": (lambda x: x + x.reshape(3, 1, 4).reshape(1, 3, 4), (1, 3, 4)),
    "q.max_pool2d": (lambda x: x.max_pool(2), (1, 6, 6, 2)),
    "q.avg_pool2d": (lambda x: x.average_pool(2), (1, 6, 6, 2)),
    "q.mean": (lambda x: x.mean(1, 2), (1, 6, 6, 2)),
    "q.softmax": (lambda x: x.softmax(), (2, 7)),
    "q.table": (lambda x: x.sigmoid(), (2, 7)),
}
"""A float layer for integer ops, and the shape of its input."""


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_becomes_its_integer_op(name):
    body, shape = LAYERS[name]
    graph = built(body, shape)
    converted, samples = convert_with(graph)
    verify(GraphModule(converted.graph, Stage.MIR))
    assert inner(converted)[-1] == name
    assert ops(converted)[0] == "real.quantize"
    assert ops(converted)[-1] == "real.dequantize"
    # Half a step for the result, and what a rounded input shifts it by.
    assert worst(graph, converted, samples)[0] <= 4
