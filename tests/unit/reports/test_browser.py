"""The page in a real browser: no error, no request, selection, order, both colour schemes."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

import rlx
from rlx.metrics.spread import Spread
from rlx.reports.collect import FolderMeasurements, collect
from rlx.reports.model import Accuracy, Losses, LossyLayer
from support.hostile_report import hostile
from support.networks.mlperf_like import file

pytestmark = pytest.mark.slow

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.rlx"
COUNTS = (21395, 2331, 35568, 2, 5807, 614)
LIMIT = 1_000_000

# Contrast of every text with what lies behind it, as WCAG defines it.
CONTRAST = """
() => {
  const channels = (text) => {
    const numbers = text.match(/[\\d.]+/g).map(Number);
    const scale = text.startsWith("color(") ? 255 : 1;
    return numbers.slice(0, 3).map((v) => v * scale).concat(numbers[3] ?? 1);
  };
  const over = (top, below, alpha) => below.map((b, k) => top[k] * alpha + b * (1 - alpha));
  const behind = (one) => {
    for (let node = one; node; node = node.parentElement) {
      const style = getComputedStyle(node);
      if (node.matches(".rlx-layer[data-layer]")) {
        const fill = getComputedStyle(node.querySelector("rect"));
        const colour = channels(fill.fill);
        return over(colour, behind(node.parentElement), Number(fill.fillOpacity));
      }
      const colour = channels(style.backgroundColor);
      if (colour[3] > 0) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const one = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || one.closest("script, title")) continue;
    if (!one.getClientRects().length) continue;
    const style = getComputedStyle(one);
    const ink = channels(one.closest("svg") ? style.fill : style.color).slice(0, 3);
    const [a, b] = [light(ink), light(behind(one))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(`${one.textContent.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return found;
}
"""


@pytest.fixture
def opened(browser, tmp_path):
    """A function that opens a report; errors, messages and requests are checked at the end."""
    wrong, requests, pages = [], [], []

    def open_report(report, width=1280, scheme="light", **settings):
        text = report.to_html()
        assert len(text.encode()) < LIMIT
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=scheme, **settings
        )
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        pages.append(path.as_uri())
        return page

    yield open_report
    assert wrong == []
    assert requests == pages


@pytest.fixture(scope="module")
def firmware(tmp_path_factory):
    path = tmp_path_factory.mktemp("emitted") / "c"
    rlx.emit(DIGITS, "cortexm", path, frames=1, ram="1K")
    report = collect(path, FolderMeasurements(layers=COUNTS))
    names = tuple(f"class {n}" for n in range(10))
    rows = tuple(tuple(5 if a == b else int(a == b + 1) for a in range(10)) for b in range(10))
    counted = Accuracy(samples=59, correct={"host-c": 50}, labels=names, confusion=rows)
    return replace(
        report, accuracy=counted, losses=losses(report), warnings=("something to know",),
        notes=("a fact",),
    )  # fmt: skip


def losses(report):
    """Losses of each layer, its numbers reaching out of the range."""
    steps = (-160.0, -127.0, -20.0, 3.0, 40.0, 120.0, 300.0)
    spread = Spread(minimum=-1.6, maximum=3.0, percentiles=(-1.27, -0.2, 0.03, 0.4, 1.2), low=-1.28,
                    high=1.27, outside=0.01, steps=steps, lowest=-128, highest=127)  # fmt: skip
    rows = tuple(
        LossyLayer(index=one.index, name=one.name, bits=8 if one.weights else None,
                   sqnr_db=30.0 + one.index, cosine=0.999, loss=0.001, results=spread,
                   weight_values=spread if one.weights else None)
        for one in report.layers
    )  # fmt: skip
    return Losses(graph="digits", samples=64, measured_on="calibration data", observer="mse",
                  mean_bits=8.0, agreement=1.0, sqnr_db=30.0, layers=rows)  # fmt: skip


@pytest.fixture(scope="module")
def hardware(tmp_path_factory):
    path = tmp_path_factory.mktemp("emitted") / "f"
    rlx.emit(DIGITS, "fpga", path, frames=1)
    build = {
        "tools": {}, "fmax_mhz": 91.5, "frames_per_second": 347900.0,
        "seeds": [{"seed": n, "fmax_mhz": 90.0 + n} for n in (1, 2, 3)],
        "resources": [{"resource": "dsp", "estimate": 119, "synthesis": 119, "placed": 119,
                       "available": 156}],
    }  # fmt: skip
    return collect(path, FolderMeasurements(build=build))


def shown(page):
    return [one.get_attribute("data-layer") for one in page.query_selector_all("article")
            if one.is_visible()]  # fmt: skip


def column(page, number):
    return [row.query_selector_all("th, td")[number].inner_text()
            for row in page.query_selector_all("#layers tbody tr")]  # fmt: skip


def test_the_slowest_layer_is_shown_first(opened, firmware):
    assert shown(opened(firmware)) == ["2"]


def test_everything_that_is_a_layer_selects_it(opened, firmware):
    page = opened(firmware)
    page.click('.rlx-layer[data-layer="4"]')
    assert shown(page) == ["4"]
    assert "on" in page.get_attribute('#layers tr[data-layer="4"]', "class")
    page.click('#layers tr[data-layer="1"] td:nth-child(2)')
    assert shown(page) == ["1"]
    assert "on" in page.get_attribute('.rlx-layer[data-layer="1"]', "class")
    page.click('.buffer[data-layer="0"] >> nth=0')
    assert shown(page) == ["0"]


def test_keys_select_layers(opened, firmware):
    page = opened(firmware)
    page.focus('.rlx-layer[data-layer="0"]')
    page.keyboard.press("Enter")
    assert shown(page) == ["0"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert shown(page) == ["2"]
    page.keyboard.press("ArrowUp")
    assert shown(page) == ["1"]
    assert page.get_attribute('.rlx-layer[data-layer="1"]', "aria-selected") == "true"
    page.keyboard.press("End")
    assert shown(page) == ["5"]
    page.keyboard.press("ArrowRight")
    assert shown(page) == ["5"]
    page.keyboard.press("Home")
    assert shown(page) == ["0"]


def test_tab_passes_the_graph_in_one_stop(opened, firmware):
    page = opened(firmware)
    page.focus("[data-zoom=f]")
    page.keyboard.press("Tab")
    focused = "document.activeElement.dataset.layer"
    assert page.evaluate(focused) == "2"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == "3"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#graph')") is None
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(focused) == "3"


def hits(page):
    return [one.get_attribute("data-layer") for one in page.query_selector_all(".rlx-layer.hit")]


def test_layers_are_found_by_name_and_op(opened, firmware):
    page = opened(firmware)
    page.fill("#find", "CONV")
    assert hits(page) == ["0", "2"]
    assert page.inner_text("#found") == "2 of 6"
    assert len(page.query_selector_all(".rlx-layer.dim")) == 4
    assert shown(page) == ["2"]
    page.press("#find", "Enter")
    assert (shown(page), page.inner_text("#found")) == (["0"], "1 of 2")
    page.press("#find", "Shift+Enter")
    assert (shown(page), page.inner_text("#found")) == (["2"], "2 of 2")
    page.fill("#find", "q.softmax")
    assert hits(page) == ["5"]
    box = page.query_selector('.rlx-layer[data-layer="5"]').bounding_box()
    pane = page.query_selector("#graph").bounding_box()
    assert pane["y"] <= box["y"]
    assert box["y"] + box["height"] <= pane["y"] + pane["height"]
    page.fill("#find", "nothing")
    assert (hits(page), page.inner_text("#found")) == ([], "0 of 6")
    page.press("#find", "Escape")
    assert (page.input_value("#find"), page.inner_text("#found")) == ("", "")
    assert page.query_selector(".dim") is None


def test_the_graph_zooms_by_buttons_keys_and_wheel(opened, firmware):
    page = opened(firmware)
    height = page.query_selector("svg.rlx-drawing").bounding_box()["height"]

    def scale():
        found = page.query_selector("svg.rlx-drawing").bounding_box()["height"] / height
        assert page.inner_text("#level") == f"{round(100 * found)} %"
        return found

    page.click("[data-zoom='+']")
    assert scale() == pytest.approx(1.25, rel=1e-3)
    page.click("[data-zoom='-']")
    page.click("[data-zoom='-']")
    assert scale() == pytest.approx(0.8, rel=1e-3)
    page.click("[data-zoom=f]")
    pane = page.query_selector("#graph").bounding_box()
    assert page.query_selector("svg.rlx-drawing").bounding_box()["height"] <= pane["height"]
    page.focus('.rlx-layer[tabindex="0"]')
    page.keyboard.press("0")
    assert scale() == 1
    page.keyboard.press("+")
    assert scale() == pytest.approx(1.25, rel=1e-3)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.mouse.move(pane["x"] + 50, pane["y"] + 50)
    page.mouse.wheel(0, 120)
    assert scale() == pytest.approx(1.25, rel=1e-3)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.wait_for_function("parseFloat(document.getElementById('level').textContent) > 126")
    assert scale() == pytest.approx(1.25 * math.e, rel=1e-2)


def test_weights_are_drawn_and_read_at_the_pointer(opened, firmware):
    page = opened(firmware)
    canvas = page.query_selector("article.on canvas")
    assert (canvas.get_attribute("width"), canvas.get_attribute("height")) == ("72", "16")
    picture = firmware.layers[2].weights.picture
    drawn = page.evaluate("""() => {
      const one = document.querySelector("article.on canvas");
      return [...one.getContext("2d").getImageData(0, 0, one.width, one.height).data];
    }""")
    pixels = zip(drawn[::4], drawn[2::4], drawn[3::4], strict=True)
    digits = [8 + round(a / 36) * (1 if blue > red else -1) for red, blue, a in pixels]
    assert "".join(f"{one:x}" for one in digits) == picture.cells
    canvas.hover(position={"x": 1, "y": 1})
    assert page.inner_text("article.on output").startswith("Row 0, column 0: about ")
    page.hover("article.on h2")
    assert page.inner_text("article.on output") == ""
    page.hover("article.on .histogram")
    first = firmware.layers[2].weights
    bar = len(first.counts) // 2
    assert page.inner_text("article.on output").startswith(f"{first.counts[bar]:,} from ")


@pytest.mark.parametrize("name", ["conv", "model/features/depthwise_conv2d_with_a_long_name"])
def test_all_columns_of_the_layers_fit_on_a_laptop(opened, firmware, name):
    rows = tuple(
        replace(one, name=f"{name}_{one.index}", macs=10**8, predicted=10**8, measured=10**8 + 7,
                board=10**8 + 9, flash=10**5, ram=10**5, shape=(1, 112, 112, 128))
        for one in firmware.layers
    )  # fmt: skip
    page = opened(replace(firmware, layers=rows), 1280)
    assert len(page.query_selector_all("#layers thead th")) == 11
    assert not page.is_visible("#layers .hint")


def test_a_slash_goes_to_the_search_from_anywhere(opened, firmware):
    page = opened(firmware)
    for start in ("document.body", "document.querySelector('#losses th button')"):
        page.evaluate(f"{start}.focus()")
        page.keyboard.press("Control+/")
        assert page.evaluate("document.activeElement.id") != "find"
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.id") == "find"
        page.keyboard.type("a/b")
        assert page.input_value("#find") == "a/b"
        page.evaluate("document.activeElement.blur()")


@pytest.mark.parametrize(("width", "cut"), [(1280, False), (400, True)])
def test_a_table_that_is_cut_says_so(opened, hardware, width, cut):
    page = opened(hardware, width)
    box = page.query_selector("#layers .scroll")
    assert page.is_visible("#layers .hint") == cut
    assert ("cut" in box.get_attribute("class")) == cut
    assert (box.evaluate("one => one.scrollWidth > one.clientWidth")) == cut
    if cut:
        box.evaluate("one => { one.scrollLeft = one.scrollWidth; }")
        page.wait_for_selector("#layers .scroll:not(.cut)", state="attached")
        page.set_viewport_size({"width": 1280, "height": 900})
        page.wait_for_selector("#layers .hint", state="hidden")


def test_a_table_is_sorted_by_each_column(opened, firmware):
    page = opened(firmware)
    page.click("#layers th:nth-child(6) button")
    assert column(page, 5) == ["35,568", "21,395", "5,807", "2,331", "614", "2"]
    assert page.get_attribute("#layers th:nth-child(6)", "aria-sort") == "descending"
    page.click("#layers th:nth-child(6) button")
    assert column(page, 5)[0] == "2"
    page.click("#layers th:nth-child(2) button")
    assert column(page, 1) == sorted(column(page, 1))
    page.click("#layers th:nth-child(1) button")
    assert [text.split()[0] for text in column(page, 0)] == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.parametrize("width", [1280, 768, 400])
def test_no_part_is_wider_than_the_window(opened, firmware, hardware, width):
    for report in (firmware, hardware):
        page = opened(report, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out(opened, firmware, hardware, scheme):
    for report in (firmware, hardware):
        assert opened(report, scheme=scheme).evaluate(CONTRAST) == []


def test_losses_are_readable_on_a_telephone(opened, firmware):
    page = opened(firmware, 400)
    section = page.query_selector("#losses")
    right = section.bounding_box()["x"] + section.bounding_box()["width"]
    for plot in page.query_selector_all("svg.spread"):
        box = plot.bounding_box()
        assert box["width"] > 120
        assert box["x"] + box["width"] <= right
    assert not page.is_visible("#losses thead")
    first = page.query_selector("#losses tbody tr")
    cells = [one.inner_text() for one in first.query_selector_all("td")]
    assert cells[:4] == ["8", "30.0", "0.99900", "0.001"]


def test_losses_are_sorted_and_select_a_layer(opened, firmware):
    page = opened(firmware)
    page.click("#losses th:nth-child(3) button")
    cells = [one.inner_text() for one in page.query_selector_all("#losses td:nth-child(3)")]
    assert cells == ["35.0", "34.0", "33.0", "32.0", "31.0", "30.0"]
    page.click('#losses tr[data-layer="4"] td:nth-child(2)')
    assert shown(page) == ["4"]


def test_without_scripts_every_layer_is_there(opened, firmware):
    page = opened(firmware, java_script_enabled=False)
    assert len(page.query_selector_all("article")) == 6
    assert page.is_visible("#layer-5")
    assert not page.is_visible("#copy")
    assert not page.is_visible("#find")
    assert not page.is_visible("canvas")


def test_it_prints(opened, firmware):
    page = opened(firmware, scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate(CONTRAST) == []
    assert not page.is_visible("nav")
    box, graph = page.query_selector(".scroll.tall"), page.query_selector("svg.rlx-drawing")
    assert box.bounding_box()["height"] >= graph.bounding_box()["height"]


def test_a_hostile_model_does_nothing(opened, firmware):
    page = opened(hostile(firmware))
    assert page.evaluate("window.bad") is None
    assert page.query_selector("img") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_hardware_has_bars_and_dots(opened, hardware):
    page = opened(hardware)
    assert "bottleneck" in page.inner_text(".resources tr:has-text('DSP')")
    assert len(page.query_selector_all("svg.clock circle")) == 3
    page.click('.span[data-layer="3"]')
    assert shown(page) == ["3"]


@pytest.mark.parametrize("name", ["kws", "vww", "resnet"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_larger_networks(opened, tmp_path, name, scheme):
    rlx.emit(file(tmp_path, name), "cortexm", tmp_path / "c", frames=1)
    report = rlx.report(tmp_path / "c", run=False)
    page = opened(report, 400, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.evaluate(CONTRAST) == []
    assert len(page.query_selector_all(".rlx-layer[data-layer]")) == len(report.layers)
