"""Lines of modules: none is longer than it must be, and breaks change no word."""

from __future__ import annotations

import random

import pytest
from amaranth.hdl import Fragment
from amaranth.lib.fifo import SyncFIFO

from rlx_fpga.cells.fifo import Fifo, SkidBuffer
from rlx_fpga.cells.fork import Fork
from rlx_fpga.rtl.comments import heading, heading_of
from rlx_fpga.rtl.layout import MAX_LINE_LENGTH, comment_lines, indented, wrap_lines


@pytest.mark.parametrize(
    "length", [MAX_LINE_LENGTH - 1, MAX_LINE_LENGTH, MAX_LINE_LENGTH + 1, 3 * MAX_LINE_LENGTH]
)
@pytest.mark.parametrize("margin", [0, 6])
def test_long_lines_are_broken_between_words_and_indented(length, margin):
    pick = random.Random(length)
    text = ""
    while len(text) < length - margin:
        text += pick.choice(["a", "ab-cd", "abc"]) + " "
    line = " " * margin + text[: length - margin - 1] + "x"
    found = wrap_lines([line])
    assert (found == [line]) == (length <= MAX_LINE_LENGTH)
    assert " ".join(found).split() == line.split()
    assert all(len(one) <= MAX_LINE_LENGTH for one in found)
    assert [len(one) - len(one.lstrip()) for one in found] == [
        margin,
        *[margin + 4] * len(found[1:]),
    ]


def test_comments_and_words_that_are_too_long_stay_whole():
    for line in ("  // " + "word " * 40, "x" * 150):
        assert wrap_lines([line]) == [line]
    assert indented(["a", "", "  b"]) == ["  a", "", "    b"]


def test_paragraphs_become_comments_with_their_margin():
    lines = comment_lines("One.\n\n    " + "word " * 30)
    assert lines[:2] == ["// One.", "//"]
    assert all(
        line.startswith("//     word") and len(line) <= MAX_LINE_LENGTH for line in lines[2:]
    )
    assert " ".join(lines[2:]).split().count("word") == 30


def test_headings_speak_of_ports_and_not_of_python():
    text = """Sum of :class:`~rlx.ir.Op` and ``x``.

    Args:
        width: Of Python only.

            Still of Python.

    Members:
        i.payload, o: In, what comes.
        o1.ready (x): Out.
    Source:
        A book.

    After all.
    """
    assert heading(text) == [
        "// Sum of Op and x.", "//", "// Ports:", "//   in_data, out (input): what comes.",
        "//   out1_ready (x) (output): .", "// Source:", "//     A book.", "//", "// After all.",
    ]  # fmt: skip


def test_headings_have_the_values_of_the_parameters_that_they_name():
    assert heading_of(Fragment.get(Fifo(2, 40), None))[-1] == "// Here: depth 40, SHALLOW_DEPTH 32."
    assert "Here" not in "".join(heading_of(Fragment.get(SkidBuffer(2), None)))
    lines = heading_of(Fragment.get(Fork(1, 3), None))
    assert "out<n>_valid follows in_valid combinationally." in " ".join(lines)
    assert lines[-1] == "// Here: count 3."


def test_a_queue_of_the_library_has_a_heading_too():
    text = "\n".join(heading_of(Fragment.get(SyncFIFO(width=4, depth=3), None)))
    for port in ("w_data", "w_en", "w_rdy", "r_data", "r_en", "r_rdy"):
        assert f"//   {port} (" in text
