"""Every pass and every pipeline leaves every output bit as it was."""

import pytest
from hypothesis import given

from rlx.ir import GraphModule, Stage
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.ops.q import Q_OPS
from rlx.passes.dispatch import Policies, Policy
from rlx.passes.fit import fit
from rlx.passes.pipelines import PIPELINES
from strategies import STRATEGIES, random_graphs
from support.pass_registry import registered


def assert_same_bits(before, after, inputs):
    expected, got = evaluate(before, inputs), evaluate(after, inputs)
    assert [a.tolist() for a in got] == [a.tolist() for a in expected]
    assert [v.type for v in after.outputs] == [v.type for v in before.outputs]
    assert after.output_names == before.output_names
    assert [v.type for v in after.inputs] == [v.type for v in before.inputs]


@pytest.mark.slow
@pytest.mark.parametrize("pass_", registered(), ids=lambda p: p.name)
@given(case=random_graphs(size=3))
def test_pass_keeps_every_bit_of_integer_networks(pass_, case):
    after = pass_().apply(case.graph)
    verify(GraphModule(after, Stage.MIR))
    assert_same_bits(case.graph, after, case.inputs)


@given(case=random_graphs(size=3))
def test_fitting_keeps_every_bit_of_networks(case):
    after = fit(case.graph, "test", lambda node: None, Policies(Policy.COMMON)).graph
    verify(GraphModule(after, Stage.MIR))
    assert_same_bits(case.graph, after, case.inputs)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PIPELINES))
@given(case=random_graphs(size=3))
def test_pipeline_keeps_every_bit_of_networks(name, case):
    after = PIPELINES[name].run(GraphModule(case.graph, Stage.HIR)).graph
    assert_same_bits(case.graph, after, case.inputs)


@pytest.mark.slow
@pytest.mark.parametrize("op", Q_OPS, ids=lambda o: o.name)
def test_pipeline_keeps_every_bit_of_single_ops(op):
    @given(case=STRATEGIES[op](size=2))
    def check(case):
        after = PIPELINES["default"].run(GraphModule(case.graph, Stage.HIR)).graph
        assert_same_bits(case.graph, after, case.inputs)

    check()


@given(case=random_graphs(size=3))
def test_default_pipeline_settles(case):
    pipeline = PIPELINES["default"]
    once = pipeline.run(GraphModule(case.graph, Stage.HIR)).graph
    twice = pipeline.run(GraphModule(once, Stage.MIR)).graph
    assert len(twice.nodes) == len(once.nodes)
