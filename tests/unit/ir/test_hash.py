"""The structural hash: what it covers, and what it does not."""

import subprocess
import sys

import numpy as np
import pytest

from rlx.ir import Graph, QuantParams, f32, i8
from rlx.ir.hash import structural_hash
from rlx.ir.parser import parse_graph
from rlx.ir.printer import format_graph
from rlx.ops.q import QClamp
from rlx.ops.real import RealAdd, RealMul, RealNeg, RealTopK
from support.networks.ir_samples import SAMPLES, clamp_graph, network


def test_hash_is_pinned():
    # It keys caches on disk: another value means that FORMAT must change.
    assert structural_hash(clamp_graph()) == (
        "5e44ab7b7b47b1868e91ebcaec5fb6d13af317ba0d38d2f351ae1277e8467445"
    )


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_hash_survives_the_text_form(make):
    graph = make()
    assert structural_hash(parse_graph(format_graph(graph))) == structural_hash(graph)


def test_hash_is_the_same_in_another_process():
    script = (
        "from support.networks.ir_samples import network; from rlx.ir.hash import structural_hash;"
        "print(structural_hash(network()))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout.strip()
        for seed in ("1", "2")
    }  # fmt: skip
    assert outputs == {structural_hash(network())}


def build(
    *, first=1.0, names=("a", "b", "c"), swapped=False, low=0, quant=None, shape=(2,), dead=False
):
    graph = Graph(names[0])
    x = graph.input(names[1], i8(*shape, quant=quant))
    order = [QClamp(low=low), QClamp(low=5)]
    if swapped:
        b, a = (graph.apply(op, x, name=names[2]) for op in reversed(order))
    else:
        a, b = (graph.apply(op, x, name=names[2]) for op in order)
    if dead:
        graph.apply(QClamp(low=9), x)
    graph.output(a, b, graph.constant(np.array([first, 2.0], np.float32)))
    return graph


@pytest.mark.parametrize(
    "other", [{"names": ("x", "y", "z")}, {"swapped": True}, {"dead": True}], ids=str
)
def test_hash_leaves_out_names_order_and_unused_nodes(other):
    assert structural_hash(build(**other)) == structural_hash(build())


@pytest.mark.parametrize(
    "other",
    [{"first": 1.5}, {"first": -1.0}, {"low": 1}, {"quant": QuantParams.per_tensor(0.5)},
     {"shape": (2, 1)}],
    ids=str,
)  # fmt: skip
def test_hash_covers_contents_attributes_and_types(other):
    assert structural_hash(build(**other)) != structural_hash(build())


def two_inputs(op, operands, outputs=(0,)):
    graph = Graph("g")
    values = [graph.input("x", f32(2)), graph.input("y", f32(2))]
    values.append(graph.apply(op, *(values[i] for i in operands)))
    graph.output(*(values[-1 - i] for i in outputs))
    return structural_hash(graph)


def test_hash_covers_ops_operands_and_outputs():
    hashes = [
        two_inputs(RealAdd(), (0, 1)),
        two_inputs(RealAdd(), (1, 0)),
        two_inputs(RealAdd(), (0, 0)),
        two_inputs(RealMul(), (0, 1)),
        two_inputs(RealAdd(), (0, 1), (0, 0)),
        two_inputs(RealAdd(), (0, 1), (0, 1)),
        two_inputs(RealAdd(), (0, 1), (1, 0)),
    ]
    assert len(set(hashes)) == len(hashes)


def test_hash_tells_input_from_parameter_and_the_results_of_a_node():
    hashes = set()
    for kind in ("input", "param"):
        for result in (0, 1):
            graph = Graph("g")
            x = getattr(graph, kind)("x", f32(3))
            graph.output(graph.append(RealTopK(count=1), x).results[result])
            hashes.add(structural_hash(graph))
    assert len(hashes) == 4


def test_hash_of_a_deep_graph_needs_no_recursion():
    graph = Graph("deep")
    value = graph.input("x", f32(1))
    for _ in range(5000):
        value = graph.apply(RealNeg(), value)
    graph.output(value)
    assert len(structural_hash(graph)) == 64
