"""Pictures of graphs: what is drawn, and that it is safe to show."""

import time
import xml.etree.ElementTree as ET

import pytest

from rlx.ir import Graph, f32, i8
from rlx.ops.q import QClamp
from rlx.ops.real import RealAdd
from rlx.reports.drawing import layer_labels, layout, to_svg
from rlx.reports.drawing.svg import THEMES
from support.messages import raises
from support.networks.ir_samples import HOSTILE, SAMPLES, network

SVG = "{http://www.w3.org/2000/svg}"
SCRIPT = '</title></text><script>alert(1)</script><img src=x onerror="alert(2)">'


def _boxes(svg):
    groups = ET.fromstring(svg).iter(f"{SVG}g")
    return {g.get("data-layer"): g for g in groups if g.get("data-layer")}


def _texts(element):
    return [t.text for t in element.iter(f"{SVG}text")]


def test_boxes_show_name_op_and_type():
    boxes = _boxes(to_svg(layout(network())))
    assert list(boxes) == [
        "image", "conv", "flatten", "dense", "prob", "output 0",
    ]  # fmt: skip
    assert _texts(boxes["conv"]) == ["conv", "q.conv2d", "i8[1, 3, 3, 3]"]
    title = boxes["conv"].find(f"{SVG}title").text
    assert title.splitlines()[:3] == [
        "conv: q.conv2d", "i8[1, 3, 3, 3] q(0.3, -128)", "486 MACs",
    ]  # fmt: skip
    assert "66 bytes of constants" in title


def test_labels_are_those_of_the_boxes():
    graph = network()
    labels = layer_labels(graph)
    drawn = {box.id: box.op for box in layout(graph).boxes if box.op != "output"}
    assert drawn == {label: node.op.name for node, label in labels.items()}


def test_height_follows_the_share_and_notes_are_shown():
    graph = network()
    labels = layer_labels(graph)
    conv = next(n for n, label in labels.items() if label == "conv")
    plain = {b.id: b.height for b in layout(graph).boxes}
    drawing = layout(graph, {conv: 0.5}, notes={conv: "50 %"})
    grown = {b.id: b.height - plain[b.id] for b in drawing.boxes}
    assert grown["conv"] == pytest.approx(450)
    assert sum(grown.values()) == pytest.approx(450)
    assert "50 %" in _texts(_boxes(to_svg(drawing))["conv"])


def test_labels_can_be_given():
    graph = network()
    labels = {node: f"layer {k}" for k, node in enumerate(layer_labels(graph))}
    assert next(iter(_boxes(to_svg(layout(graph, labels=labels))))) == "layer 0"


def test_edges_connect_the_boxes_of_the_values():
    graph = Graph("twice")
    x = graph.input("x", i8(1, 4))
    y = graph.apply(QClamp(low=0, high=9), x)
    z = graph.apply(QClamp(low=1, high=8), y)
    graph.output(z, y, names=["z", "y"])
    edges = [(e.source, e.target) for e in layout(graph).edges]
    assert edges == [
        ("x", "clamp"), ("clamp", "clamp_2"),
        ("clamp_2", "output 0"), ("clamp", "output 1"),
    ]  # fmt: skip


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_every_sample_is_well_formed_in_every_theme(make, theme):
    graph = make()
    svg = to_svg(layout(graph), theme=theme)
    root = ET.fromstring(svg)
    assert ("<style>" in svg) is (theme != "page")
    assert svg == to_svg(layout(make()), theme=theme)
    for box in layout(graph).boxes:
        assert 0 <= box.x <= box.x + box.width <= float(root.get("width"))
        assert 0 <= box.y <= box.y + box.height <= float(root.get("height"))


@pytest.mark.parametrize("name", [SCRIPT, HOSTILE, "]]>", "&amp;", "x" * 100_000])
def test_names_of_the_model_are_text_only(name):
    graph = Graph(name)
    x = graph.input(name, i8(1, 4))
    graph.output(graph.apply(QClamp(low=0, high=9), x, name=name), names=[name])
    svg = to_svg(layout(graph), theme="light")
    tags = {element.tag.removeprefix(SVG) for element in ET.fromstring(svg).iter()}
    assert tags == {"svg", "title", "style", "g", "path", "rect", "text"}
    assert svg.encode().decode() == svg
    assert len(svg) < 12_000 + len(name)


def test_an_unknown_theme_is_refused():
    with raises(ValueError):
        to_svg(layout(network()), theme="pink")


def test_a_thousand_layers_with_long_branches_take_under_two_seconds():
    graph = Graph("long")
    x = value = graph.input("x", f32(4))
    for k in range(1000):
        value = graph.apply(RealAdd(), value, x if k % 5 else value, name=f"add {k}")
    graph.output(value, x)
    start = time.process_time()
    svg = to_svg(layout(graph))
    assert time.process_time() - start < 2
    assert len(_boxes(svg)) == 1003
