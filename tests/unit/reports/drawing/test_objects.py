"""``repr`` and what notebooks show: one line, and safe HTML."""

import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import rlx
from rlx import GraphModule
from rlx.ir import Graph, f32, i8
from rlx.metrics.inference import Accuracy
from rlx.ops.q import QClamp
from rlx.ops.real import RealAdd
from rlx.support.text.notebook import MAX_LAYERS
from rlx_sim.verify import VerificationReport
from support.networks.ir_samples import HOSTILE, SAMPLES, network
from support.networks.mlperf_like import NETWORKS, file
from support.networks.quantized_net import float_network, samples

ATTACK = "</style></svg><script>alert(1)</script><img src=x onerror='alert(2)'>"
ALLOWED = {
    "div", "p", "svg", "title", "style", "g", "path", "rect", "text", "details", "summary",
    "table", "thead", "tbody", "tfoot", "tr", "th", "td",
}  # fmt: skip


def _tags(html):
    found = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.add(tag)
            assert not [
                name for name, _ in attrs if name.startswith("on") or name in ("src", "href")
            ]

    Reader().feed(html)
    return found


def _check(shown, *, most=300_000):
    """Check that an object shows itself in one line and in a small piece of safe HTML."""
    line = repr(shown)
    assert "\n" not in line
    assert len(line) < 700
    assert " object at 0x" not in line
    html = shown._repr_html_()
    assert len(html) < most
    assert _tags(html) <= ALLOWED
    assert html == shown._repr_html_()
    return line, html


def test_node_value_graph_and_module_are_one_line():
    graph = network()
    conv, module = graph.nodes[3], GraphModule.mir(graph)
    assert repr(conv) == ('<Node %3 = q.conv2d(%0, %1, %2) : i8[1, 3, 3, 3] q(0.3, -128) "conv">')
    assert repr(conv.result) == '<Value %3 of q.conv2d : i8[1, 3, 3, 3] q(0.3, -128) "conv">'
    inside = (
        '"network": 4 ops, "image" i8[1, 6, 5, 2] q(0.25, 4) -> "probabilities" i8[1, 4] q(0.2, 1)'
    )
    assert repr(graph).startswith(f"<Graph {inside[:60]}")
    assert repr(module).endswith("; stage mir>")


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_every_sample_shows_itself(make):
    graph = make()
    for node in graph.nodes:
        assert "\n" not in repr(node)
        assert len(repr(node)) < 400
    _check(graph)
    _check(GraphModule.hir(graph))


@pytest.mark.parametrize("name", [ATTACK, HOSTILE, "x" * 10_000])
def test_names_are_text_in_lines_and_html(name):
    graph = Graph(name)
    x = graph.input(name, i8(1, 4))
    graph.output(graph.apply(QClamp(low=0, high=9), x, name=name), names=[name])
    line, html = _check(graph)
    assert line.isascii()
    assert html.encode().decode() == html
    _check(rlx.estimate(GraphModule.mir(graph), "cortexm"))


def test_a_large_graph_names_the_page_instead():
    graph = Graph("large")
    value = graph.input("x", f32(4))
    for _ in range(MAX_LAYERS):
        value = graph.apply(RealAdd(), value, value)
    graph.output(value)
    _, html = _check(graph)
    assert "rlx draw MODEL -o FILE.html" in html


def test_results_show_figures_and_layers(tmp_path):
    graph = float_network()
    data = samples(24, 1)
    found = rlx.quantize(graph, data)
    line, html = _check(found)
    assert line.startswith("<Quantized ")
    assert "bits of a weight 8" in line
    assert "SQNR of the output" in html
    line, _ = _check(rlx.compare(graph, found.module, data))
    assert line.startswith("<Comparison: samples 24, agreement ")
    _check(found.report)
    emission = rlx.emit(found.module, "cortexm", tmp_path / "out", io="int8")
    line, html = _check(emission)
    assert (
        line == f"<Emission: {len(emission.files)} files, {len(emission.report['layers'])} layers>"
    )
    assert "<svg" in html
    assert "arena bytes" in html


def test_a_compiled_graph_says_where_it_runs():
    graph = Graph("sum")
    x = graph.input("x", f32(4))
    graph.output(graph.apply(RealAdd(), x, x), names=["y"])
    compiled = rlx.Session().compile(graph)
    line, _ = _check(compiled)
    assert line.startswith('<CompiledGraph "sum": 1 op, "x" f32[4] -> "y" f32[4]; on ')
    assert np.array_equal(compiled(np.ones(4, np.float32))[0], np.full(4, 2))


def test_an_accuracy_shows_each_class():
    confusion = np.array([[5, 0, 1], [0, 0, 0], [2, 2, 7]])
    line, html = _check(Accuracy(confusion))
    assert line == "<Accuracy: 12 of 17 correct, 70.59 %>"
    assert html.count("<tr>") == 3
    assert "2 (1)" in html
    assert "0 (2)" in html


def test_captions_are_words():
    assert "<p>layers of the model: " in _check(GraphModule.hir(network()))[1]
    assert "<p>steps of computation: " in _check(GraphModule.mir(network()))[1]


def test_a_verification_says_what_ran_and_shows_what_differs():
    wrong = {"frame": 3, "tool": ATTACK, "expected": -4, "found": 5}
    report = VerificationReport(
        "cortexm", 4, 3, (wrong,), figures={"instructions": 1234}, tools={"qemu": "7.2"}
    )
    line, html = _check(report)
    assert line == "<VerificationReport for cortexm: FAILED, 3 of 4 frames equal in qemu>"
    assert "1,234" in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_show_themselves(name, tmp_path):
    module = rlx.load(file(tmp_path, name))
    assert max(len(repr(node)) for node in module.graph.nodes) < 400
    _check(module)
    _check(rlx.estimate(module, "cortexm"))


def test_graphs_show_their_text_where_only_the_ir_is_imported():
    program = "from rlx.ir import Graph; print(Graph('net')._repr_html_())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "None\n"
