"""Spelling of options and commands in messages: for the command line, or for Python.

Messages name an option as it is typed, ``--input-shape NAME=1x8``, wherever they are raised. In
Python they are read as ``input_shape={"NAME": (1, 8)}``, and a command such as ``rlx quantize MODEL
--calib S.npz`` as ``rlx.quantize(model, calib="S.npz")``. What has no form in Python stays.

Errors are spelled when they are read, and the command line says that it is the reader.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TYPED: ContextVar[bool] = ContextVar("typed", default=False)
"""Whether messages are for the command line."""

FLAGS: Final = frozenset(
    {"allow-external", "bias-correction", "channels-last", "equalize", "force", "formal",
     "self-check", "static-arena", "symmetric", "synth"}
)  # fmt: skip
"""Options without a value that are keyword arguments too."""

KEYWORDS: Final = {
    "input": "data", "limit": "limits", "policy": "policies", "timeout": "timeout_s",
    "with": "tools",
}  # fmt: skip
"""Keyword arguments that are not called like the option."""

SHELL_ONLY: Final = frozenset(
    {"batch-size", "bound", "budget", "build-dir", "by-layer", "compress", "csv", "cycles",
     "debug", "diff", "dump-dir", "expect", "fix-ranges", "help", "html", "json", "junit",
     "manifest", "max-abs", "max-rel", "md", "mean", "memory", "netlist", "no-cache", "no-run",
     "only-outputs", "plot", "quiet", "rename", "scale", "std", "svg", "text", "verify-each",
     "version", "wide", "write-settings"}
)  # fmt: skip
"""Options that no function of rlx takes."""

_WORDS: Final = frozenset(
    {"architecture", "cpu", "cpus", "device", "devices", "format", "io", "observer", "part",
     "parts", "require", "target", "weights", "with"}
)  # fmt: skip
"""Options whose value may be a word in lower case, such as ``--io float``."""

_PROSE: Final = (
    "a|an|and|are|as|at|belongs?|by|can|cannot|does|else|fits?|for|from|gives?|has|have|if|in|is|it"
    "|leaves?|lists?|must|needs?|not|of|on|or|out|prints?|quantized|reads?|sets?|shows?|takes?|that"
    "|the|then|to|was|were|which|with|without|would|writes?|wrote"
)
_NUMBER: Final = r"-inf|-?\d(?:[\w.=-]*\w)?"
_CAPITAL: Final = r"[A-Z](?:[\w./-]*\w)?"
_NAMED: Final = r"[A-Za-z_][\w.:/-]*=\w(?:[\w.,^+-]*\w)?"
_ENDS: Final = "csv|json|npy|npz|onnx|rlx|tflite|vcd"
_PATH: Final = rf"[\w./-]+\.(?:{_ENDS})\b|'[^']+\.(?:{_ENDS})'"
_URL: Final = r"https?://[\w./-]*\w"
_VALUE: Final = rf"{_URL}|{_PATH}|{_NUMBER}|{_NAMED}|{_CAPITAL}"
_WORD_VALUE: Final = rf"{_VALUE}|(?!(?:{_PROSE})\b)[a-z][\w+-]*"
_OPTION: Final = (
    rf"--(?:(?:{'|'.join(sorted(_WORDS))}) (?:{_WORD_VALUE})"
    rf"|(?!rlx-)[a-z][a-z-]*[a-z](?: (?:{_VALUE}))?(?![\w-]))"
)
_ARGUMENT: Final = (
    rf"{_OPTION}|-o (?:{_VALUE})|{_PATH}|[A-Z]+\b|(?!(?:{_PROSE})\b)[\w./-]+(?=[;')]|$| --)"
)
_OPTIONS: Final = re.compile(
    # Lines for a shell, options of other programs (cmake --build), and quoted names of users stay.
    r"(?P<other>^\$ .*|\b(?:cmake|nextpnr|pip|pytest)\b[^;\n]*|(?<!\w)'(?!rlx )[^'\n]*'(?!\w))"
    rf"|(?P<call>\brlx (?P<command>[a-z]+)(?P<arguments>(?: (?:{_ARGUMENT}))*))"
    rf"|(?P<options>(?<![\w-]){_OPTION}(?: {_OPTION})*)",
    re.MULTILINE,
)

_FUNCTIONS: Final = {
    "bench": "bench", "compare": "compare", "emit": "emit", "estimate": "estimate",
    "export": "export", "import": "load", "quantize": "quantize", "report": "report", "run": "run",
    "verify": "verify",
}  # fmt: skip
"""Functions of ``rlx`` by the command that does the same."""

_PLURALS: Final = {"cpus": "cpu", "devices": "device", "parts": "part"}
"""Options of ``rlx estimate`` with several values, each with the option that takes one."""

_OUT: Final = {"emit": "folder", "export": "path"}
"""Keyword arguments for ``-o``; other functions return what their command writes."""


def is_typed() -> bool:
    """Whether messages are spelled as on the command line."""
    return _TYPED.get()


@contextmanager
def typed(*, enabled: bool = True) -> Iterator[None]:
    """Spell messages as on the command line."""
    token = _TYPED.set(enabled)
    try:
        yield
    finally:
        _TYPED.reset(token)


def spelled(text: str) -> str:
    """Return a message for whoever reads it now: as it is, or for Python."""
    return text if _TYPED.get() or ("--" not in text and "rlx " not in text) else in_python(text)


def spelled_option(location: str) -> str:
    """Return the location of an error: an option as its reader writes it, others unchanged."""
    return spelled(location) if re.fullmatch(r"--[a-z-]+( \S+)?", location) else location


def in_python(text: str) -> str:
    """Return a message with keyword arguments and functions in place of options and commands."""
    return _OPTIONS.sub(_replaced, text)


def _replaced(match: re.Match[str]) -> str:
    if match["other"] is not None:
        return match["other"]
    if match["options"] is None:
        return _call(match["command"], match["arguments"]) or match["call"]
    options = [_parts(one) for one in re.findall(_OPTION, match["options"])]
    if any(name in SHELL_ONLY for name, _ in options):
        return match["options"]
    return ", ".join(_keywords(options))


def _call(command: str, arguments: str) -> str | None:
    """Return the call that does what a command does, or None if there is none."""
    function = _FUNCTIONS.get(command)
    words_typed = re.findall(_ARGUMENT, arguments)
    options = [_parts(one) for one in words_typed if one.startswith("--")]
    if any(name in SHELL_ONLY or (command, name) == ("import", "weights") for name, _ in options):
        return None
    out = next((_literal(one[3:]) for one in words_typed if one.startswith("-o ")), None)
    paths = ["model" if one == "MODEL" else _literal(one) for one in words_typed if one[0] != "-"]
    if function is None or (out and not paths and command not in _OUT):
        return None
    if not words_typed:
        return f"rlx.{function}"
    if command == "quantize" and "calib" not in dict(options) and paths:
        function = "convert"
    words = (paths or ["model"]) + _keywords(options)
    if command == "estimate" and any(name in _PLURALS for name, _ in options):
        function = "estimate_all"
    if command in _OUT:
        words.append(f"{_OUT[command]}={out or '...'}")
    return f"rlx.{function}({', '.join(words)})"


def _parts(option: str) -> tuple[str, str | None]:
    """Return name and value of an option as it is typed."""
    name, _, value = option.removeprefix("--").partition(" ")
    return name, value or None


def _keywords(options: list[tuple[str, str | None]]) -> list[str]:
    """Return options as keyword arguments; mappings of one name become one."""
    words: list[str] = []
    for name, value in options:
        word = _keyword(name, value)
        start, brace, entry = word.partition("={")
        if brace and words and words[-1].startswith(start + brace):
            words[-1] = f"{words[-1][:-1]}, {entry}"
        else:
            words.append(word)
    return words


def _keyword(name: str, value: str | None) -> str:
    """Return an option as a keyword argument, or its name alone if it is not given a value."""
    off = name.startswith("no-") and name[3:] in FLAGS
    flag = name[3:] if off else name
    if flag in _PLURALS and value is not None:
        return f'values={_literal(value)}, over="{_PLURALS[flag]}"'
    keyword = KEYWORDS.get(flag, flag.replace("-", "_"))
    if flag in FLAGS:
        return f"{keyword}={not off}"
    if value is None:
        return keyword
    return f"{keyword}={_FORMS.get(keyword, _literal)(value)}"


def _literal(value: str) -> str:
    """Return a value as Python source: a number, or a text."""
    plain = value.strip("'")
    if plain in ("NUMBER", "INTEGER"):
        return plain
    if plain == "-inf":
        return 'float("-inf")'
    return plain if re.fullmatch(r"-?\d+(\.\d+)?", plain) else json.dumps(plain)


def _listed(value: str) -> str:
    return f"[{_literal(value)}]"


def _named(value: str) -> str:
    """Return ``NAME=VALUE`` as a mapping; a shape as a tuple."""
    name, _, text = value.partition("=")
    sizes = text.split("x")
    shape = f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"
    is_shape = all(size.isdecimal() or size.isupper() for size in sizes)
    return f"{{{json.dumps(name)}: {shape if is_shape else json.dumps(text)}}}"


def _numbered(value: str) -> str:
    """Return ``NAME=NUMBER`` as a mapping."""
    name, _, number = value.partition("=")
    return f"{{{json.dumps(name)}: {number}}}"


def _limit(value: str) -> str:
    return _numbered(value.replace("-", "_"))


_FORMS: Final[dict[str, Callable[[str], str]]] = {
    "input_shape": _named, "input_value": _numbered, "limits": _limit, "outputs": _listed,
    "require": _listed, "tools": _listed,
}  # fmt: skip
"""Form of the values that are not plain."""
