"""Hostile names must come out as harmless identifiers and comments."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.support.errors import UsageError
from rlx.support.text.names import (
    IDENTIFIER_LENGTH,
    KEYWORDS,
    check_prefix,
    comment_text,
    mangle,
    origin_text,
)
from support.messages import raises

HOSTILE = [
    "",
    " ",
    "_",
    "__",
    "9lives",
    "int",
    "module",
    "class",
    "always_ff",
    "main",
    "NULL",
    'x"; system("touch canary"); //',
    "a*/ int evil(void); /*",
    "a\nint evil;\n",
    "a\r\n#include </etc/passwd>",
    "a\\\n b",
    "??/\n evil",
    "`include `define",
    "$readmemh(x)",
    "\\escaped identifier ",
    "${PATH} $(id) `id`",
    "../../etc/passwd",
    "con:aux",
    "\x00\x01\x7f",
    "\u202egnp.exe",
    "\u0430\u0431\u0432",
    "\N{FULLWIDTH LATIN SMALL LETTER A}",
    "\N{SUPERSCRIPT TWO}x",
    "\N{ARABIC-INDIC DIGIT ONE}",
    "conv2d/Conv2D;StatefulPartitionedCall:0",
    "%s%n{{7*7}}",
    "x" * 10_000,
    "int " * 500,
]

SAFE = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")


@pytest.mark.parametrize("name", HOSTILE)
def test_mangle_makes_hostile_names_safe(name):
    for prefix in ("", "net"):
        result = mangle(name, prefix=prefix)
        assert SAFE.fullmatch(result)
        assert len(result) <= IDENTIFIER_LENGTH
        assert result not in KEYWORDS
        assert result.startswith(prefix)


@given(st.lists(st.text(max_size=80), max_size=8), st.sampled_from(["", "p", "a_B9"]))
def test_mangle_is_safe_and_unique(names, prefix):
    taken = set()
    for name in names:
        result = mangle(name, reserved=taken, prefix=prefix)
        assert SAFE.fullmatch(result)
        assert len(result) <= IDENTIFIER_LENGTH
        assert result not in taken
        assert result not in KEYWORDS
        assert result == mangle(name, reserved=taken, prefix=prefix)
        taken.add(result)


@pytest.mark.parametrize(
    ("name", "prefix", "taken", "wanted"),
    [
        ("conv2d/Conv2D", "", [], "conv2d_Conv2D"),
        ("conv2d/Conv2D", "kws", [], "kws_conv2d_Conv2D"),
        ("3x3", "", [], "v3x3"),
        ("3x3", "net", [], "net_3x3"),
        ("", "", [], "v"),
        ("", "net", [], "net_v"),
        ("int", "", [], "int_2"),
        ("int", "net", [], "net_int"),
        ("a", "", ["a", "a_2"], "a_3"),
        ("aux", "", [], "aux_2"),
        ("Con", "", [], "Con_2"),
        ("com1", "net", [], "net_com1"),
        ("x", "own__", [], "own___x"),
        ("x" * 80, "", ["x" * 63], "x" * 61 + "_2"),
    ],
)
def test_mangle_keeps_what_it_can(name, prefix, taken, wanted):
    assert mangle(name, reserved=taken, prefix=prefix) == wanted


def test_keywords_hold_the_three_languages():
    assert {"restrict", "constexpr", "co_await", "logic", "endmodule", "uint8_t"} <= KEYWORDS
    assert all(re.fullmatch(r"[A-Za-z_0-9]+", word) for word in KEYWORDS)


@pytest.mark.parametrize("text", ["a", "kws", "My_Net2", "x" * 32])
def test_check_prefix_returns_a_good_one(text):
    assert check_prefix(text) == text


@pytest.mark.parametrize(
    "text", ["", "9a", "_a", "a-b", "a b", "a\n", "é", "x" * 33, 'x";', "a/b", "\u0430"]
)
def test_check_prefix_refuses_what_is_no_identifier(text):
    with raises(UsageError):
        check_prefix(text)


@pytest.mark.parametrize("text", ["int", "module", "class", "main"])
def test_check_prefix_refuses_reserved_words(text):
    with raises(UsageError):
        check_prefix(text)


@pytest.mark.parametrize("text", ["con", "AUX", "Nul", "com1", "lpt9"])
def test_check_prefix_refuses_devices(text):
    with raises(UsageError):
        check_prefix(text)


@pytest.mark.parametrize("name", HOSTILE)
def test_comment_text_cannot_leave_a_comment(name):
    assert re.fullmatch(r"[A-Za-z0-9_./-]{0,64}", comment_text(name))


def test_comment_text_keeps_harmless_names():
    assert comment_text("serving_default/conv2d-1.0_x") == "serving_default/conv2d-1.0_x"
    assert comment_text("a*/b") == "a_/b"


def test_origin_text_is_readable_and_cannot_leave_a_comment_or_a_code_span():
    plain = "motion.onnx node 2 Conv 'node_Conv_30'"
    assert origin_text(plain) == plain
    assert origin_text("a\n*/ `b` | \\ \u202ec") == "a__/ _b_ _ _ _c"
    assert origin_text("x" * 80) == "x" * 69 + "..."
