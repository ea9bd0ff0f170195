"""Benchmarks of the host runtime: the page is current, and both engines run the same networks."""

import numpy as np
import pytest

from benchmarks import stored
from benchmarks.host import costs, machine, pair, ratios, table, worker
from benchmarks.host.networks import decoder, encoder
from benchmarks.host.networks.mlp import mlp
from benchmarks.host.networks.resnet import resnet
from rlx.ir.evaluate import evaluate
from support.messages import raises

ROWS = {(row["what"], row["runtime"]): row for row in stored.read(ratios.STORED)}
OTHERS = {(row["what"], row["runtime"]): row for row in stored.read(costs.STORED)}

SMALL_ENCODER = encoder.EncoderSizes(layers=2, sequence=5, width=12, heads=3, hidden=20)
SMALL_DECODER = decoder.DecoderSizes(
    width=12, layers=2, heads=3, hidden=20, tokens=30, cache=9, position=5
)


def small_cases():
    """Return each network in a small size."""
    return [
        mlp(2, (20, 12, 5)), resnet(2, 8), encoder.encoder(SMALL_ENCODER),
        decoder.decoder(SMALL_DECODER),
    ]  # fmt: skip


def test_page_is_current():
    advice = "python -m benchmarks host --update"
    assert table.PAGE.read_text(encoding="utf-8") == table.page(), advice


def test_every_network_of_the_native_backend_is_stored():
    stored_names = {what for what, runtime in ROWS if runtime == machine.NATIVE}
    assert stored_names == set(table.NATIVE_RATIOS) == set(ratios.ITERATIONS)


@pytest.mark.parametrize("runtime", [machine.EARLIER, machine.RUNTIME])
def test_every_network_and_cost_is_stored(runtime):
    assert {what for what, r in ROWS if r == runtime} == {*table.RATIOS, ratios.KWS}
    wanted = {*costs.TIMES, *costs.IMPORTS, *(f"memory, {n}" for n in costs.MEMORY)}
    assert {what for what, r in OTHERS if r == runtime} == wanted
    assert set(table.RATIOS) == set(ratios.FLOATS)


@pytest.mark.parametrize("case", small_cases(), ids=lambda c: c.name)
def test_engines_agree(case):
    ours, theirs = pair.calls(case)
    first, expected = ours()[0], theirs()[0]
    pair.require_equal(case.name, first, expected)
    again = ours()[0]
    assert np.array_equal(first, again), "a step at the same position changed its state"
    meant = evaluate(case.graph.graph, {**case.inputs, **case.states})
    assert pair.difference(meant[case.graph.graph.output_names.index(name(case))], expected) < 1e-5


def name(case):
    """Return the name of the output that is compared."""
    return "logits" if case.name == "decoder" else "y"


def test_networks_have_their_sizes():
    shapes = {n: [v.type.shape for v in worker.case(n).graph.graph.inputs] for n in table.RATIOS}
    assert shapes["MLP, batch 1"] == [(1, 784)]
    assert shapes["encoder"] == [(1, 128, 384)]
    assert shapes["ResNet-8, batch 64"] == [(64, 32, 32, 3)]
    assert shapes["decode step"] == [(1,), (1,), *[(8, 256, 32)] * 8]


def test_outputs_that_differ_are_no_result():
    expected = np.array([1.0, 200.0], np.float32)
    pair.require_equal("net", expected + np.float32(0.001), expected)
    with raises(ValueError):
        pair.require_equal("net", expected + np.float32(10), expected)
    with raises(ValueError):
        pair.difference(expected, expected[:1])
    with raises(ValueError):
        pair.require_equal("net", expected * np.float32("nan"), expected)


@pytest.mark.parametrize("ops", costs.OPS)
def test_graphs_for_compilation_have_so_many_ops(ops):
    assert sum(1 for _ in costs.blocks(ops).graph.op_nodes) == ops
