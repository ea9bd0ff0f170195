"""Modules, stages, memory plans."""

from rlx.ir import GraphModule, Stage
from rlx.memory import plan_memory
from support.messages import raises
from support.networks.ir_samples import clamp_graph, network


def test_stages_are_constructed():
    graph = clamp_graph()
    plan = plan_memory(graph)
    assert GraphModule.hir(graph) == GraphModule(graph, Stage.HIR)
    assert GraphModule.mir(graph) == GraphModule(graph, Stage.MIR)
    assert GraphModule.lir(graph, plan) == GraphModule(graph, Stage.LIR, plan)


def test_graph_can_be_replaced_before_planning():
    module = GraphModule.hir(clamp_graph())
    graph = network()
    assert module.with_graph(graph) == GraphModule(graph, Stage.HIR)
    planned = GraphModule.lir(graph, plan_memory(graph))
    with raises(ValueError):
        planned.with_graph(graph)


def test_module_advances_and_never_goes_back():
    graph = clamp_graph()
    plan = plan_memory(graph)
    module = GraphModule.hir(graph)
    assert module.advance(Stage.HIR) == module
    assert module.advance(Stage.MIR) == GraphModule.mir(graph)
    planned = module.advance(Stage.LIR, plan)
    assert planned == GraphModule.lir(graph, plan)
    assert planned.advance(Stage.LIR) == planned
    with raises(ValueError):
        planned.advance(Stage.MIR)
    with raises(ValueError):
        module.advance(Stage.LIR)
    with raises(ValueError):
        module.advance(Stage.MIR, plan)


def test_plan_knows_the_place_of_each_value():
    graph = network()
    plan = plan_memory(graph)
    for placement in plan.placements:
        assert plan.of(placement.value) is placement
    with raises(KeyError):
        plan.of(graph.nodes[1].result)
