"""The page as text: one file, small, escaped, deterministic, allowed to load nothing."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import rlx
from rlx.ir.lookup import OWN_DIALECTS
from rlx.metrics.spread import Spread
from rlx.ops import ALL_OPS
from rlx.reports import charts
from rlx.reports.collect import collect
from rlx.reports.graph import graph_svg
from rlx.reports.kinds import KINDS, kind_of
from rlx.reports.model import Clock, Losses, LossyLayer, Memory, MemoryBox, Weights
from rlx.reports.tables import loss_rows
from support import ROOT
from support.hostile_report import hostile
from support.networks.mlperf_like import file

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.rlx"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("emitted") / "c"
    rlx.emit(DIGITS, "cortexm", path, frames=1, ram="1K")
    return collect(path)


class Tags(HTMLParser):
    """Counts tags, and checks that each is closed."""

    VOID = frozenset({"meta", "br", "img", "input", "link", "hr"})

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.attributes = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_small(report):
    text = report.to_html()
    tags = Tags(text)
    assert len(text.encode()) < 100_000
    assert tags.seen.count("script") == 1
    assert tags.seen.count("article") == len(report.layers)


@pytest.mark.slow
def test_the_page_of_keyword_spotting_is_small(tmp_path):
    rlx.emit(file(tmp_path, "kws"), "cortexm", tmp_path / "c", frames=1)
    report = collect(tmp_path / "c")
    assert sum(one.weights is not None for one in report.layers) == 10
    assert len(report.to_html().encode()) < 90_000


def test_facts_are_not_warnings(report):
    text = replace(report, warnings=("too slow",), notes=("input is int8",)).to_html()
    warnings, _, rest = text.partition('<ul class="warnings">')[2].partition("</ul>")
    assert "too slow" in warnings
    assert "int8" not in warnings
    notes = rest.partition('<ul class="notes" aria-label="Notes">')[2].partition("</ul>")[0]
    assert "<li>input is int8</li>" in notes
    assert '<ul class="notes"' not in report.to_html()


def test_the_graph_is_one_stop_for_tab_and_has_its_tools(report):
    text = report.to_html()
    graph = text.partition("<aside>")[2].partition("</aside>")[0]
    assert 'role="listbox"' in graph
    assert graph.count('tabindex="-1" role="option"') == len(report.layers)
    assert graph.count('tabindex="0"') == 1  # of the pane, without scripts
    assert re.findall('data-zoom="(.)"', graph) == ["-", "0", "+", "f"]
    assert 'aria-label="Find layers by name or op"' in graph


def test_below_the_name_of_a_layer_are_its_op_and_origins(report):
    layer = report.layers[0]
    assert layer.origins == ("conv1",)
    origins = "digits.tflite operator 0 CONV_2D", "digits.tflite operator 1 RELU"
    other = replace(layer, source="getitem_3", origins=origins)
    text = replace(report, layers=(other, *report.layers[1:])).to_html()
    assert (
        f'<p class="sub">{layer.op} · <span class="break">digits.tflite operator 0 CONV_2D;'
        " digits.tflite operator 1 RELU</span></p>" in text
    )
    assert "getitem_3" not in text


def test_counts_have_the_number_of_their_noun(report):
    one = replace(report, layers=report.layers[:1], memory=None)
    assert "· 1 layer ·" in one.to_html()
    assert "· 6 layers ·" in report.to_html()
    box = MemoryBox(layer=0, first=2, last=2, offset=0, bytes=1)
    text = charts.memory_svg(Memory(bytes=1, boxes=(box,)), report.layers)
    assert "<title>conv1: 1 byte at 0, layer 2</title>" in text


@pytest.fixture(scope="module")
def lossy(report):
    """The report with the losses of each layer with weights or without."""
    weights = spread(-9.0, 7.5, limit=7)
    rows = tuple(
        LossyLayer(index=one.index, name=one.name, bits=4 if one.weights else None, sqnr_db=31.5,
                   cosine=0.999, loss=0.002, results=spread(-150.0, 120.0, limit=127),
                   weight_values=weights if one.weights else None)
        for one in report.layers
    )  # fmt: skip
    unknown = replace(rows[0], index=None, name="gone", sqnr_db=None, cosine=None)
    losses = Losses(graph="digits", samples=64, measured_on="test data", observer="mse",
                    mean_bits=4.0, agreement=0.97, sqnr_db=28.25,
                    layers=(*rows, unknown),
                    )  # fmt: skip
    return replace(report, losses=losses)


def spread(low, high, limit):
    steps = (low, low / 2, low / 4, 0.0, high / 4, high / 2, high)
    return Spread(minimum=low, maximum=high, percentiles=steps[1:-1], low=-limit, high=limit,
                  outside=0.01, steps=steps, lowest=-limit, highest=limit)  # fmt: skip


def test_losses_by_quantization_have_a_row_and_box_plots_for_each_layer(lossy):
    text = lossy.to_html()
    tags = Tags(text)
    section = text[text.index('<section class="panel" id="losses">') :]
    section = section[: section.index("</section>")]
    layers = lossy.losses.layers
    assert section.count("<tr") == len(layers) + 1
    assert section.count('<svg class="spread"') == len(layers) + sum(
        one.weight_values is not None for one in layers
    )
    assert "On 64 samples (test data), 97.00% keep their class" in section
    assert "SQNR of the output 28.2 dB" in section
    assert 'href="#layer-0"' in section
    assert "gone" in section
    assert "range -7 to 7, 1.000% outside" in section
    assert tags.seen.count("article") == len(lossy.layers)
    assert '<a href="#losses">' in text
    assert 'id="losses"' not in replace(lossy, losses=None).to_html()


def test_a_box_plot_has_the_range_between_its_margins():
    text = charts.spread_svg(spread(-254.0, 127.4, limit=127))
    assert '<path d="M16 7H112.1"/>' in text  # -127 to 63.7 of -127 to 127 on 16 to 144
    assert '<path class="median" d="M80 2v10"/>' in text
    assert '<circle class="out" cx="2"/>' in text
    assert '<circle cx="144.2"/>' in text


def test_losses_in_tables(lossy):
    rows = loss_rows(lossy.losses)
    assert rows[0] == ["conv1", 4, 0.002, 31.5, 0.999, "1.00%", "1.00%"]
    assert rows[-1][:4] == ["gone", 4, 0.002, None]
    assert lossy.as_json()["losses"]["layers"][0]["weight_values"]["steps"][-1] == 7.5


def test_nothing_is_loaded_from_anywhere(report):
    text = report.to_html()
    tags = Tags(text)
    assert not {"img", "link", "iframe", "object", "base", "form"} & set(tags.seen)
    links = [value for name, value in tags.attributes if name in ("href", "src")]
    assert links
    assert all(value.startswith("#") for value in links)
    assert "default-src 'none'" in text
    assert "url(" not in text
    assert "@import" not in text


def test_texts_of_a_model_stay_text(lossy):
    page = hostile(lossy)
    tags = Tags(page.to_html())
    assert tags.seen.count("script") == 1
    assert "img" not in tags.seen
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    assert "<img" not in page.to_markdown()
    frame = Tags(page._repr_html_())
    assert frame.seen == ["iframe"]


def test_only_the_page_s_own_script_may_run(report):
    import base64
    import hashlib

    text = report.to_html()
    script = text.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text


def test_the_same_report_gives_the_same_bytes(report):
    assert report.to_html() == report.to_html()


def test_boxes_are_as_high_as_their_share(report):
    text = str(graph_svg(report))
    found = re.findall(r'data-layer="\d+".*?<rect [^>]* height="([\d.]+)"', text, re.DOTALL)
    heights = [float(one) for one in found]
    shares = [one.share for one in report.layers]
    assert sorted(range(6), key=heights.__getitem__) == sorted(range(6), key=shares.__getitem__)
    grown = [height - min(heights) for height in heights]
    assert grown[2] / grown[0] == pytest.approx(shares[2] / shares[0], rel=0.01)


def test_a_limit_close_by_is_a_line(report):
    near = charts.memory_svg(report.memory, report.layers)
    assert "limit 1,024 B" in near
    far = replace(report.memory, limit=1 << 20)
    assert "limit" not in charts.memory_svg(far, report.layers)
    assert "address in the arena, bytes" in near


def test_pictures_of_nothing():
    empty = Memory(bytes=0, boxes=())
    assert "<svg" in charts.memory_svg(empty, ())
    box = MemoryBox(layer=-1, first=0, last=0, offset=0, bytes=4)
    assert "input: 4 bytes at 0" in charts.memory_svg(Memory(bytes=4, boxes=(box,)), ())
    weights = Weights(elements=1, zeros=1, low=0, high=0, step=1, counts=(1,))
    assert 'd="M0 0V1h1V0"/>' in charts.histogram_svg(weights)


def test_each_seed_is_a_dot():
    text = charts.clock_svg(Clock(target=100.0, seeds=((1, 90.0), (2, 95.5)), median=92.75))
    assert text.count("<circle") == 2
    assert "seed 2: 95.50 MHz" in text
    assert "assumed 100 MHz" in text


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        ("q.conv2d", "convolution"),
        ("q.dense", "matrix product"),
        ("q.max_pool2d", "pooling"),
        ("q.argmax", "reduction"),
        ("q.reshape", "movement"),
        ("q.add", "arithmetic"),
        ("q.convert", "arithmetic"),
        ("q.table", "arithmetic"),
        ("core.while", "other"),
        ("x.y", "other"),
        ("acme.conv", "other"),
        ("conv", "other"),
    ],
)
def test_kinds_of_ops(op, kind):
    assert kind_of(op) == kind


def test_every_op_has_a_kind_and_every_kind_a_colour():
    assert {op.name.partition(".")[2] for op in ALL_OPS} == set(KINDS)
    assert {op.name.partition(".")[0] for op in ALL_OPS} == set(OWN_DIALECTS)
    css = (ROOT / "templates" / "report" / "page.css").read_text()
    for kind in set(KINDS.values()):
        word = kind.split()[0]
        assert f".k-{word}, .rlx-k-{word} {{ --kind: var(--{word}); }}" in css
        assert css.count(f" --{word}: #") == 2  # on light and on dark pages


def test_round_ticks():
    assert charts._ticks(640) == [0, 200, 400, 600, 800]
    assert charts._ticks(22400) == [0, 5000, 10000, 15000, 20000, 25000]
    assert charts._ticks(3) == [0, 1, 2, 3]


def test_every_value_between_layers_is_drawn(report):
    layers = list(report.layers)
    layers[3] = replace(layers[3], inputs=(2, 0))
    layers[5] = replace(layers[5], inputs=(4, 1))
    text = str(graph_svg(replace(report, layers=tuple(layers))))
    assert text.count('class="rlx-edge"') == 8
    assert "data-from" not in text
    assert text.count("data-layer=") == 6
    assert text.count("<rect") == 7
