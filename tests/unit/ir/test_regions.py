"""Graphs among the attributes of ops: written, read, compared, bound and checked."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

from rlx.ir import Constant, Dim, Graph, GraphModule, f32, rebuild
from rlx.ir.binding import substitute, symbols_of
from rlx.ir.diff import inspect_graph_diff
from rlx.ir.evaluate import evaluate
from rlx.ir.file import load, save, to_file_bytes
from rlx.ir.hash import structural_hash
from rlx.ir.inspect import inspect_graph
from rlx.ir.parser import parse_graph, parse_op
from rlx.ir.plain import encode_fields, map_plain
from rlx.ir.printer import format_graph, format_node, format_op
from rlx.ir.regions import MAX_DEPTH, all_nodes, map_regions
from rlx.ir.verify import problems, verify
from rlx.ops.nn import NnRelu
from rlx.ops.real import RealNeg
from rlx.passes.base import same_nodes
from rlx.passes.common_subexpressions import CommonSubexpressions
from rlx.passes.transforms.bind import bind, symbols
from rlx.support.errors import FrontendError, TextFormError, VerifyError
from support.messages import raises
from support.networks.ir_samples import Choose, regions, scaled


def around(region, *, name="outer"):
    """Return a graph with one op that has ``region``."""
    graph = Graph(name)
    x = graph.input("x", region.inputs[0].type)
    graph.output(*graph.append(Choose(body=region), x, name="call").results)
    return graph


def nested(depth):
    """Return a graph with regions inside regions."""
    region = scaled(1.0)
    for _ in range(depth):
        region = around(region)
    return region


TEXT = """\
graph "outer" {
  %0 = core.input() : f32[3] name "x"
  %1 = test.choose(%0) {body=graph "scaled" {
    %0 = core.input() : f32[3] name "a0"
    %1 = core.constant() {value=dense<[2.5]>} : f32[1]
    %2 = real.add(%0, %1) : f32[3] name "sum"
    return %2 "y"
  }, cases=[]} : f32[3] name "call"
  return %1 "call"
}
"""


def test_text_nests():
    graph = around(scaled(2.5))
    assert format_graph(graph) == TEXT
    assert parse_graph(TEXT) == graph
    assert str(graph) == TEXT  # abbreviated are constants and lists only
    assert str(regions()).count("value=dense<...") == 1


def test_one_line_leaves_out_what_is_inside():
    node = around(scaled(2.5)).nodes[1]
    line = '%1 = test.choose(%0) {body=graph "scaled" {...1 ops}, cases=[]} : f32[3] name "call"'
    assert format_node(node) == line
    assert repr(node) == '<Node %1 = test.choose(%0) : f32[3] "call">'
    with raises(TextFormError):
        parse_op(format_op(node.op, full=False))


def test_op_reads_back():
    op = Choose(cases=(scaled(1.0), scaled(2.0)))
    assert parse_op(format_op(op)) == op


def test_values_around_a_region_are_not_known_in_it():
    text = TEXT.replace("real.add(%0, %1)", "real.add(%0, %7)")
    with raises(TextFormError):
        parse_graph(text)
    # Outside the outer identifiers hold again.
    assert parse_graph(TEXT).outputs[0].node.op.name == "test.choose"


def test_ops_are_equal_when_their_regions_compute_the_same():
    one, same, other = Choose(body=scaled(1.0)), Choose(body=scaled(1.0)), Choose(body=scaled(2.0))
    renamed = Choose(body=scaled(1.0, name="something else"))
    assert one == same == renamed
    assert hash(one) == hash(same) == hash(renamed)
    assert one != other
    assert one.body != "no graph"
    assert one != Choose(cases=(scaled(1.0),))


def test_a_graph_that_grows_is_another_one():
    one, two = scaled(1.0), scaled(1.0)
    assert one == two
    two.output(two.apply(RealNeg(), two.inputs[0]))
    assert one != two
    assert structural_hash(one) == structural_hash(scaled(1.0))
    # What no output depends on does not count.
    one.apply(RealNeg(), one.inputs[0])
    assert one == scaled(1.0)


def test_hash_covers_regions():
    assert structural_hash(around(scaled(1.0))) == structural_hash(around(scaled(1.0, name="b")))
    assert structural_hash(around(scaled(1.0))) != structural_hash(around(scaled(1.5)))


def test_same_regions_are_computed_once_and_same_nodes():
    graph = Graph("g")
    x = graph.input("x", f32(3))
    graph.output(*(graph.apply(Choose(body=scaled(f)), x) for f in (1.0, 1.0, 2.0)))
    merged = CommonSubexpressions().apply(graph)
    assert len(list(merged.op_nodes)) == 2
    assert same_nodes(merged, CommonSubexpressions().apply(merged))
    assert not same_nodes(around(scaled(1.0)), around(scaled(2.0)))


def test_regions_have_paths():
    body, first, second = scaled(1.0), scaled(2.0), scaled(3.0)
    op = Choose(body=body, cases=(first, second))
    assert op.regions() == (("body", body), ("cases[0]", first), ("cases[1]", second))
    assert RealNeg().regions() == ()
    assert Constant(type=f32(), value=np.float32(0)).regions() == ()
    assert [n.op.name for n in all_nodes(around(body))] == [
        "core.input", "test.choose", "core.input", "core.constant", "real.add",
    ]  # fmt: skip


def test_map_regions_keeps_what_is_not_changed():
    op = Choose(body=scaled(1.0), cases=(scaled(2.0),))
    assert map_regions(op, lambda region: region) is op
    assert map_regions(RealNeg(), lambda region: scaled(9.0)) == RealNeg()
    changed = map_regions(op, lambda region: scaled(9.0))
    assert changed == Choose(body=scaled(9.0), cases=(scaled(9.0),))
    half = map_regions(op, lambda region: scaled(9.0) if region == scaled(2.0) else region)
    assert half == Choose(body=scaled(1.0), cases=(scaled(9.0),))


@dataclass(frozen=True, kw_only=True)
class Held:
    graph: Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class InRecord(Choose):
    name = "test.in_record"
    held: Held | None = None


def test_regions_may_be_in_records():
    op = InRecord(held=Held(graph=scaled(1.0)))
    assert op.regions() == (("held.graph", scaled(1.0)),)
    assert map_regions(op, lambda region: scaled(2.0)).held == Held(graph=scaled(2.0))
    assert map_regions(op, lambda region: region) is op
    assert parse_op(format_op(op)) == op
    graph = Graph("g")
    graph.output(graph.apply(op, graph.input("x", f32(3))))
    assert "constant.1.held.graph.1" in str(to_file_bytes(GraphModule.mir(graph)))


def test_symbols_are_bound_inside():
    graph = regions()
    assert symbols(graph) == ("N",)
    assert symbols_of(graph.nodes[1].op) == {"N"}
    bound = bind(graph, {"N": 4})
    assert symbols_of(bound) == set()
    assert bound.nodes[1].op == Choose(body=scaled(2.5, 4))
    verify(GraphModule.mir(bound))
    op = graph.nodes[1].op
    assert substitute(op, {"M": 3}) is op


def test_evaluation_binds_symbols_inside():
    x = np.arange(5, dtype=np.float32)
    z, big = evaluate(regions(), {"x": x})
    np.testing.assert_array_equal(z, x + np.float32(2.5) - np.float32(1))
    np.testing.assert_array_equal(big, np.arange(20))


def test_rebuild_keeps_regions():
    graph = around(scaled(1.0))
    copy = rebuild(graph, lambda new, node, operands: None)
    assert copy.nodes[1].op is graph.nodes[1].op


def test_diff_shows_what_changed_inside():
    diff = inspect_graph_diff(around(scaled(1.0)), around(scaled(2.0)))
    (change,) = diff.changed
    assert change.details == (
        "body: 2 nodes unchanged",
        "  ~ %1 = core.constant() {value=dense<[2.0]>} : f32[1]",
        "      value: dense<[1.0]> -> dense<[2.0]>",
    )
    assert not inspect_graph_diff(around(scaled(1.0)), around(scaled(1.0, name="other")))


def test_inspection_counts_what_is_inside():
    found = inspect_graph(regions())
    assert found.op_counts == {"test.choose": 3, "real.add": 3}
    assert (found.constants, found.constant_bytes) == (23, 92)
    assert [n.constants for n in found.nodes] == [0, 1, 22]


def test_constants_of_regions_are_tensors_of_the_file(tmp_path):
    path = tmp_path / "model.rlx"
    save(GraphModule.mir(regions()), path)
    header = path.read_bytes()[8 : 8 + int.from_bytes(path.read_bytes()[:8], "little")]
    names = set(json.loads(header)) - {"__metadata__"}
    assert names == {
        "constant.1.body.1", "constant.2.body.1", "constant.2.body.2.cases[0].1",
        "constant.2.body.2.cases[1].1",
    }  # fmt: skip
    assert load(path).graph == regions()


def damaged(**changes):
    """Return a graph with a region in which a node was changed, as no method would."""
    region = scaled(1.0)
    for name, value in changes.items():
        object.__setattr__(region.nodes[2], name, value)
    return region


def check(graph, *messages):
    assert problems(GraphModule.mir(graph)) == list(messages)


def test_verifier_names_the_outer_node():
    other = scaled(1.0)
    check(
        around(damaged(types=(f32(4),))),
        "%1 'call': body of test.choose: %2 'sum': expected f32[3] of real.add, got f32[4]",
    )
    check(
        around(damaged(operands=(other.inputs[0],) * 2)),
        "%1 'call': body of test.choose: %2 'sum' reads %0 'a0', which is not defined before it",
        "%1 'call': body of test.choose: %2 'sum' reads %0 'a0', which is not defined before it",
    )


def region_with(add):
    region = Graph("region")
    x = region.input("a0", f32(3))
    region.output(x)
    add(region, x)
    return region


def in_graph(region):
    """Return a graph with an op that has ``region``, which it does not use."""
    graph = Graph("outer")
    op = Choose(body=region, cases=(scaled(1.0),))
    graph.output(graph.apply(op, graph.input("x", f32(3))))
    return graph


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda g, x: g.param("w", f32(3)),
         "%1 'w': a region cannot hold core.param; make it an operand of the op"),
        (lambda g, x: g.apply(NnRelu(), x), "%1: nn.relu does not belong to stage mir"),
        (lambda g, x: g.input("a0", f32(3)),
         "%1 'a0' shares its name with another input or parameter"),
    ],
)  # fmt: skip
def test_regions_keep_the_rules_of_graphs(add, message):
    check(in_graph(region_with(add)), f"%1: body of test.choose: {message}")


def test_regions_have_outputs():
    region = Graph("region")
    region.input("a0", f32(3))
    check(in_graph(region), "%1: body of test.choose: the graph has no output")


def test_symbols_inside_need_an_input():
    region = region_with(lambda g, x: g.input("b", f32(Dim("M"))))
    check(in_graph(region), "%1: no input or parameter has the symbol 'M' of test.choose")


def test_nesting_has_a_bound(tmp_path):
    path = tmp_path / "deep.rlx"
    save(GraphModule.mir(nested(MAX_DEPTH)), path)
    assert load(path).graph == nested(MAX_DEPTH)
    assert parse_graph(format_graph(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    deep = nested(MAX_DEPTH + 1)
    with raises(VerifyError):
        verify(GraphModule.mir(deep))
    with raises(TextFormError):
        parse_graph(format_graph(deep))
    path.write_bytes(to_file_bytes(GraphModule.mir(deep)))
    with raises(FrontendError):
        load(path)


def test_very_deep_nesting_is_refused_too(tmp_path):
    deep = nested(60)
    with raises(TextFormError):
        parse_graph(format_graph(deep))
    path = tmp_path / "deep.rlx"
    path.write_bytes(to_file_bytes(GraphModule.mir(deep)))
    with raises(FrontendError):
        load(path)


def test_lists_and_regions_count_together():
    text = 'graph "g" { %0 = test.choose() {cases=' + "[" * 20
    with raises(TextFormError):
        parse_graph(text + text)


def test_attribute_that_is_no_graph():
    with raises(TextFormError):
        parse_op("test.choose {body=3}")
    with raises(TextFormError):
        parse_op('q.clamp {low=graph "g" { return }}')


def test_map_plain_visits_everything():
    plain = encode_fields(Choose(body=scaled(1.0), cases=(scaled(2.0),)))
    seen = []

    def visit(value, path):
        seen.append(path)
        return "graph" if isinstance(value, Graph) else value

    assert {k: map_plain(v, visit, k) for k, v in plain.items()} == {
        "body": "graph", "cases": ("graph",),
    }  # fmt: skip
    assert seen == ["body", "cases", "cases[0]"]
