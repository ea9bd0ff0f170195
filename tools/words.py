"""Check that text and names use the words of the field.

    python tools/words.py

Reads every file that git tracks and prints ``file:line: "word" -> advice`` for each word
that ``words.toml`` refuses; the exit status is 1 if there is any. Names are split at underscores
and capitals, and a phrase is found across a line break. Line 0 is the name of the file. In Python
files the regular expressions of ``words.toml`` are searched too, and in those of the product
parameters, attributes, and variables of functions of `MIN_LINES` lines must not have one of the
``bare_names``.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Set

ROOT = Path(__file__).parent.parent
LIST = ROOT / "tools" / "words.toml"

MIN_LINES = 8
"""Minimum lines of a function whose variables must have names that are clear out of context."""

_NAME_PARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
_GAP = r"[\s#*/]+"
"""Separators between the words of a phrase: spaces, line breaks, marks of comments."""


def main() -> int:
    """Check all files; return the exit status."""
    rules = tomllib.loads(LIST.read_text(encoding="utf-8"))
    listing = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [
        ROOT / name for name in listing.stdout.splitlines() if not _matches_any(name, rules["skip"])
    ]
    texts = {
        file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8")
        for file in files
        if file.is_file()
    }
    problems = list(check(texts, rules))
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    return 1 if problems else 0


def check(texts: Mapping[str, str], rules: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each refused word or match, and for each exception that is not needed.

    Args:
        texts: Content of each file, by its path.
        rules: Content of ``words.toml``: ``words``, ``allowed``, ``patterns``, ``bare_names`` and
            ``exceptions``.
    """
    unused = {(path, key) for path, keys in rules["exceptions"].items() for key in keys}
    allowed = set(unused)
    for name, text in texts.items():
        for line, key, refused, advice in _refused(name, text, rules):
            excused = {pair for pair in allowed if pair[1] == key and name.startswith(pair[0])}
            unused -= excused
            if not excused:
                yield f'{name}:{line}: "{refused}" -> {advice}'
    for path, key in sorted(unused):
        yield f'{LIST.name}: "{key}" does not occur in {path}: remove the exception'


def _refused(name: str, text: str, rules: Mapping[str, Any]) -> Iterator[tuple[int, str, str, str]]:
    """Yield the line, the key in the exceptions, the text and the advice of each find in a file."""
    for line, word in find(f"{name}\n{text}", rules["words"], rules["allowed"]):
        yield line, word, word, rules["words"][word]
    if name.endswith(".py"):
        for key, pattern in rules["patterns"].items():
            for match in re.finditer(pattern["regex"], text, re.MULTILINE):
                line = 1 + text.count("\n", 0, match.start())
                yield line, key, match[1], pattern["advice"]
        names = rules["bare_names"]
        if name.startswith(tuple(names["folders"])):
            for line, variable in sorted(bare_names(text, set(names["names"]))):
                yield line, "bare name", variable, names["advice"]


def bare_names(text: str, names: Set[str]) -> set[tuple[int, str]]:
    """Return line and name of the parameters, attributes and variables that have one of ``names``.

    Variables count in functions of at least `MIN_LINES` lines, loop variables of comprehensions
    do not.
    """
    bare = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg) and node.arg in names:
            bare.add((node.lineno, node.arg))
        elif isinstance(node, ast.ClassDef | ast.Module) or (
            isinstance(node, ast.FunctionDef) and _lines(node) >= MIN_LINES
        ):
            bare |= {pair for child in node.body for pair in _assigned(child, names)}
    return bare


def _lines(function: ast.FunctionDef) -> int:
    """Return the number of lines of the body, without the docstring."""
    first = function.body[1 if ast.get_docstring(function) and len(function.body) > 1 else 0]
    return (function.end_lineno or first.lineno) - first.lineno + 1


def _assigned(node: ast.AST, names: Set[str]) -> Iterator[tuple[int, str]]:
    """Yield line and name of the variables of ``names`` that a statement binds in its scope."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda | ast.comprehension):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in names:
        yield node.lineno, node.id
    for child in ast.iter_child_nodes(node):
        yield from _assigned(child, names)


def find(text: str, words: Iterable[str], allowed: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the line, counted from 0, and the word of each refused word or phrase in ``text``."""
    plain = _NAME_PARTS.sub(" ", text).lower()
    # Allowed phrases come first, so that the words in them are consumed.
    pattern = "|".join(f"({_phrases(some)})" for some in (allowed, words))
    for match in re.finditer(pattern, plain):
        if match[2]:
            yield plain.count("\n", 0, match.start()), " ".join(re.split(_GAP, match[2]))


def _phrases(some: Iterable[str]) -> str:
    """Return a pattern for any of some phrases, longest first."""
    ordered = sorted(some, key=len, reverse=True)
    return r"\b(?:" + "|".join(re.escape(one).replace(r"\ ", _GAP) for one in ordered) + r")\b"


def _matches_any(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatch(name, glob) for glob in globs)


if __name__ == "__main__":
    sys.exit(main())
