"""The engine that fits a graph to a target or backend, its policies and its report."""

import json
from collections import Counter

import numpy as np
import pytest

import rlx
from rlx.driver.driver import fit_to_target, lower
from rlx.ir import Graph, GraphModule, QuantParams, Refusal, Stage, f32, i8
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QClamp, QRequantize, QReshape, QResizeNearest, QTable, QTranspose
from rlx.passes import Policies, Policy, fit
from rlx.passes.fit import chains_as_ops
from rlx.passes.fuse_chains import FuseChains
from rlx.support.errors import UnsupportedOpError, UsageError
from rlx.targets import QUANTIZE, Emission, Lowering, Target
from support.messages import raises
from support.networks.prelu_chains import maximum, random_chain

REQUANTIZE = QRequantize(x_zero_point=1, rescale=Rescale.of(0.5), zero_point=3)


def chain(*ops):
    graph = Graph("net")
    value = graph.input("x", i8(1, 2, 3, 1))
    for op in ops:
        value = graph.apply(op, value)
    graph.output(value)
    return graph


def names(graph):
    return [n.op.name for n in graph.op_nodes]


def lacks(*ops):
    """Return the claim of a target without some ops, by name."""
    return lambda node: Refusal("not here") if node.op.name in ops else None


def paths(report):
    return [(e.op, e.count, str(e.path), e.reason) for e in report.entries]


def test_a_graph_that_fits_is_left_as_it_is():
    graph = chain(QClamp(low=0), REQUANTIZE)
    found = fit(graph, "tiny", lacks())
    assert found.graph is graph
    assert paths(found.report) == [
        ("q.clamp", 1, "native", ""), ("q.requantize", 1, "native", ""),
    ]  # fmt: skip


def resized(shape, size, **flags):
    graph = Graph("net")
    x = graph.input("x", i8(*shape, quant=QuantParams.per_tensor(0.5, 3)))
    graph.output(graph.apply(QResizeNearest(size=size, **flags), x))
    return graph


TWICE = ["q.reshape", "q.concat", "q.reshape"]


@pytest.mark.parametrize(
    ("shape", "size", "flags", "expected"),
    [
        ((1, 3, 4, 2), (6, 8), {}, TWICE * 2),
        ((2, 3, 4, 2), (3, 12), {"half_pixel_centers": True}, TWICE),
        ((1, 6, 9, 2), (2, 3), {"half_pixel_centers": True}, ["q.slice"] * 2),
        ((1, 6, 4, 2), (3, 8), {"align_corners": True}, None),
        ((1, 5, 7, 2), (3, 11), {}, None),
        ((1, 2, 100, 1), (2, 130), {}, None),
    ],
)
def test_nearest_pixels_become_slices_and_joins(shape, size, flags, expected):
    graph = resized(shape, size, **flags)
    other = fit(graph, "tiny", lacks("q.resize_nearest")).graph
    verify(GraphModule.mir(other))
    assert {"q.resize_nearest"}.isdisjoint(names(other))
    assert expected is None or names(other) == expected
    assert other.outputs[0].type == graph.outputs[0].type
    x = np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)
    np.testing.assert_array_equal(evaluate(other, {"x": x})[0], evaluate(graph, {"x": x})[0])


def test_nearest_pixels_of_too_many_parts_are_refused():
    graph = resized((1, 1, 200, 1), (1, 300))
    found = fit(graph, "tiny", lacks("q.resize_nearest"))
    assert found.graph is graph
    assert paths(found.report) == [("q.resize_nearest", 1, "refused", "not here")]


def test_a_clamp_that_is_refused_becomes_a_table():
    found = fit(chain(QClamp(low=-3, high=9)), "tiny", lacks("q.clamp"))
    (node,) = found.graph.op_nodes
    assert isinstance(node.op, QTable)
    assert node.op.table == tuple(min(max(c, -3), 9) for c in range(-128, 128))
    assert paths(found.report) == [("q.clamp", 1, "rewritten", "not here")]
    found.report.require_ready()


def test_one_error_lists_everything_that_is_refused():
    graph = chain(QTranspose(axes=(0, 2, 1, 3)), QReshape(shape=(6,)))
    report = fit(graph, "tiny", lambda node: Refusal(f"no {node.op.name} unit")).report
    assert not report.ready
    with raises(UnsupportedOpError):
        report.require_ready()


def test_an_error_names_some_nodes_of_an_op_and_shortens_their_names():
    graph = Graph("net")
    value = graph.input("x", i8(4))
    for i in range(5):
        value = graph.apply(QClamp(low=i), value, name="part/" * 40 + str(i))
    graph.output(value)
    report = fit(graph, "tiny", lacks("q.clamp", "q.table")).report
    with pytest.raises(UnsupportedOpError) as caught:
        report.require_ready()
    line = caught.value.message.splitlines()[1]
    labels = report.entries[0].nodes
    assert len(labels) == 5
    shown = ", ".join(f"{label[:61]}..." for label in labels[:3])
    assert line == f"    q.clamp ({shown} and 2 more): it comes down to q.table: not here"


def test_hints_of_refusals_are_given_once():
    graph = chain(QTranspose(axes=(0, 2, 1, 3)), QReshape(shape=(6,)))
    report = fit(graph, "tiny", lambda node: Refusal("no", hint="do this")).report
    with raises(UnsupportedOpError):
        report.require_ready()


def test_a_rewriting_that_is_refused_too_says_what_it_comes_down_to():
    report = fit(chain(QClamp(low=0)), "tiny", lacks("q.clamp", "q.table")).report
    assert paths(report) == [("q.clamp", 1, "refused", "it comes down to q.table: not here")]


def test_the_report_is_ready_for_json():
    graph = chain(QClamp(low=0), REQUANTIZE, QClamp(low=1))
    report = fit(graph, "tiny", lacks("q.clamp")).report
    assert json.loads(json.dumps(report.to_dict())) == {
        "owner": "tiny",
        "ready": True,
        "ops": [
            {"op": "q.clamp", "count": 2, "path": "rewritten", "reason": "not here",
             "nodes": ["%1", "%3"], "hint": None},
            {"op": "q.requantize", "count": 1, "path": "native", "reason": "",
             "nodes": ["%2"], "hint": None},
        ],
    }  # fmt: skip


def test_parts_of_a_decomposition_are_decomposed_in_turn():
    graph = rlx.trace("g", lambda x: x.log_softmax(), f32(2, 3)).graph
    levels = lambda n: Refusal("simpler") if n.op.dialect == "nn" else None  # noqa: E731
    found = fit(graph, "tiny", levels)
    assert {n.op.dialect for n in found.graph.op_nodes} == {"real"}
    assert [(str(e.path), e.reason) for e in found.report.entries] == [("decomposed", "simpler")]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(evaluate(found.graph, {"x": x})[0], evaluate(graph, {"x": x})[0])


@pytest.mark.parametrize(
    ("policies", "op", "path"),
    [
        (Policies(), "q.clamp", "native"),
        (Policies(Policy.COMMON), "q.table", "rewritten"),
        (Policies(ops={"q.clamp": Policy.COMMON}), "q.table", "rewritten"),
        (Policies(Policy.COMMON, {"q.clamp": Policy.NATIVE}), "q.clamp", "native"),
        (Policies(ops={"q.requantize": Policy.COMMON}), "q.clamp", "native"),
    ],
)
def test_policies_choose_between_an_op_and_its_other_form(policies, op, path):
    found = fit(chain(QClamp(low=0)), "tiny", lacks(), policies)
    assert names(found.graph) == [op]
    assert [str(e.path) for e in found.report.entries] == [path]


def test_a_policy_of_native_ops_refuses_instead_of_rewriting():
    report = fit(chain(QClamp(low=0)), "tiny", lacks("q.clamp"), Policies(Policy.NATIVE)).report
    assert paths(report) == [("q.clamp", 1, "refused", "not here")]


def test_policies_are_read_from_text():
    policies = Policies.parse(["common", "q.clamp=native", "q.table=common", "q.table=native"])
    assert policies.to_dict() == {"*": "common", "q.clamp": "native", "q.table": "native"}
    assert Policies.parse([]) == Policies()


@pytest.mark.parametrize(
    "text",
    ["fast", "q.clmp=common"],
)
def test_unknown_policies_and_ops_are_refused(text):
    with raises(UsageError):
        Policies.parse([text])


class Tiny(Target):
    """A target that lowers all but some ops, and counts what it is asked."""

    name = "tiny"
    summary = "nothing"
    options = int

    def __init__(self, *lacking):
        self.lacking = lacking
        self.asked = Counter()

    def knows(self, op):
        return op.name.startswith("q.")

    def lowering(self, node, options):
        self.asked[node, options] += 1
        return Refusal("not here") if node.op.name in self.lacking else Lowering()

    def emit(self, module, options):
        return Emission({})


@pytest.mark.parametrize("lacking", [(), ("q.clamp",)])
def test_a_target_is_asked_once_for_each_node(lacking):
    target = Tiny(*lacking)
    lowered = lower(GraphModule.mir(chain(QClamp(low=0), REQUANTIZE)), target)
    assert set(target.asked.values()) == {1}
    assert {node for node, _ in target.asked} >= set(lowered.module.graph.op_nodes)


def test_real_ops_are_to_be_quantized_first():
    graph = rlx.trace("net", lambda x: x.relu() + 1.0, f32(2)).graph
    target = Tiny("real.add", "real.maximum")
    fitted = fit_to_target(GraphModule.hir(graph), target)
    assert {(e.reason, e.hint) for e in fitted.dispatch.entries} == {("is a float op", QUANTIZE)}
    with raises(UnsupportedOpError):
        lower(GraphModule.hir(graph), target)


def test_chains_become_ops_unless_one_of_these_is_refused():
    module = GraphModule(FuseChains().apply(random_chain(maximum, 1)), Stage.MIR)
    assert names(module.graph) == ["q.chain"]
    steps = chains_as_ops(module, "tiny", lacks())
    assert names(steps.graph) == ["q.mul", "q.requantize", "q.requantize", "q.maximum"]
    assert chains_as_ops(module, "tiny", lacks("q.maximum")) is None
    assert chains_as_ops(steps, "tiny", lacks()) is None
