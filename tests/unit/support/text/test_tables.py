"""Tables in lines of a width."""

import pytest

from rlx.support.text.tables import (
    Column,
    Figures,
    ReportFigure,
    Table,
    figure_lines,
    float_text,
    lay_out,
    plain_view,
    share_text,
    shortened,
    text_of,
    width_of,
)
from support.messages import raises

LAYERS = Table(
    "Layers",
    (
        Column("layer", shortest=8),
        Column("op", priority=2),
        Column("flash", "B", total=1_234_567),
        Column("kernel", priority=3),
    ),
    (
        ("conv2d_of_the_first_block", "conv2d", 1_200_000, "blocks of 20 steps"),
        ("dense", "dense", 34_567, None),
    ),
    emphasis=0,
    total="all",
)


def text(table, width=None):
    return [line.text for line in lay_out(table, width).lines]


def test_without_a_width_everything_is_shown():
    assert text(LAYERS) == [
        "Layers",
        "layer                      op       flash, B  kernel",
        "conv2d_of_the_first_block  conv2d  1,200,000  blocks of 20 steps",
        "dense                      dense      34,567  -",
        "all                                1,234,567",
    ]


def test_cells_are_shortened_in_their_middle_where_that_saves_a_column():
    assert text(LAYERS, 56) == [
        "Layers",
        "layer              op       flash, B  kernel",
        "conv2d_o…st_block  conv2d  1,200,000  blocks of 20 steps",
        "dense              dense      34,567  -",
        "all                        1,234,567",
    ]


def test_columns_are_left_out_by_their_priority():
    layout = lay_out(LAYERS, 30)
    assert [line.text for line in layout.lines] == [
        "Layers",
        "layer        op       flash, B",
        "conv2…block  conv2d  1,200,000",
        "dense        dense      34,567",
        "all                  1,234,567",
    ]
    assert [c.heading for c in layout.left_out] == ["kernel"]
    assert [c.heading for c in lay_out(LAYERS, 20).columns] == ["layer", "flash"]


@pytest.mark.parametrize("width", range(1, 90))
def test_no_line_is_longer_than_the_width(width):
    needed = 2 * (len(lay_out(LAYERS, width).columns) - 1) + 2
    assert all(width_of(line) <= max(width, needed) for line in text(LAYERS, width))


def test_kinds_of_lines():
    kinds = [line.kind for line in lay_out(LAYERS, 80).lines]
    assert kinds == ["title", "heading", "emphasis", "row", "total"]


def test_sentences_continue_between_words():
    table = Table(
        "",
        (Column("op"), Column("reason", shortest=10, sentences=True)),
        (("a", "needs a scale for each channel"), ("b", None)),
    )
    assert text(table, 20) == [
        "op  reason",
        "a   needs a scale",
        "    for each channel",
        "b   -",
    ]
    assert text(table)[1] == "a   needs a scale for each channel"


def test_rows_have_a_cell_for_each_column():
    with raises(ValueError):
        Table("", (Column("a"),), ((1, 2),))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"), (True, "yes"), (1234567, "1,234,567"), (8333.333, "8,333"), (0.5, "0.5"),
        (12.3456, "12.35"), (float("inf"), "inf"), ("a\x1b[2Jb\n", "a\\x1b[2Jb\\n"), ("é", "é"),
    ],
)  # fmt: skip
def test_values(value, shown):
    assert text_of(value) == shown


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (39_062.5, 4, "39,062"), (1234.56, 6, "1,234.56"), (1234.56, 4, "1,235"), (0.5, 4, "0.5"),
        (-123_456.7, 5, "-123,457"), (9_999.7, 4, "10,000"), (float("-inf"), 4, "-inf"),
        (float("nan"), 4, "nan"), (1e30, 4, "1e+30"), (2.0**49, 4, "562,949,953,421,312"),
    ],
)  # fmt: skip
def test_numbers_have_no_exponent_where_they_are_large(value, digits, shown):
    assert float_text(value, digits) == shown


def test_shares():
    shares = [share_text(part, 1000) for part in (0, 1, 6, 120, 1000)]
    assert shares == ["0", "<1", "1", "12", "100"]
    assert share_text(0, 0) == "0"


def test_shortened_counts_places_not_characters():
    assert shortened("functional_1/conv2d/Conv2D", 11) == "funct…onv2D"
    assert shortened("日本語の名前", 7) == "日本…前"
    assert width_of(shortened("日本語の名前のある層", 9)) <= 9
    assert shortened("abc", 3) == "abc"


def test_notes_of_figures_are_under_each_other():
    flash = ReportFigure("flash", 34_609, "B", "constants, weights and code")
    figures = Figures("", (flash, ReportFigure("ok", True)))
    assert figure_lines(figures) == ["flash  34,609 B  constants, weights and code", "ok     yes"]
    assert figure_lines(figures, 38) == [
        "flash  34,609 B  constants, weights",
        "                 and code",
        "ok     yes",
    ]
    assert figure_lines(Figures("", ())) == []


def test_any_report_has_a_view():
    report = {"columns": ["cycles"], "layers": [{"name": "a", "cycles": 1, "x": [1]}], "rate": 2.5}
    table, figures = plain_view("Layers", report)
    assert [c.heading for c in table.columns] == ["cycles", "name"]
    assert table.rows == ((1, "a"),)
    assert figures.figures == (ReportFigure("rate", 2.5),)
    assert plain_view("Layers", {}) == []
