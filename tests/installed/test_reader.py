"""Reader of the pages: it finds a command that fails, and output that is not the page's."""

from __future__ import annotations

import os

import pytest

from installed.pages import PageError, Reader, commands, same


def test_a_command_that_fails_or_prints_otherwise_is_found(tmp_path):
    (tmp_path / "work").mkdir()
    reader = Reader(tmp_path / "work", os.environ)
    reader.follow("page", "```console\n$ x=1; export x\n$ echo $x\n1\n```\n", timeout_s=10)
    with pytest.raises(PageError, match=r"page, line 2: \$ false\nended with status 1"):
        reader.follow("page", "```console\n$ false\n```\n", timeout_s=10)
    with pytest.raises(PageError, match=r"line 2: \$ echo a\nprinted:\na\n\nthe page shows:\nb"):
        reader.follow("page", "```console\n$ echo a\nb\n```\n", timeout_s=10)
    with pytest.raises(PageError, match=r"ended with status 0"):
        reader.follow("page", "```console fails\n$ true\n```\n", timeout_s=10)
    reader.follow("page", "```console fails\n$ false\n```\n", timeout_s=10)


def test_numbers_may_differ_where_the_page_says_so():
    page = "```console varies\n$ x\na 65,725 b\n```\n"
    (command,) = commands(page)
    assert command.prints("a 65,726  b")
    assert not command.prints("a b")
    (exact,) = commands(page.replace(" varies", ""))
    assert not exact.prints("a 65,726 b")


def test_output_is_compared_without_padding_and_with_wildcards():
    assert same("a … c", "a b c\n")
    assert same("a b\nc", "a   b c")
    assert not same("a c", "a b c")
    assert same("...\nall equal: ...", "x\nall equal: 16 of 16")


def test_blocks_of_doctests_are_one_session(tmp_path):
    (tmp_path / "work").mkdir()
    reader = Reader(tmp_path / "work", os.environ)
    page = "```{doctest}\n>>> x = 2\n\n```\ntext\n```{doctest}\n>>> x + 1\n3\n\n```\n"
    reader.follow("page", page, timeout_s=60)
    with pytest.raises(PageError, match=r"(?s)page, line 2: .*Expected:\n    4\nGot:\n    3\n"):
        reader.follow("page", page.replace("\n3\n", "\n4\n"), timeout_s=60)
