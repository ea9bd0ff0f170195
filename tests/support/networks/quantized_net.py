"""A small float network with names, and samples for it, to quantize in tests."""

import numpy as np

import rlx
from rlx.ir import Constant, Graph, Input
from rlx.ir.evaluate import evaluate
from rlx.passes.quantize.weighted import weighted_layers, with_weights

CLASSES = 5


def float_network(seed=0):
    """conv - relu - depthwise conv - relu - conv 1x1 - relu - mean pool - dense - softmax."""
    random = np.random.default_rng(seed)

    def normal(*shape):
        fan = np.prod(shape[1:]) if len(shape) > 1 else 16
        return (random.standard_normal(shape) * np.sqrt(2 / fan)).astype(np.float32)

    arrays = [
        (normal(8, 3, 3, 3), normal(8)),
        (normal(8, 3, 3, 1), normal(8)),
        (normal(16, 1, 1, 8), normal(16)),
    ]

    def features(x):
        first, second, third = arrays
        y = x.conv(*first, padding="same").relu()
        y = y.conv(*second, groups=8, padding="same").relu()
        return y.conv(*third).relu().average_pool(8).reshape(1, 16)

    # Classes differ from sample to sample: what all samples have in common is taken off.
    graph = frozen("features", features)
    found = np.concatenate([evaluate(graph, {"x": x[np.newaxis]})[0] for x in samples(64, seed=9)])
    dense = normal(CLASSES, 16) / np.maximum(found.std(axis=0), 1e-3)
    bias = -dense @ found.mean(axis=0)

    def classes(image):
        y = features(image)
        return y.linear(dense.astype(np.float32), bias.astype(np.float32)).softmax()

    return named(frozen("net", classes))


def frozen(name, function):
    traced = rlx.trace(name, function, rlx.f32(1, 8, 8, 3))
    return rlx.freeze(traced.graph, traced.parameters)


def named(graph):
    """Return ``graph`` with a name for each op node: its op and its number."""
    new, mapped, counts = Graph(graph.name), {}, {}
    for node in graph.nodes:
        name = node.name
        if not isinstance(node.op, Constant | Input):
            kind = node.op.name.partition(".")[2]
            counts[kind] = counts.get(kind, 0) + 1
            name = f"{kind}{counts[kind]}"
        operands = tuple(mapped[o] for o in node.operands)
        made = new.append(node.op, *operands, name=name)
        mapped.update(zip(node.results, made.results, strict=True))
    new.output(*(mapped[o] for o in graph.outputs), names=graph.output_names)
    return new


def samples(count, seed=1):
    """Return images whose colours and brightness differ from one to the next."""
    random = np.random.default_rng(seed)
    tints = random.random((count, 1, 1, 3), np.float32)
    return random.random((count, 8, 8, 3), np.float32) * tints


def with_scaled_channel(graph, layer=0, channel=3, factor=1000.0):
    """Return a network of the same function with one channel of weights scaled."""
    first, second = weighted_layers(graph)[layer : layer + 2]
    up, down = np.ones(first.outputs), np.ones(first.outputs)
    up[channel], down[channel] = factor, 1 / factor
    return with_weights(
        graph,
        {
            first.node: (first.scale_outputs(up), (first.bias * up).astype(np.float32)),
            second.node: (second.scale_inputs(down), second.bias),
        },
        by="test",
    )
