"""Float networks are estimated without samples, near what they cost once quantized with some."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

import rlx
from rlx import f32
from rlx.driver import driver
from rlx.driver.assumption import assume
from rlx.ir import Dim, Graph, GraphModule
from rlx.ops.nn import NnRelu
from rlx.ops.q import QClamp
from rlx.ops.real import RealMatmul, RealReduceProd, RealTanh
from rlx.support.errors import RlxError, UnsupportedOpError, UsageError
from rlx.targets import load
from strategies import float_graphs
from support.networks.quantized_net import float_network, samples

EQUAL = {"cortexm": ("constant_bytes", "arena_bytes"), "fpga": ("interval",)}
NEAR = {
    "cortexm": {"instructions": 0.03, "code_bytes": 0.02},
    "fpga": {"lut": 0.1, "ff": 0.1, "dsp": 0.1},
}
SOFTMAX_TABLE = 1024
"""Bytes of a softmax's table at most: it has an entry for each difference that counts."""

CELLS = 200
"""Cells or DSP slices, and bytes of code, by which small designs may differ."""


def figures(module, target):
    """Return the estimate of a network that a target takes, None for one that it refuses."""
    chosen = load(target)
    options = chosen.options()
    try:
        lowered = driver.lower(module, chosen, options=options)
        return chosen.estimate(lowered.module, options)
    except RlxError:
        return None


def has_softmax(figures):
    return any("softmax" in row["op"] for row in figures["layers"])


def quantized(graph, data, bits=8):
    return rlx.quantize(
        GraphModule.mir(graph), data, weights=str(bits), min_sqnr=-1e9, min_agreement=0
    ).module


def normal(x):
    """Return random samples for an input."""
    shape = 24, *x.type.static_shape
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def differences(graph, data, bits=8):
    """Return the figures of a float network that are not those which samples give, by target."""
    integer, found = quantized(graph, data, bits), {}
    for target in ("cortexm", "fpga"):
        assumed = assume(GraphModule.mir(graph), load(target), weight_bits=bits)
        expected, got = figures(integer, target), figures(assumed.module, target)
        assert (expected is None) == (got is None)
        if expected is None:
            continue
        assert [row["op"] for row in got["layers"]] == [row["op"] for row in expected["layers"]]
        free = {"constant_bytes": SOFTMAX_TABLE} if has_softmax(expected) else {}
        slack = {key: free.get(key, 0) for key in EQUAL[target]}
        for key, share in NEAR[target].items():
            slack[key] = max(share * expected[key], CELLS if key in ("lut", "ff") else 8)
        off = {k: (expected[k], got[k]) for k, s in slack.items() if abs(expected[k] - got[k]) > s}
        if off:
            found[target] = off
    return found


@pytest.mark.parametrize("bits", [8, 4])
def test_a_classifier_costs_what_it_costs_once_quantized(bits):
    graph = float_network()
    (x,) = graph.inputs
    assert differences(graph, {x.name: normal(x)}, bits) == {}


def test_a_classifier_of_ternary_weights_has_the_same_flash_and_memory():
    # Few steps of a weight leave the spread of channels to chance, and with it a kernel.
    graph = float_network()
    (x,) = graph.inputs
    off = differences(graph, {x.name: normal(x)}, 2).get("cortexm", {})
    assert off.keys() <= {"instructions", "code_bytes"}


@pytest.mark.slow
def test_random_networks_cost_what_they_cost_once_quantized():
    """Folding an FPGA design is a search, in which a cell more or less may choose another one."""
    found = {}

    @seed(3)
    @settings(
        max_examples=100, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=float_graphs(size=8))
    def collect(case):
        ops = " ".join(node.op.name for node in case.graph.op_nodes)
        if ops in found:
            return
        (x,) = case.graph.inputs
        try:
            found[ops] = differences(case.graph, {x.name: normal(x)})
        except UsageError:
            # Networks that overflow have no ranges.
            found.pop(ops, None)

    collect()
    assert len(found) >= 30
    assert [ops for ops, off in found.items() if "cortexm" in off] == []
    folded = [off["fpga"] for off in found.values() if "fpga" in off]
    assert len(folded) <= len(found) // 10, folded
    assert all("interval" not in off for off in folded), folded


def test_the_estimate_says_what_was_assumed():
    network = float_network()
    estimate = rlx.estimate(network, "cortexm", weight_bits=4)
    assert estimate.assumed == estimate["assumed"] == {
        "weight_bits": 4, "activation_bits": 8,
        "note": "assumed: int4 weights and int8 activations; accuracy needs samples",
    }  # fmt: skip
    assert all("scale" not in line for line in estimate["ports"])
    whole = rlx.estimate(network, "cortexm")
    assert whole["assumed"]["note"] == (
        "assumed: int8 weights and activations; accuracy needs samples"
    )
    assert estimate["constant_bytes"] < whole["constant_bytes"]
    best = rlx.estimate_all(network, "cortexm", "cortex-m0,cortex-m4", weight_bits=4)
    assert best.as_json()["assumed"] == estimate["assumed"]


def test_an_integer_network_has_no_assumption():
    integer = quantized(float_network(), {"x": samples(8)})
    assert rlx.estimate(integer, "cortexm").assumed is None
    assert "assumed" not in rlx.estimate_all(integer, "cortexm", "cortex-m4").as_json()
    with pytest.raises(UsageError, match="it is not a float network"):
        rlx.estimate(integer, "cortexm", weight_bits=8)


def test_a_width_that_weights_cannot_have_is_refused():
    with pytest.raises(UsageError, match="weights of 16 bits cannot be assumed"):
        rlx.estimate(float_network(), "cortexm", weight_bits=16)


def test_every_op_without_an_integer_form_is_named():
    graph = Graph("net")
    x = graph.input("x", f32(4, 4))
    product = graph.apply(RealReduceProd(axes=(1,), keep_dims=True), x)
    graph.output(graph.apply(RealMatmul(), x, graph.apply(NnRelu(), x)), product)
    with pytest.raises(UnsupportedOpError) as caught:
        rlx.estimate(GraphModule.mir(graph), "cortexm")
    assert caught.value.exit_status == 5
    assert "real.reduce_prod" in caught.value.message
    assert "real.matmul" in caught.value.message


def test_a_network_of_integers_and_floats_is_taken_as_it_is():
    graph = Graph("net")
    quant = rlx.QuantParams.per_tensor(0.1)
    x = graph.input("x", rlx.ir.TensorType((4,), rlx.DType.I8, quant))
    graph.output(graph.apply(QClamp(low=0), x, quant=quant))
    module = GraphModule.mir(graph)
    assert assume(module, load("cortexm")).module is module


def test_a_network_without_weights_has_an_estimate():
    graph = Graph("net")
    graph.output(graph.apply(RealTanh(), graph.input("x", f32(4))))
    assert rlx.estimate(GraphModule.mir(graph), "fpga").assumed is not None


def test_an_open_shape_is_refused():
    graph = Graph("net")
    graph.output(graph.apply(RealTanh(), graph.input("x", f32(Dim("n"), 4))))
    with pytest.raises(UsageError, match="n"):
        assume(GraphModule.mir(graph), load("cortexm"))
