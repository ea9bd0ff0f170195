"""Run the commands of a Markdown page as a reader types them, and compare what they print.

A fenced block ``console`` holds commands, each behind ``$ ``, and below a command what it prints,
if the page shows that; ``...`` or an ellipsis character matches any text. Runs of blanks and
line breaks count as one blank, so that a page need not repeat the padding of a table. Words behind
the language say more about a block (neither Sphinx nor GitHub shows them)::

    ```console fails
    $ rlx emit model.h5 --target cortexm -o out
    ```

``fails``: each command ends with another status than 0. ``varies``: numbers differ from machine to
machine, such as those that depend on the compiler's version; any number will do. A fenced block
``python`` with the word ``run`` is a script. The blocks ``{doctest}`` of a page are one session of
Python, which is run at the end of the page, in the folder where that ends.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>console|python|\{doctest\})(?P<words>[^\n]*)\n"
    r"(?P<text>.*?)^(?P=indent)```",
    re.MULTILINE | re.DOTALL,
)
ANYTHING = re.compile(r"\.\.\.|…")
NUMBER = re.compile(r"\d[\d,]*")


class PageError(AssertionError):
    """A command of a page failed, or printed something else than the page shows."""


@dataclass(frozen=True)
class Command:
    """A command of a page.

    Attributes:
        line: Its line in the page, counted from 1.
        text: Text that is typed.
        shown: Output that the page shows below it; empty for nothing.
        fails: Whether it must end with another status than 0.
        varies: Whether numbers that it prints may be others.
    """

    line: int
    text: str
    shown: str = ""
    fails: bool = False
    varies: bool = False

    def prints(self, output: str) -> bool:
        """Return whether ``output`` is what the page shows; it may show nothing."""
        if not self.shown:
            return True
        if self.varies:
            return same(NUMBER.sub("0", self.shown), NUMBER.sub("0", output))
        return same(self.shown, output)


def same(shown: str, printed: str) -> bool:
    """Return whether a command printed what a page shows; blanks and line breaks count as one."""
    parts = [" ".join(part.split()) for part in ANYTHING.split(shown)]
    pattern = ".*?".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, " ".join(printed.split()), re.DOTALL) is not None


def commands(page: str) -> list[Command]:
    """Return the commands of a page in its order."""
    found: list[Command] = []
    session: list[tuple[int, str]] = []
    for block in FENCE.finditer(page):
        first = page.count("\n", 0, block.start("text")) + 1
        words = block["words"].split()
        if block["language"] == "console":
            found.extend(_of_block(block["text"], first, words))
        elif block["language"] == "{doctest}":
            session.append((first, block["text"]))
        elif "run" in words:
            script = f"python - <<'END_OF_SCRIPT'\n{block['text']}END_OF_SCRIPT"
            found.append(Command(first, script))
    if session:
        text = "\n".join(text for _, text in session)
        options = "-o ELLIPSIS -o IGNORE_EXCEPTION_DETAIL"  # those of Sphinx
        script = f"cat > page <<'END_OF_PAGE'\n{text}END_OF_PAGE\npython -m doctest {options} page"
        found.append(Command(session[0][0], script))
    return found


def _of_block(text: str, first: int, words: Sequence[str]) -> Iterator[Command]:
    """Yield the commands of a block; a line that ends with a backslash goes on in the next."""
    lines = [line.strip() if line.lstrip().startswith("$ ") else line for line in text.split("\n")]
    starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        last = start
        while lines[last].endswith("\\"):
            last += 1
        typed = "\n".join([lines[start][2:], *lines[start + 1 : last + 1]])
        shown = "\n".join(lines[last + 1 : end]).strip()
        yield Command(first + start, typed, shown, "fails" in words, "varies" in words)


@dataclass
class Reader:
    """A reader's shell: one session for all commands of a page.

    Attributes:
        folder: Folder in which it starts.
        environment: Its variables.
        skipped: Commands that are not run, with the reason.
        printed: Output of each command, by its text.
    """

    folder: Path
    environment: Mapping[str, str]
    skipped: Mapping[str, str] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)

    def follow(self, name: str, page: str, *, timeout_s: float) -> None:
        """Run every command of a page.

        Args:
            name: Of the page, for messages.
            page: Its text.
            timeout_s: Limit of each command, in seconds.

        Raises:
            PageError: A command failed, or printed something else than the page shows.
        """
        for command in commands(page):
            if command.text in self.skipped:
                continue
            place = f"{name}, line {command.line}: $ {command.text}"
            status, output = self._run(command.text, timeout_s)
            self.printed[command.text] = output
            if (status != 0) != command.fails:
                raise PageError(f"{place}\nended with status {status}:\n{output}")
            if not command.prints(output):
                raise PageError(f"{place}\nprinted:\n{output}\nthe page shows:\n{command.shown}")

    def _run(self, text: str, timeout_s: float) -> tuple[int, str]:
        """Run a command where the one before ended, with the variables that it exported."""
        state = self.folder.with_name(f"{self.folder.name}.session")
        if not state.exists():
            state.write_text("")
        quoted = shlex.quote(str(state))
        script = (
            f". {quoted}\n{text}\nstatus=$?\n"
            f"{{ export -p; echo \"cd '$(pwd)'\"; }} > {quoted}\nexit $status\n"
        )
        done = subprocess.run(
            ["sh", "-c", script],
            cwd=self.folder,
            env=dict(self.environment),
            timeout=timeout_s,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        return done.returncode, done.stdout
