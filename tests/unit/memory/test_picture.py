"""The memory plan as text and as a picture."""

import xml.etree.ElementTree as ET

from hypothesis import given, settings

from rlx.ir import Graph, i8
from rlx.memory import (
    ScratchPlace,
    alive_bytes,
    memory_picture,
    memory_text,
    peak_bytes,
    plan_memory,
)
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QAdd, QMaxPool2d, QTable, Window
from strategies import random_graphs

NEGATE = QTable(table=tuple(-c if c > -128 else 127 for c in range(-128, 128)))


def diamond(name="a"):
    """x -> a -> (b, c) -> d: two branches of one element each; the output takes b's bytes."""
    graph = Graph("diamond")
    a = graph.apply(NEGATE, graph.input("x", i8(1, 4, 4, 1)), name=name)
    pool = QMaxPool2d(window=Window((4, 4)))
    b = graph.apply(pool, a, name="b")
    c = graph.apply(pool, graph.apply(NEGATE, a, name="n"), name="c")
    add = QAdd(
        x_zero_point=0, y_zero_point=0, x_rescale=Rescale.of(0.5), y_rescale=Rescale.of(0.5),
        rescale=Rescale.of(2**-19), zero_point=0,
    )  # fmt: skip
    graph.output(graph.apply(add, b, c, name="d"))
    return plan_memory(graph, alignment=1)


def test_text_of_a_small_plan():
    text = memory_text(diamond(), [ScratchPlace(3, 17, 7)])
    head, steps, buffers, map_ = text.split("\n\n")
    assert head == "arena 24 bytes, 5 steps, at most 24 bytes alive (step 3)"
    assert [line.split()[:2] for line in steps.splitlines()[1:]] == [
        ["0", "16"], ["1", "16"], ["2", "16"], ["3", "24"], ["4", "1"],
    ]  # fmt: skip
    rows = [line.split()[:4] for line in buffers.splitlines()[1:]]
    assert rows == [["a", "0", "16", "0-3"], ["b", "16", "1", "3-4"], ["#", "17", "7", "3-3"]]
    assert buffers.splitlines()[1].endswith("  a (q.table) = n (q.table)")
    assert buffers.splitlines()[3].endswith("  scratch of c (q.max_pool2d)")
    lines = map_.splitlines()
    assert len(lines) == 24
    assert lines[0] == "         23    #"
    assert lines[7] == "         16    bb"
    assert lines[-1] == "          0 aaaa"


SVG = "{http://www.w3.org/2000/svg}"


def _rectangles(root):
    """Return class and height of the boxes that have a tooltip; the legend's have none."""
    return [
        (box.get("class"), float(box.get("height")))
        for box in root.iter(f"{SVG}rect")
        if box.find(f"{SVG}title") is not None
    ]


def test_picture_has_a_box_for_each_buffer():
    plan = diamond()
    svg = memory_picture(plan, [ScratchPlace(3, 17, 7)])
    assert _rectangles(ET.fromstring(svg)) == [
        ("shared", 213.3),
        ("value", 13.3),
        ("scratch", 93.3),
    ]
    assert "arena 24 bytes, 5 steps, at most 24 bytes alive (step 3)" in svg
    assert memory_picture(diamond()) == memory_picture(diamond())


def test_axes_and_colours_are_named():
    root = ET.fromstring(memory_picture(diamond(), [ScratchPlace(3, 17, 7)]))
    texts = [t.text for t in root.iter(f"{SVG}text")]
    for name in ("address in the arena, bytes", "layer, in order of execution", "bytes alive",
                 "scratch memory of a layer", "several values in turn, in place"):  # fmt: skip
        assert name in texts
    marks = [t for t in texts if t.isdigit()]
    assert marks[:7] == ["0", "4", "8", "12", "16", "20", "24"]


def test_limit_is_a_line_where_it_is_near_and_a_number_always():
    lines = []
    for limit in (32, 3200):
        svg = memory_picture(diamond(), limit=limit)
        assert f"limit: {limit:,} bytes" in svg
        lines.append(svg.count('class="limit"'))
    assert lines == [2, 1]
    assert "limit" not in memory_picture(diamond()).partition("</style>")[2]


def test_hostile_names_stay_text():
    root = ET.fromstring(memory_picture(diamond("</title><script>&")))
    assert {element.tag.partition("}")[2] for element in root.iter()} == {
        "svg", "style", "text", "path", "title", "rect",
    }  # fmt: skip


def test_nothing_in_the_arena():
    graph = Graph("g")
    graph.output(graph.apply(NEGATE, graph.input("x", i8(4))))
    plan = plan_memory(graph)
    assert memory_text(plan).startswith("arena 0 bytes, 1 step, at most 0 bytes alive (step 0)\n")
    ET.fromstring(memory_picture(plan))


@settings(max_examples=30)
@given(case=random_graphs(size=4))
def test_bytes_alive_are_those_of_the_lifetimes(case):
    plan = plan_memory(case.graph, alignment=1)
    assert max(alive_bytes(plan), default=0) == peak_bytes(case.graph, plan.schedule)
    for step, marks in enumerate(alive_bytes(plan)):
        assert marks <= plan.arena_bytes, step
