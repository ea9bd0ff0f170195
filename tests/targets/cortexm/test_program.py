"""From a planned graph to layers, names and addresses."""

from dataclasses import replace

import numpy as np
from targets.cortexm.graph_builder import GraphBuilder, emit_graph, planned
from targets.cortexm.kernel_graphs import classifier

from rlx.ir import Graph, GraphModule, MemoryPlan, Placement, Region, Stage, i8
from rlx.ops.q import QClamp, QMaximum, QMinimum
from rlx_c.arena import alive_by_step, find_scratch
from rlx_c.layer import ConstantTable
from rlx_c.symbols import Symbols
from rlx_cortexm.estimate import layer_rows
from rlx_cortexm.program import program
from support.messages import raises


def plan_of(*rows):
    """A plan with values at (offset, bytes, first, last)."""
    graph = Graph("g")
    placements = tuple(
        Placement(graph.input(f"v{i}", i8(n)), Region.ARENA, offset, n, first, last)
        for i, (offset, n, first, last) in enumerate(rows)
    )
    return MemoryPlan((), placements, max(o + n for o, n, _, _ in rows), 4)


def test_scratch_goes_to_the_first_gap():
    plan = plan_of((64, 16, 2, 2), (0, 10, -1, 5), (20, 8, 1, 3))
    alive = alive_by_step(replace(plan, schedule=(plan.placements[0].value.node,) * 7))
    assert find_scratch(alive[2], 8) == 12
    assert find_scratch(alive[2], 9) == 28
    assert find_scratch(alive[2], 40) == 80
    assert find_scratch(alive[5], 100) == 12
    assert find_scratch(alive[6], 100) == 0


def test_equal_layers_share_a_function():
    builder = GraphBuilder()
    x = builder.input(4)
    for low in (0, 0, 1):
        builder.node(QClamp(low=low), x)
    builder.node(QClamp(low=0), builder.input(2, 2))
    lowered = program(planned(builder.graph))
    named = {Symbols("net", lowered).kernel(k): n.users for k, n in lowered.kernels.items()}
    assert named == {"clamp_0": (0, 1, 3), "clamp_2": (2,)}


def test_equal_tables_are_stored_once():
    first = ConstantTable("table", "int8_t", np.arange(4), "a")
    assert first.content == ConstantTable("other", "int8_t", np.arange(4), "b").content
    assert first.content != ConstantTable("table", "int32_t", np.arange(4), "a").content
    assert (
        first.content != ConstantTable("table", "int8_t", np.arange(4).reshape(2, 2), "a").content
    )


def test_constant_operands_count_as_constants():
    graph = Graph("g")
    x, low, high = (
        graph.input("x", i8(5)),
        *(graph.constant(np.full(5, n, np.int8)) for n in (3, 9)),
    )
    y = graph.apply(QMinimum(), graph.apply(QMaximum(), x, low), high)
    graph.output(graph.apply(QMinimum(), y, high))
    lowered = program(planned(graph))
    assert lowered.constant_bytes == 10
    assert [row["constant_bytes"] for row in layer_rows(lowered)] == [5, 5, 5]


def test_a_module_without_a_plan_is_refused():
    with raises(ValueError):
        program(GraphModule(classifier(), Stage.MIR))


def test_an_arena_has_at_least_one_word():
    builder = GraphBuilder()
    builder.node(QClamp(), builder.input(3))
    assert program(planned(builder.graph)).arena_bytes == 4


def test_the_report_gives_layers_and_totals():
    report = emit_graph(classifier()).report
    layers = report["layers"]
    assert [layer["name"] for layer in layers] == [
        "conv", "depthwise", "pointwise", "shortcut", "pool", "flatten",
        "logits", "softmax",
    ]  # fmt: skip
    assert layers[0]["macs"] == 36 * 8 * 27
    assert report["macs"] == 36 * 8 * (27 + 9 + 8) + 3 * 8
    assert report["constant_bytes"] == sum(layer["constant_bytes"] for layer in layers)
    assert report["instructions"] == sum(layer["instructions"] for layer in layers)
    assert report["arena_bytes"] % 4 == 0
