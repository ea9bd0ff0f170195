"""``tools/words.py``: refused words are found in text, names and phrases."""

from __future__ import annotations

from importlib import util

import pytest
from support import ROOT

SCRIPT = ROOT / "tools" / "words.py"
WORDS = {"least": "minimum", "told": "given", "block memory": "block RAM"}


@pytest.fixture(scope="module")
def words():
    spec = util.spec_from_file_location("words", SCRIPT)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The Least of them.", [(0, "least")]),
        ("least_cycles, leastCycles, LEAST", [(0, "least")] * 3),
        ("toldness retold", []),
        ("one\nblock\n    # memory", [(1, "block memory")]),
        ("block_memory", [(0, "block memory")]),
        ("at least one, at\nleast two", []),
    ],
)
def test_words_are_found(words, text, found):
    assert list(words.find(text, WORDS, ["at least"])) == found


def _check(words, text, exceptions):
    rules = {"words": WORDS, "allowed": [], "exceptions": exceptions}
    return list(words.check({"a/b.py": text}, rules))


def test_a_word_is_reported_with_its_place_and_the_term(words):
    assert _check(words, "x\nas told", {}) == ['a/b.py:2: "told" -> given']


def test_the_name_of_a_file_counts(words):
    rules = {"words": WORDS, "allowed": [], "exceptions": {}}
    assert list(words.check({"least.py": ""}, rules)) == ['least.py:0: "least" -> minimum']


def test_an_exception_holds_for_its_files_and_its_word(words):
    assert _check(words, "told", {"a/": ["told"]}) == []
    assert _check(words, "least", {"a/": ["told"], "c/": ["least"]}) == [
        'a/b.py:1: "least" -> minimum',
        'words.toml: "told" does not occur in a/: remove the exception',
        'words.toml: "least" does not occur in c/: remove the exception',
    ]
