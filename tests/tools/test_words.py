"""``tools/words.py``: refused words are found in text, names and phrases, patterns in Python."""

from __future__ import annotations

import tomllib
from importlib import util

import pytest

from support import ROOT

SCRIPT = ROOT / "tools" / "words.py"
BARE = {"folders": ["product/"], "names": ["found", "place"], "advice": "a noun"}
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


def _check(words, text, exceptions, *, name="a/b.py", patterns=None):
    rules = {
        "words": WORDS,
        "allowed": [],
        "patterns": patterns or {},
        "bare_names": BARE,
        "exceptions": exceptions,
    }
    return list(words.check({name: text}, rules))


def test_a_word_is_reported_with_its_place_and_the_term(words):
    assert _check(words, "x\nas told", {}) == ['a/b.py:2: "told" -> given']


def test_the_name_of_a_file_counts(words):
    assert _check(words, "", {}, name="least.py") == ['least.py:0: "least" -> minimum']


def test_an_exception_holds_for_its_files_and_its_word(words):
    assert _check(words, "told", {"a/": ["told"]}) == []
    assert _check(words, "least", {"a/": ["told"], "c/": ["least"]}) == [
        'a/b.py:1: "least" -> minimum',
        'words.toml: "told" does not occur in a/: remove the exception',
        'words.toml: "least" does not occur in c/: remove the exception',
    ]


@pytest.fixture(scope="module")
def patterns(words):
    return tomllib.loads(words.LIST.read_text(encoding="utf-8"))["patterns"]


@pytest.mark.parametrize(
    ("text", "found", "key"),
    [
        ('"""What it is."""', "What", "question"),
        ('X = 1\n"""How many."""\n', "How", "question"),
        ('class C:\n    """Which of them.\n\n    More.\n    """\n', "Which", "question"),
        ('def f():\n    r"""Where it is."""\n', "Where", "question"),
        ('def f():\n    """Why not."""\n', "Why", "question"),
        ('def f():\n    """Return what it is."""\n', "Return what", "hidden question"),
        ('def f():\n    """Yields how many there are."""\n', "Yields how", "hidden question"),
        ('"""A.\n\nArgs:\n    n: How many.\n"""', "n: How", "question in a list"),
        ("_MOST_RUNS: Final = 8", "_MOST_RUNS", "constant of quantity"),
    ],
)
def test_questions_in_docstrings_are_refused(words, patterns, text, found, key):
    (line,) = [n for n, one in enumerate(text.split("\n"), 1) if found in one]
    advice = patterns[key]["advice"]
    problem = f'a/b.py:{line}: "{found}" -> {advice}'
    assert _check(words, text, {}, patterns=patterns) == [problem]
    # The exception is for the pattern, not for any other.
    assert _check(words, text, {"a/": [key]}, patterns=patterns) == []
    (other, *_) = [one for one in patterns if one != key]
    assert _check(words, text, {"a/": [other]}, patterns=patterns) == [
        problem,
        f'words.toml: "{other}" does not occur in a/: remove the exception',
    ]


@pytest.mark.parametrize(
    "text",
    [
        '"""Number of layers."""',
        '"""Whether it is."""',
        '"""Whatever it is."""',
        'def f():\n    """Return whether it is."""\n',
        'def f():\n    """Return the layers. What they are is not said."""\n',
        '"""A.\n\nArgs:\n    n: Whether it counts.\n"""',
        'TEXT = """What it is."""\n',
        "# What it is.\n",
    ],
)
def test_other_text_is_not_refused(words, patterns, text):
    assert _check(words, text, {}, patterns=patterns) == []


def test_patterns_are_searched_in_python_only(words, patterns):
    text = '"""What it is."""\n'
    assert _check(words, text, {}, name="a/b.md", patterns=patterns) == []
    assert _check(words, text, {}, name="a/b.py", patterns=patterns)


LONG = "\n    ".join(["def f():", *["pass"] * 7])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{LONG}\n    found = 1\n", [(9, "found")]),
        (f"{LONG}\n    for found_layer, place in x: pass\n", [(9, "place")]),
        (f"{LONG}\n    x = [place for place in y]\n", []),
        ("def f():\n    found = 1\n    return found\n", []),
        ("def f(place): return place\n", [(1, "place")]),
        ("class C:\n    place: int\n", [(2, "place")]),
        ("found = 1\n", [(1, "found")]),
    ],
)
def test_names_that_say_nothing_alone(words, text, found):
    assert sorted(words.bare_names(text, set(BARE["names"]))) == found


def test_bare_names_are_refused_in_the_product(words):
    assert _check(words, "found = 1", {}, name="product/b.py") == [
        'product/b.py:1: "found" -> a noun'
    ]
    assert _check(words, "found = 1", {}) == []
