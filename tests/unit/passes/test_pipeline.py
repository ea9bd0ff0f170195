"""Pipelines: every application of every pass is observed, verified, and named in errors."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import rlx
from rlx.ir import Graph, GraphModule, Input, Stage, i8, rebuild
from rlx.ops.q import QClamp
from rlx.passes.base import Pass, Pipeline, Step, UntilStable
from rlx.passes.canonicalize import Canonicalize
from rlx.passes.dead_code import DeadCode
from rlx.passes.pipelines import PIPELINES, SIMPLIFY, pipeline
from rlx.support import config
from rlx.support.errors import VerifyError
from rlx.tracing import Graph as TracedGraph
from support.messages import raises


def clamps():
    """Return two clamps behind each other, in a module."""
    graph = Graph("clamps")
    x = graph.input("x", i8(2))
    graph.output(graph.apply(QClamp(low=3), graph.apply(QClamp(low=0), x)), names=["y"])
    return GraphModule(graph, Stage.HIR)


@dataclass(frozen=True, slots=True)
class CopyInputs(Pass):
    """Make the inputs again, as no pass may."""

    name: ClassVar[str] = "copy-inputs"

    def apply(self, graph):
        def visit(new, node, operands):
            if isinstance(node.op, Input):
                return [new.input(node.name, node.types[0])]
            return None

        return rebuild(graph, visit)


@dataclass(frozen=True, slots=True)
class NoOutput(Pass):
    """Lose the output in the second round."""

    name: ClassVar[str] = "lose-output"

    def apply(self, graph):
        if len(list(graph.op_nodes)) != 1:
            return graph
        new = rebuild(graph, lambda *_: None)
        new._outputs.clear()
        new._output_names.clear()
        return new


@dataclass(frozen=True, slots=True)
class Output(Pass):
    """Give a graph without output its last value."""

    name: ClassVar[str] = "add-output"

    def apply(self, graph):
        if graph.outputs:
            return graph
        new = rebuild(graph, lambda *_: None)
        new.output(new.nodes[-1].result, names=["y"])
        return new


@dataclass(frozen=True, slots=True)
class OneLess(Pass):
    """Drop the first of two clamps."""

    name: ClassVar[str] = "drop-one"

    def apply(self, graph):
        first, *others = graph.op_nodes
        return rebuild(graph, lambda _, n, o: o if others and n is first else None)


@dataclass(frozen=True, slots=True)
class Failing(Pass):
    """Raise where one op is left."""

    name: ClassVar[str] = "fail"

    def apply(self, graph):
        if len(list(graph.op_nodes)) == 1:
            raise ZeroDivisionError("by zero")
        return graph


def repeated(*passes, rounds=32):
    return Pipeline("test", (UntilStable(passes=passes, rounds=rounds),))


@pytest.fixture(params=[True, False], ids=["each", "group"])
def verify_each(request):
    with config.override(verify_each=request.param):
        yield request.param


def test_every_application_of_every_pass_is_observed():
    steps = []
    made = pipeline("default").run(clamps(), observe=lambda *seen: steps.append(seen))
    names = [pass_.name for pass_ in SIMPLIFY.passes]
    expected = ["decompose", *(f"{name}, round {n}" for n in (1, 2) for name in names)]
    assert [str(step) for step, _ in steps] == expected
    assert steps[-1][1].graph is made.graph
    counts = {step: len(list(made.graph.op_nodes)) for step, made in steps}
    assert counts[Step("common-subexpressions", 1)] == 2
    assert counts[Step("dead-code", 1)] == 1


def test_names_of_a_pipeline():
    names = tuple(pass_.name for pass_ in SIMPLIFY.passes)
    assert PIPELINES["default"].names == ("decompose", *names)
    assert PIPELINES["none"].names == ()


def test_the_pass_that_does_not_settle_is_named():
    passes = repeated(Canonicalize(), CopyInputs(), DeadCode(), rounds=3)
    with raises(AssertionError):
        passes.run(clamps())


def test_a_pass_that_adds_nodes_without_end_is_named():
    @dataclass(frozen=True, slots=True)
    class Growing(Pass):
        name: ClassVar[str] = "grow"

        def apply(self, graph):
            new = rebuild(graph, lambda *_: None)
            new.constant([0])
            return new

    with raises(AssertionError):
        repeated(Growing(), rounds=3).run(clamps())


def test_the_pass_that_broke_the_graph_is_named_with_its_round(verify_each):
    broken = repeated(NoOutput(), OneLess())
    with raises(VerifyError):
        broken.run(clamps())


def test_what_a_later_pass_repairs_is_found_where_each_pass_is_verified(verify_each):
    repaired = repeated(NoOutput(), Output(), OneLess(), rounds=2)
    with raises(VerifyError if verify_each else AssertionError):
        repaired.run(clamps())


def test_whatever_a_pass_raises_names_it():
    with pytest.raises(ZeroDivisionError) as raised:
        repeated(Failing(), OneLess()).run(clamps())
    assert raised.value.__notes__ == ["in pass fail, round 2"]


def test_regions_are_steps_of_their_own():
    graph = TracedGraph("loop")
    x = graph.input("x", (2,))
    graph.output(rlx.while_loop(lambda v: v.sum() < 30.0, lambda v: (v + 1.0) * (v + 1.0), x))
    steps = []
    pipeline("default").run(graph.module, observe=lambda step, made: steps.append((step, made)))
    changing = [
        str(step)
        for (step, made), (_, before) in zip(steps[1:], steps, strict=False)
        if made.graph is not before.graph and made.graph != before.graph
    ]
    assert changing == ["common-subexpressions, round 1, regions of depth 1"]
    assert [step.depth for step, _ in steps[1:]] == sorted(
        (step.depth for step, _ in steps[1:]), reverse=True
    )
    (node,) = (n for n in steps[-1][1].graph.op_nodes if n.op.name == "core.while")
    assert [n.op.name for n in node.op.body.op_nodes] == ["real.add", "real.mul"]


def test_arrays_stay_the_same_in_a_graph_that_settles():
    module = clamps()
    value = module.graph.constant(np.ones(2, np.int8))
    module.graph.output(value, names=["ones"])
    made = pipeline("default").run(module)
    assert made.graph.outputs[1].constant is value.constant
