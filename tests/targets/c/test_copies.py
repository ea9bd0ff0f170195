"""Moves of values as strided copies: each gives what its op is defined to give."""

import itertools

import numpy as np
import pytest

from rlx.ir.evaluate import evaluate
from rlx.tracing import Graph
from rlx_c import copies


def moved(node, arrays, fill=0):
    """Return the result of copies, made element by element."""
    parts = {
        "real.transpose": lambda: (copies.transposition(node),),
        "real.slice": lambda: (copies.part(node),),
        "real.pad": lambda: (copies.padding(node),),
        "real.concat": lambda: copies.concatenation(node),
    }[node.op.name]()
    result = np.full(node.types[0].size, fill, np.float32)
    for operand, loops, run, read, write in parts:
        x = arrays[operand].reshape(-1)
        for steps in itertools.product(*(range(loop.extent) for loop in loops)):
            pairs = list(zip(steps, loops, strict=True))
            source = read + sum(step * loop.strides[0] for step, loop in pairs)
            target = write + sum(step * loop.strides[1] for step, loop in pairs)
            result[target : target + run] = x[source : source + run]
    return result.reshape(node.types[0].static_shape)


@pytest.mark.parametrize(
    "compute",
    [
        lambda x, y: x.transpose(2, 0, 1),
        lambda x, y: x.transpose(0, 2, 1),
        lambda x, y: x[:, 1:3, ::2],
        lambda x, y: x[1, :, 3:],
        lambda x, y: x.concat(y, axis=1),
        lambda x, y: x.concat(y, x, axis=-2),
    ],
)
def test_copies_give_what_the_op_is_defined_to_give(compute):
    graph = Graph("moves")
    x, y = graph.input("x", (2, 3, 5)), graph.input("y", (2, 4, 5))
    graph.output(compute(x, y))
    arrays = {"x": np.arange(30, dtype=np.float32), "y": -np.arange(40, dtype=np.float32)}
    arrays = {v.name: arrays[v.name].reshape(v.type.static_shape) for v in graph.graph.inputs}
    values = dict(zip(graph.graph.inputs, arrays.values(), strict=True))
    for node in graph.graph.op_nodes:
        if node.op.name != "real.reshape":
            found = moved(node, [values[operand] for operand in node.operands])
        else:
            found = values[node.operands[0]].reshape(node.types[0].static_shape)
        values[node.result] = found
    (expected,) = evaluate(graph.graph, arrays)
    assert np.array_equal(values[graph.graph.outputs[0]], expected)


def test_a_padded_form_is_filled_around_the_operand():
    from rlx.ops.real import RealPad

    graph = Graph("pads")
    x = graph.input("x", (2, 3))
    graph.output(x.apply(RealPad(before=(1, 0), after=(0, 2), value=7.0)))
    (node,) = graph.graph.op_nodes
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    (expected,) = evaluate(graph.graph, {"x": array})
    assert np.array_equal(moved(node, [array], 7), expected)
