"""Exported ``.onnx`` files are valid, and give the codes of the integer ops but at halves."""

import numpy as np
import onnxruntime
import pytest
from ml_dtypes import int4

from rlx.driver.exporters.onnx import to_onnx
from rlx.driver.exporters.onnx.file import MAX_OPSET, MIN_OPSET
from rlx.driver.exporters.onnx.rules import RULES
from rlx.frontends.onnx import frontend
from rlx.ir import Graph, QuantParams, f32
from rlx.ir.evaluate import evaluate
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import Q_OPS
from rlx.ops.real import RealQuantize, Ties
from rlx.support.errors import UnsupportedOpError, UsageError
from support.messages import raises
from support.networks.exported_ops import GRAPHS, dense, random_inputs, requantized
from support.networks.quantized_networks import quantized_networks

EXACT = {
    "argmax", "clamp", "clamp-none", "clamp-relu", "concat", "convert", "max-pool-padded",
    "maximum", "minimum", "pad", "pad-code", "reshape", "resize-nearest",
    "resize-nearest-both", "slice", "table", "table-absolute",
    "table-leaky", "table-logistic", "transpose",
}  # fmt: skip
"""Graphs whose ops move, compare or look up codes."""


def run(data, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(data, options)
    return session.run(None, inputs)


def apart(graph, opset, seed=0):
    """Return the largest difference, in codes."""
    inputs = random_inputs(graph, seed)
    found = run(to_onnx(graph, opset), inputs)
    pairs = zip(found, evaluate(graph, inputs), strict=True)
    differences = [np.abs(y.astype(int) - expected.astype(int)).max() for y, expected in pairs]
    return max(differences)


def test_every_op_has_a_rule():
    assert all(RULES.knows(op) for op in Q_OPS)


@pytest.mark.parametrize("opset", [MIN_OPSET, 17, 21, MAX_OPSET])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_runtime_gives_the_codes_of_the_op(name, opset):
    assert apart(GRAPHS[name](), opset) <= (name not in EXACT)


@pytest.mark.slow
def test_quantized_networks():
    found = [apart(case.graph, 17, seed) for seed, case in enumerate(quantized_networks(1, 60))]
    # Later layers may amplify a difference of one; most networks meet no half.
    assert np.mean(np.array(found) == 0) > 0.6
    assert np.mean(np.array(found) <= 1) > 0.9


def test_what_is_written_is_read():
    graph = GRAPHS["conv-padded"]()
    read = frontend.load(to_onnx(graph)).graph
    inputs = random_inputs(graph)
    (found,) = evaluate(read, inputs)
    assert np.array_equal(found, run(to_onnx(graph), inputs)[0])
    assert [v.name for v in read.inputs] == ["x"]
    assert read.output_names == ("y",)


def test_same_network_same_bytes():
    graph = GRAPHS["depthwise"]()
    assert to_onnx(graph) == to_onnx(graph)


def test_narrow_weights_take_four_bits_where_the_version_has_them():
    graph = dense((3, 200), (7, 200), dtype=int4)
    narrow, wide = (len(to_onnx(graph, opset)) for opset in (21, 17))
    assert wide - narrow >= 650  # Of 1,400 bytes of weights half are left.
    assert apart(graph, 21) <= 1


@pytest.mark.parametrize("opset", [12, 26])
def test_a_version_out_of_range_is_refused(opset):
    with raises(UsageError):
        to_onnx(GRAPHS["add"](), opset)


def test_a_layer_whose_factors_are_not_those_of_its_scales_is_refused():
    with raises(UnsupportedOpError):
        to_onnx(requantized(Rescale.of(0.7)))


@pytest.mark.parametrize(("ties", "exported"), [(Ties.EVEN, True), (Ties.FLOOR, False)])
def test_an_input_whose_numbers_are_all_rounded_down_is_refused(ties, exported):
    graph = Graph("net")
    op = RealQuantize(quant=QuantParams.per_tensor(0.5), ties=ties)
    graph.output(graph.apply(op, graph.input("x", f32(1, 4))))
    if exported:
        assert to_onnx(graph)
        return
    with raises(UnsupportedOpError):
        to_onnx(graph)
