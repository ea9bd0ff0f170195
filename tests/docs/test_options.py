"""Every command and every option that README and the documentation name exists.

Read are ``rlx COMMAND ...`` and ``--option`` in code spans and in blocks of shell commands. In a
command line each option must be one of that command, with the options of the target it names; an
option that stands alone must be one of some command. Not checked are lines and spans that begin
with a program of ``OTHERS``, and the first column of tables in ``docs/coming-from``: there stand
the options of other tools.
"""

from __future__ import annotations

import dataclasses
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from rlx import frontends, targets
from rlx.cli import COMMANDS, root
from rlx.cli.commands.targets import TargetsCommand
from rlx.cli.model_command import ModelCommand
from rlx.cli.plugin_options import PluginOptions
from rlx.cli.sweep_option import SweepCommand
from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

OTHERS = {"dask", "fusesoc", "pytest", "python", "uv"}
"""Programs that have options of their own."""

PLUGIN_OPTIONS = {"docs/how-to/add-a-frontend.md": {"--batch"}}
"""Options of plug-ins that a page brings along; a test of their own runs that page."""

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(p for p in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in p.parts),
]

BLOCK = re.compile(r"^ *```(\S*)[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
FIRST_COLUMN = re.compile(r"^\|[^|\n]*", re.MULTILINE)
JOINED = re.compile(r"\\\n")
SEPARATOR = re.compile(r" && | \|\| | \| |; |, | #|\n")
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]*)(?:[ =](\S+))?")
ASSIGNMENT = re.compile(r"[A-Z_]+=")
PLACEHOLDER = re.compile(r"[A-Z._]")


@dataclasses.dataclass(frozen=True)
class Typed:
    """A part of a page that is typed in a shell.

    Attributes:
        text: Text that is typed.
        page: The page's path.
    """

    text: str
    page: str

    @property
    def words(self) -> list[str]:
        """The words, without ``rlx`` in front and without its own options."""
        words = self.text.split()
        words = words[1:] if words[:1] == ["rlx"] else words
        return words[1:] if words[:1] in (["--quiet"], ["--debug"]) else words

    @property
    def is_rlx(self) -> bool:
        """Whether a command of rlx is called by the program's name."""
        return self.text.split()[0] == "rlx" and len(self.text.split()) > 1


def typed(page: Path) -> Iterator[Typed]:
    """Yield the parts of a page shown as typed: lines of shell blocks, and code spans."""
    name = page.relative_to(ROOT).as_posix()
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        yield from (Typed(t, name) for t in _of_block(*block.groups()))
    prose = BLOCK.sub("", text)
    if name.startswith("docs/coming-from/"):
        prose = FIRST_COLUMN.sub("|", prose)
    for span in SPAN.findall(prose):
        parts = SEPARATOR.split(" ".join(span.split()))
        yield from (Typed(part.strip(), name) for part in parts if part.strip())


def _of_block(language: str, text: str) -> Iterator[str]:
    """Yield the commands of a block, without what they print."""
    lines = JOINED.sub(" ", text).splitlines()
    if language == "console":
        lines = [line.lstrip()[2:] for line in lines if line.lstrip().startswith("$ ")]
    elif language != "sh":
        return
    for line in lines:
        yield from (part.strip() for part in SEPARATOR.split(line) if part.strip())


@cache
def options(command: str, target: str | None = None) -> dict[str, list[click.Parameter]]:
    """Return the options of a command, those of ``target`` (or of every one) and formats too."""
    click_command = root.get_command(click.Context(root), command)
    assert click_command is not None
    found = [
        param
        for param in click_command.get_params(click.Context(click_command))
        if not getattr(param, "hidden", False)
    ]
    if isinstance(click_command, click.Group):
        found += [p for c in click_command.commands.values() for p in c.params]
    if isinstance(click_command, SweepCommand):
        found += _sweeps()
    if isinstance(click_command, ModelCommand):
        found += [p for f in frontends.frontends() for p in PluginOptions("format", f).params()]
    of_targets = isinstance(click_command, TargetsCommand)
    if of_targets or any(p.name == "target" or "--target" in p.opts for p in found):
        for name in [target] if target else targets.names():
            found += _of_target(targets.load(name))
    by_flag: dict[str, list[click.Parameter]] = {}
    for param in found:
        for flag in (*param.opts, *param.secondary_opts):
            by_flag.setdefault(flag, []).append(param)
    return by_flag


def _of_target(target: targets.Target) -> Iterator[click.Parameter]:
    """Yield the options of a target; those with a list of known values as choices."""
    values = {f"--{f.name}": f.metadata.get("values") for f in dataclasses.fields(target.options)}
    for param in PluginOptions("target", target).params():
        if known := values.get(param.opts[0]):
            param.type = click.Choice([*known])
        yield param


def _sweeps() -> Iterator[click.Parameter]:
    """Yield ``--devices``, and ``--device`` with the groups that it takes too."""
    for name in targets.names():
        for sweep in targets.load(name).sweeps:
            yield click.Option([f"--{sweep.option}s"])
            yield click.Option([f"--{sweep.option}"], type=click.Choice([*sweep.groups]))


@cache
def every_option() -> dict[str, list[click.Parameter]]:
    """Return the options of all commands, and of rlx itself."""
    found: dict[str, list[click.Parameter]] = {"--version": [], "--debug": [], "--quiet": []}
    for command in COMMANDS:
        for flag, params in options(command).items():
            found.setdefault(flag, []).extend(params)
    return found


def known_options(part: Typed) -> dict[str, list[click.Parameter]]:
    """Return the options that may stand in ``part``."""
    if not part.words or part.words[0] not in COMMANDS:
        return every_option()
    target = re.search(r"--target (\w+)", part.text)
    named = target[1] if target and target[1] in targets.names() else None
    return options(part.words[0], named)


def complaints(part: Typed) -> list[str]:
    """Return the complaints about the words of ``part`` that do not exist."""
    program = next((word for word in part.text.split() if not ASSIGNMENT.match(word)), "")
    if Path(program).name in OTHERS:
        return []
    command = part.words[0] if part.is_rlx else ""
    if command.islower() and command not in COMMANDS and not command.startswith("-"):
        return [f"{part.page}: `{part.text}`: no such command"]
    known = known_options(part)
    ignored = {"--help", "--version", *PLUGIN_OPTIONS.get(part.page, ())}
    found = []
    for flag, value in OPTION.findall(part.text):
        if flag not in known and flag not in ignored:
            found.append(f"{part.page}: `{part.text}`: no option {flag}")
        elif not may_be(value, known.get(flag, [])):
            found.append(f"{part.page}: `{part.text}`: {flag} has no value {value!r}")
    return found


def may_be(value: str, params: list[click.Parameter]) -> bool:
    """Return whether an option takes ``value``; it may where not all values are known."""
    choices = [p.type.choices for p in params if isinstance(p.type, click.Choice)]
    if not value or not choices or len(choices) < len(params) or PLACEHOLDER.search(value):
        return True
    return set(value.split(",")) <= {str(c) for several in choices for c in several}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_commands_and_options_of_a_page_exist(page):
    assert [c for part in typed(page) for c in complaints(part)] == []


def test_the_page_of_the_command_line_names_every_command():
    page = ROOT / "docs/reference/command-line.md"
    assert set(COMMANDS) <= {part.words[0] for part in typed(page) if part.is_rlx}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("rlx emit m.tflite --target cortexm --architecture engine", "--architecture"),
        ("rlx emit m.tflite --target fpga --architecture foldd", "'foldd'"),
        ("rlx emti m.tflite", "no such command"),
        ("--no-such-option", "--no-such-option"),
        ("verify --devices all", "--devices"),
    ],
)
def test_what_does_not_exist_is_found(text, wrong):
    (complaint,) = complaints(Typed(text, "page.md"))
    assert wrong in complaint
