"""The page in a real browser: no error, no request, hostile names do nothing."""

import pytest

from rlx.ir import Graph, f32, i8
from rlx.ops.q import QClamp
from rlx.ops.real import RealAdd
from rlx.reports.drawing.page import graph_page
from support.networks.ir_samples import network

pytestmark = pytest.mark.slow

ATTACK = "</script></title></section>--><script>window.bad=1</script><img src=x onerror='bad=1'>"


@pytest.fixture
def opened(browser, tmp_path):
    """A function that opens a graph's page; what went wrong is checked at the end."""
    wrong = []
    pages = []

    def open_graph(graph, width=1280):
        path = tmp_path / "graph.html"
        path.write_text(graph_page(graph), encoding="utf-8")
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: wrong.append(request.url) if pages else None)
        page.goto(path.as_uri())
        pages.append(page)
        return page

    yield open_graph
    assert wrong == []


def _shown(page):
    return [s.get_attribute("data-layer") for s in page.query_selector_all("section:not([hidden])")]


def test_boxes_and_rows_select_a_layer(opened):
    page = opened(network())
    assert _shown(page) == ["conv"]
    page.click('.rlx-layer[data-layer="dense"]')
    assert _shown(page) == ["dense"]
    page.click('tr[data-layer="prob"]')
    assert _shown(page) == ["prob"]
    page.focus('.rlx-layer[data-layer="image"]')
    page.keyboard.press("Enter")
    assert _shown(page) == ["image"]
    page.click('.rlx-layer[data-layer="output 0"]')
    assert _shown(page) == ["image"]


def test_pane_and_selected_box_are_visible_whatever_the_size(opened):
    graph = Graph("wide")
    x = graph.input("x", f32(4))
    sums = [graph.apply(RealAdd(), x, x, name=f"sum {k}") for k in range(60)]
    graph.output(*sums)
    page = opened(graph)
    pane = page.query_selector("#details").bounding_box()
    frame = page.query_selector("#graph").bounding_box()
    box = page.query_selector(".rlx-layer.rlx-selected rect").bounding_box()
    assert pane["height"] > 150
    assert frame["x"] <= box["x"]
    assert box["x"] + box["width"] <= frame["x"] + frame["width"]


def test_columns_sort_by_number(opened):
    page = opened(network())
    rows = "[...document.querySelectorAll('tbody tr')].map(row => row.dataset.layer)"
    page.click("th:nth-child(4)")
    assert page.evaluate(rows)[:2] == ["conv", "dense"]
    page.click("th:nth-child(4)")
    assert page.evaluate(rows)[-1] == "conv"


def test_hostile_names_are_only_shown(opened):
    graph = Graph(ATTACK)
    x = graph.input(ATTACK, i8(1, 4))
    graph.output(graph.apply(QClamp(low=0, high=9), x, name=ATTACK), names=[ATTACK])
    page = opened(graph)
    assert page.evaluate("window.bad") is None
    assert page.title() == ATTACK
    assert page.query_selector_all("img") == []


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_window(opened, width):
    page = opened(network(), width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
