"""Snapshots of messages: ``raises`` compares the whole text of an error with the stored one.

``messages.txt`` in each folder of tests holds them: a line names the test, and the texts that it
meets follow in their order, each behind a dash. ``pytest --update-golden`` writes them.
"""

from __future__ import annotations

import difflib
import re
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pytest

from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

FILE = "messages.txt"
ADVICE = "pytest --update-golden, then read the difference"

_TMP = re.escape(tempfile.gettempdir())
MACHINE = [
    (re.compile(_TMP + r"(/pytest-of-[\w.-]+/pytest-\d+(/popen-gw\d+)?)?/[\w-]+"), "<tmp>"),
    (re.compile(re.escape(str(ROOT))), "<repo>"),
    (re.compile(re.escape(sys.executable)), "<python>"),
    (re.compile(rf"^{re.escape(Path(sys.executable).name)}(?=: )"), "<python>"),
    (re.compile(r"\bNumPy \d+\.[\w.]+"), "NumPy <version>"),
    (re.compile(r"(\btest_\w+\.py line )\d+"), r"\1<n>"),
]
"""Parts of texts that differ between machines, each with its placeholder."""


@contextmanager
def raises(
    kind: type[BaseException] | tuple[type[BaseException], ...],
) -> Iterator[pytest.ExceptionInfo[BaseException]]:
    """Expect an error, as ``pytest.raises`` does, with the text that is stored for the test."""
    __tracebackhide__ = True
    with pytest.raises(kind) as caught:
        yield caught
    said(str(caught.value))


@contextmanager
def warns(kind: type[Warning]) -> Iterator[pytest.WarningsRecorder]:
    """Expect warnings, as ``pytest.warns`` does, with the texts that are stored for the test."""
    __tracebackhide__ = True
    with pytest.warns(kind) as caught:
        yield caught
    said("\n".join(str(w.message) for w in caught if issubclass(w.category, kind)))


def said(text: str) -> None:
    """Compare ``text`` with what is stored for the running test, or store it."""
    __tracebackhide__ = True
    for pattern, general in MACHINE:
        text = pattern.sub(general, text)
    Recorder.running.compare(text)


class Recorder:
    """A plug-in of pytest: the texts of the running test, and the files to compare them with."""

    running: ClassVar[Recorder]

    def __init__(self, config: pytest.Config) -> None:
        wanted = bool(config.getoption("--update-golden"))
        several = hasattr(config, "workerinput") or config.getoption("numprocesses", None)
        self._update = wanted and not several
        self._refused = wanted and bool(several)
        self._files: dict[Path, dict[str, list[str]]] = {}
        self._collected: dict[Path, set[str]] = {}
        self._texts: list[str] = []
        self._stored: list[str] = []
        self._file = FILE
        Recorder.running = self

    def compare(self, text: str) -> None:
        """Compare the next text of the running test."""
        __tracebackhide__ = True
        number = len(self._texts)
        self._texts.append(text)
        if self._update:
            return
        if number >= len(self._stored):
            pytest.fail(f"not in {self._file}: {ADVICE}\n{text}")
        stored = self._stored[number]
        if stored != text:
            lines = difflib.ndiff(stored.split("\n"), text.split("\n"))
            difference = "\n".join(line.rstrip("\n") for line in lines)
            pytest.fail(f"differs from {self._file}: {ADVICE}\n{difference}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._refused:
            terminalreporter.write_line(f"{FILE}: compared, not written, in several processes (-n)")

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        self._collected.setdefault(item.path, set()).add(_key(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        self._file = item.nodeid.partition("::")[0].replace(item.path.name, FILE)
        texts = self._of(item.path.parent)
        self._texts, self._stored = [], texts.get(_key(item), [])
        result = yield
        if self._update:
            texts[_key(item)] = self._texts
        elif len(self._texts) < len(self._stored):
            pytest.fail(f"{len(self._stored)} texts in {self._file}, {len(self._texts)} here: "
                        + ADVICE, pytrace=False)  # fmt: skip
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self._update:
            return
        whole = not any("::" in argument for argument in session.config.args)
        for folder, texts in self._files.items():
            for key in list(texts):
                path = folder / key.partition("::")[0]
                seen = self._collected.get(path)
                gone = not path.exists() or (whole and seen is not None and key not in seen)
                if gone or not texts[key]:
                    del texts[key]
            if texts:
                (folder / FILE).write_text(form(texts), encoding="utf-8")
            else:
                (folder / FILE).unlink(missing_ok=True)

    def _of(self, folder: Path) -> dict[str, list[str]]:
        """Return the texts stored in ``folder``."""
        if folder not in self._files:
            self._files[folder] = read(folder / FILE)
        return self._files[folder]


def _key(item: pytest.Item) -> str:
    """Return the name of a test in the file of its folder."""
    return f"{item.path.name}::{item.nodeid.partition('::')[2]}"


def read(path: Path) -> dict[str, list[str]]:
    """Return the texts of each test that a file holds; none if there is no such file."""
    found: dict[str, list[str]] = {}
    texts: list[str] = []
    for line in path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else ():
        if line.startswith("  - "):
            texts.append(line[4:])
        elif line.startswith("    ") or not line:
            texts[-1] += "\n" + line[4:]
        else:
            texts = found[line] = []
    return found


def form(texts: Mapping[str, list[str]]) -> str:
    """Return the content of a file, sorted by test."""
    lines = []
    for key in sorted(texts):
        lines.append(key)
        for text in texts[key]:
            first, *others = text.split("\n")
            lines += [f"  - {first}", *(f"    {line}" if line else "" for line in others)]
    return "\n".join(lines) + "\n"
