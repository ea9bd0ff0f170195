"""Content of a report of fusion, and the options."""

import json

import pytest

from rlx.ir import Graph, f32
from rlx.ops import nn
from rlx.ops.expression import Expression
from rlx.passes.decompose import decompose
from rlx.passes.fusion import FusionOptions, FusionPolicy, Pattern, fuse
from rlx.support.errors import UsageError
from support.messages import raises


def report():
    graph = Graph("net")
    x = Expression(graph, graph.input("x", f32(3, 4)))
    y = x.tanh()
    graph.output(y.value, y.exp().apply(nn.NnSoftmax()).value, names=["a", "b"])
    return fuse(decompose(graph))[1]


def test_report_in_a_line():
    wanted = "net: 7 ops become 3 (softmax 1; 1 missed)"
    assert report().summary() == wanted
    assert repr(report()) == f"<FusionReport {wanted}>"


def test_report_as_text():
    lines = [" ".join(line.split()) for line in str(report()).splitlines()]
    assert lines[2:5] == [
        "fused",
        "pattern result ops nodes detail origin",
        "softmax fused.softmax 5 real.reduce_max (%3), real.sub (%4), real.exp (%5),"
        " real.reduce_sum (%6), real.div (%7) axis 1 decompose",
    ]
    assert lines[6:] == [
        "not fused",
        "pattern node reason why origin",
        "elementwise real.tanh (%1) output of the graph real.tanh (%1) is an output of the graph",
    ]


def test_report_as_data():
    found = json.loads(json.dumps(report().to_dict()))
    assert found["counts"] == {"softmax": 1}
    assert (found["before"], found["after"], found["exact"]) == (7, 3, True)
    (fused,) = found["fused"]
    assert fused["nodes"][0] == {"op": "real.reduce_max", "label": "%3", "origin": "decompose"}
    assert {k: v for k, v in fused.items() if k != "nodes"} == {
        "pattern": "softmax", "result": "fused.softmax", "detail": "axis 1", "exact": True,
    }  # fmt: skip
    assert found["missed"] == [
        {
            "pattern": "elementwise",
            "node": {"op": "real.tanh", "label": "%1", "origin": ""},
            "reason": "output of the graph",
            "text": "real.tanh (%1) is an output of the graph",
        }
    ]


def test_report_in_a_notebook():
    html = report()._repr_html_()
    assert "fused.softmax" in html
    assert "not fused" in html


def test_report_of_nothing():
    graph = Graph("net")
    graph.output(graph.input("x", f32(3)))
    _, found = fuse(graph)
    assert str(found) == "net: 0 ops become 0 (nothing fused; 0 missed)"


def test_options_from_texts():
    options = FusionOptions.parse(["keep", "softmax=fuse", "matmul=keep"])
    assert options.default is FusionPolicy.KEEP
    assert options.wants(Pattern.SOFTMAX)
    assert not options.wants(Pattern.MATMUL)
    assert not options.wants(Pattern.JOIN)
    assert options.to_dict()["patterns"] == {"*": "keep", "matmul": "keep", "softmax": "fuse"}


@pytest.mark.parametrize(
    "text",
    ["softmx=keep", "softmax=kep", "fse"],
)
def test_unknown_names_are_refused(text):
    with raises(UsageError):
        FusionOptions.parse([text])


def test_limits_that_no_region_can_keep():
    with raises(ValueError):
        FusionOptions(max_steps=1)
