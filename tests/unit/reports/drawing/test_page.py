"""The page that shows a graph: complete, alone, and safe."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from rlx.ir import Graph, QuantParams, f32, i8
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QClamp, QDense
from rlx.ops.real import RealAdd
from rlx.reports.drawing import layer_labels
from rlx.reports.drawing.layers import layer_details, layer_table
from rlx.reports.drawing.page import graph_page
from rlx.support.text.html import table
from support.networks.ir_samples import HOSTILE, SAMPLES, network

SCRIPT = "</script></title></section>--><script>alert(1)</script><img src=x onerror='alert(2)'>"


class _Reader(HTMLParser):
    """Collects tags with their attributes, and the text of scripts."""

    def __init__(self):
        super().__init__()
        self.tags, self.handlers, self.links, self.scripts = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.links += [value for name, value in attrs if name in ("src", "href", "action")]

    def handle_data(self, data):
        if self.tags and self.tags[-1] == "script" and data.strip():
            self.scripts.append(data)


def _read(page):
    reader = _Reader()
    reader.feed(page)
    return reader


def test_page_has_each_layer_three_times():
    graph = network()
    page = graph_page(graph)
    for node, label in layer_labels(graph).items():
        # Box and pane; layers have a row of the table too.
        assert page.count(f'data-layer="{label}"') == (3 if node in set(graph.op_nodes) else 2)
    assert "486" in page
    assert page == graph_page(network())


def test_details_tell_types_quantization_attributes_and_weights():
    details = layer_details(network())
    conv = " ".join(re.sub(r"<[^>]+>", " ", details["conv"]).split())
    for words in (
        "op q.conv2d", "scale 0.3", "zero point -128", "x_zero_point 4", "constant kernel",
        "scale 0.1 to 0.3, 3 along axis 0", "from layer image", "range -",
    ):  # fmt: skip
        assert words in conv
    assert details["conv"].count("<svg") == 2


def test_channels_that_are_zero_are_counted():
    graph = Graph("zeros")
    x = graph.input("x", i8(1, 2))
    weights = np.array([[1, 2], [0, 0], [0, 3]], np.int8)
    w = graph.constant(weights, quant=QuantParams((0.1, 0.1, 0.1), (0, 0, 0), 0))
    b = graph.constant(np.zeros(3, np.int32))
    dense = QDense(x_zero_point=0, rescale=Rescale.of(0.1, 0.1, 0.1), zero_point=0)
    graph.output(graph.apply(dense, x, w, b))
    assert "<dt>zero channels</dt><dd>1 of 3</dd>" in layer_details(graph)["dense"]


def test_statistics_of_strange_weights():
    graph = Graph("strange")
    x = graph.input("x", f32(4))
    for value in ([np.nan, np.inf, 1, 2], [3e38, -3e38, 0, 1], [5, 5, 5, 5], [np.nan] * 4):
        x = graph.apply(RealAdd(), x, graph.constant(np.array(value, np.float32)))
    graph.output(x)
    details = layer_details(graph)
    assert re.search(r"<dt>not finite</dt><dd>2</dd>", details["add"])
    assert [details[k].count("<svg") for k in ("add", "add_2", "add_3", "add_4")] == [1, 1, 0, 0]
    assert "<dt>zeros</dt><dd>25.0%</dd>" in details["add_2"]


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_every_sample_is_one_page_without_links_or_handlers(make):
    page = _read(graph_page(make()))
    assert (page.handlers, page.links, len(page.scripts)) == ([], [], 1)


@pytest.mark.parametrize("name", [SCRIPT, HOSTILE])
def test_names_of_the_model_are_text_only(name):
    graph = Graph(name)
    x = graph.input(name, i8(1, 4))
    graph.output(graph.apply(QClamp(low=0, high=9), x, name=name), names=[name])
    page = graph_page(graph)
    read = _read(page)
    assert set(read.tags) <= set(_read(graph_page(network())).tags)
    assert (read.handlers, read.links, len(read.scripts)) == ([], [], 1)
    assert "alert(1)</script>" not in page
    assert "\x1b" not in page
    assert page.encode().decode() == page


def test_table_of_layers_ends_with_the_sums():
    rows = re.findall(r"<tr.*?</tr>", layer_table(network()))
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in rows]
    assert cells[0] == ["layer", "op", "result", "MACs", "constants, B"]
    assert cells[1] == ["conv", "q.conv2d", "i8[1, 3, 3, 3]", "486", "66"]
    assert cells[-1] == ["all", "", "", "594", "190"]


def test_cells_are_escaped_and_numbers_aligned():
    html = table(["a<b", "n"], [["<i>", 1234], ["&", None]], labels=['"x', "y"])
    assert '<td style="text-align:left">&lt;i&gt;</td>' in html
    assert 'data-value="1234">1,234</td>' in html
    assert '<tr data-layer="&quot;x">' in html
    assert html.count("text-align:right") == 3
