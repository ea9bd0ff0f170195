"""Dense layers in quads: the order of weights, and which layers fit."""

import numpy as np
import pytest
from targets.cortexm.graph_builder import GraphBuilder
from targets.cortexm.kernel_graphs import RELU

from rlx.ir import DType
from rlx_cortexm.kernels.dense_quads.tactic import Quads
from rlx_cortexm.kernels.rules import candidates


def dense(inputs, outputs, **attributes):
    """Return a graph's node with a dense layer."""
    builder = GraphBuilder()
    builder.dense((1, inputs), outputs, **attributes)
    (node,) = builder.graph.op_nodes
    return node


def found(node):
    return [c for c in candidates(node) if c.name.startswith("quads")]


def test_the_last_channels_stand_in_the_last_group():
    node = dense(6, 5)
    layer = found(node)[0].lower()
    quads = layer.tables[0].data.reshape(2, 2, 4, 4)
    weights = np.pad(node.operands[1].constant, ((0, 0), (0, 2)))
    assert (quads[0] == weights[:4].reshape(4, 2, 4).swapaxes(0, 1)).all()
    assert (quads[1] == weights[1:].reshape(4, 2, 4).swapaxes(0, 1)).all()


def test_a_row_and_a_mark_are_scratch_memory():
    quads = Quads(rows=1, inputs=30, outputs=10, unrolled=4)
    assert (quads.quads, quads.groups, quads.scratch_bytes) == (8, 3, 2 * 4 * 8 + 4)


def test_quads_are_not_filled_up_for_longer_code():
    assert [c.name for c in found(dense(24, 4))] == ["quads, 1 unrolled", "quads, 2 unrolled"]


@pytest.mark.parametrize("inputs", [64, 640])
def test_layers_of_one_size_share_a_function(inputs):
    layers = [found(dense(inputs, outputs, **RELU))[-1].lower() for outputs in (8, 128)]
    assert layers[0].kernel == layers[1].kernel


def test_few_channels_and_narrow_weights_do_not_fit():
    assert not found(dense(64, 3))
    builder = GraphBuilder()
    builder.conv((1, 1, 1, 8), 4, (1, 1), dtype=DType.I4)
    (node,) = builder.graph.op_nodes
    assert not found(node)
