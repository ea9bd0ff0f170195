"""Inspection: figures of graphs, modules and pipelines, as text and as data."""

import json

import numpy as np
import pytest

from rlx.ir import Dim, Graph, GraphModule, QuantParams, f32, i8
from rlx.ir.inspect import (
    MAX_NAME_LENGTH,
    inspect_graph,
    inspect_module,
    inspect_pipeline,
    node_macs,
    printable,
    table,
)
from rlx.memory import to_lir
from rlx.ops.nn import NnLinear, NnRelu
from rlx.ops.q import QClamp
from rlx.ops.real import RealConv, RealMatmul
from rlx.ops.real.window import SpatialWindow
from support.networks.ir_samples import HOSTILE, SAMPLES, clamp_graph, network, several_results


def test_figures_of_a_network():
    found = inspect_graph(network())
    assert found.inputs == {"image": "i8[1, 6, 5, 2] q(0.25, 4)"}
    assert found.outputs == (("probabilities", "i8[1, 4] q(0.00390625, -128)"),)
    assert found.op_counts == {"q.conv2d": 1, "q.reshape": 1, "q.dense": 1, "q.softmax": 1}
    # 3 x 3 outputs of 3 channels take 3 * 3 * 2 taps each; 27 inputs go to 4 outputs.
    assert found.macs == 27 * 18 + 27 * 4
    assert found.constants == 54 + 3 + 108 + 4
    assert found.constant_bytes == 54 + 12 + 108 + 16
    conv = found.nodes[1]
    assert (conv.index, conv.op, conv.name, conv.operands) == (
        3, "q.conv2d", "conv", ("%0", "%1", "%2"),
    )  # fmt: skip
    assert (conv.macs, conv.constants, conv.constant_bytes, conv.users) == (486, 57, 66, 1)


def test_text_of_a_graph():
    assert str(inspect_graph(clamp_graph())) == (
        "tiny: 1 op (q.clamp 1), 0 MACs, 0 constants in 0 bytes\n"
        "\n"
        "    op          name  result               MACs  constant bytes\n"
        "%0  core.input  x     i8[1, 4] q(0.5, -3)\n"
        "%1  q.clamp     relu  i8[1, 4] q(0.5, -3)     0"
    )


def test_constants_used_twice_count_once():
    graph = Graph("g")
    c = graph.constant(np.zeros(4, np.int8))
    values = [graph.apply(QClamp(low=low), c) for low in (1, 2)]
    graph.output(*values, c)
    found = inspect_graph(graph)
    assert [n.constants for n in found.nodes] == [4, 0]
    assert found.constants == 4
    assert [n.users for n in found.nodes] == [1, 1]


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_data_is_json(make):
    found = inspect_graph(make())
    assert json.loads(json.dumps(found.to_dict()))["hash"] == found.hash
    assert str(found).isascii()
    assert "\x1b" not in str(found)


def test_symbolic_shapes_have_no_macs():
    graph = Graph("g")
    x = graph.input("x", f32(Dim("N"), 3))
    y = graph.apply(RealMatmul(), x, graph.constant(np.zeros((3, 2), np.float32)))
    graph.output(y)
    found = inspect_graph(graph)
    assert found.macs is None
    assert "unknown MACs" in found.stats()
    assert str(found).splitlines()[-1].split()[-2:] == ["?", "24"]


def test_macs_of_reals_and_of_decompositions():
    graph = Graph("g")
    x = graph.input("x", f32(2, 5, 7, 3))
    w = graph.constant(np.zeros((4, 3, 3, 3), np.float32))
    window = SpatialWindow(kernel=(3, 3), stride=(1, 1), dilation=(1, 1), padding=((1, 1), (1, 1)))
    conv = graph.append(RealConv(window=window), x, w)
    assert node_macs(conv) == 2 * 5 * 7 * 4 * 27
    batch = graph.append(RealMatmul(), graph.input("a", f32(6, 2, 3)), graph.input("b", f32(3, 4)))
    assert node_macs(batch) == 6 * 2 * 4 * 3
    weights = graph.constant(np.zeros((4, 3), np.float32))
    linear = graph.append(NnLinear(), graph.input("c", f32(5, 3)), weights)
    assert node_macs(linear) == 5 * 3 * 4
    assert node_macs(graph.append(NnRelu(), linear.result)) == 0


def test_module_shows_its_plan():
    module = to_lir(GraphModule.mir(network()))
    found = inspect_module(module)
    assert found.stage == "lir"
    assert found.schedule == (3, 4, 7, 8)
    assert found.arena_bytes == module.plan.arena_bytes
    assert [p.value for p in found.placements][:2] == ["%0", "%3"]
    text = str(found)
    assert text.startswith("stage lir\nnetwork: 4 ops")
    assert f"arena of {module.plan.arena_bytes} bytes; order %3 %4 %7 %8" in text
    assert json.dumps(found.to_dict())
    plain = inspect_module(GraphModule.mir(network()))
    assert (plain.schedule, plain.arena_bytes) == ((), None)
    assert str(plain).startswith("stage mir\n")


def test_pipeline_shows_what_each_pass_changed():
    stages = [("import", clamp_graph()), ("nothing", clamp_graph()), ("change", clamp_graph(5))]
    found = inspect_pipeline(stages)
    assert str(found).splitlines()[:2] == [
        "== import: tiny: 1 op (q.clamp 1), 0 MACs, 0 constants in 0 bytes",
        "== change: tiny: 1 op (q.clamp 1), 0 MACs, 0 constants in 0 bytes",
    ]
    assert "    low: -3 -> 5" in str(found)
    data = json.loads(json.dumps(found.to_dict()))
    assert [s["name"] for s in data["steps"]] == ["import", "change"]
    assert data["steps"][0]["diff"] is None
    assert data["steps"][1]["diff"]["changed"][0]["details"] == ["low: -3 -> 5"]
    assert str(inspect_pipeline(stages[:2])).splitlines()[1:] == ["no pass changes it"]


def test_names_cannot_steer_the_terminal():
    assert printable("conv") == "conv"
    assert printable('say "x"') == 'say "x"'
    assert printable("a\x1b[2J\n") == "a\\u001b[2J\\n"
    assert printable("x" * MAX_NAME_LENGTH) == "x" * MAX_NAME_LENGTH
    long = printable("begin" + "x" * 100 + "end")
    assert len(long) == MAX_NAME_LENGTH
    assert long.startswith("begin")
    assert long.endswith("end")
    assert HOSTILE not in str(inspect_graph(several_results()))


def test_table_aligns_columns():
    assert table(("a", "bb"), [("ccc", "1"), ("d", "22222")], right=(1,)) == [
        "a       bb", "ccc      1", "d    22222",
    ]  # fmt: skip
    assert table(("a",), []) == ["a"]


def test_long_types_are_cut():
    graph = Graph("g")
    quant = QuantParams((0.5,) * 20, (0,) * 20, 0)
    graph.output(graph.apply(QClamp(), graph.input("x", i8(20, quant=quant))))
    assert inspect_graph(graph).nodes[1].types[0].endswith("...12 more)")


def test_inputs_and_outputs_of_one_name_are_all_shown():
    graph = Graph("g")
    x = graph.input("x", i8(2))
    graph.output(x, x, names=["y", "y"])
    assert inspect_graph(graph).outputs == (("y", "i8[2]"), ("y", "i8[2]"))
