"""Help of each subcommand: its examples run, and its options have one order and one notation."""

from __future__ import annotations

import re
import shlex
import shutil

import click
import pytest

from rlx import targets
from rlx.cli import COMMANDS, main, root
from rlx.cli.command import Command
from rlx.cli.number import Number
from rlx.support import plugins
from support import ROOT
from support.messages import raises

COSTLY = ("rlx build ", "rlx demo --fpga ")
"""Beginnings of examples that take minutes, or tools that a machine may lack."""

PLACES = [
    (command,) for command in COMMANDS
] + [("examples", "copy")] + [
    (command, "--target", target) for command in ("emit", "estimate", "check")
    for target in targets.names()
]  # fmt: skip

LAST = ["--format", "--limit", "--wide", "--json", "--progress", "--quiet", "--debug", "--help"]


def subcommand(*names):
    command = root
    for name in names:
        command = command.get_command(click.Context(command), name)
    assert isinstance(command, Command)
    return command


EXAMPLES = [
    (example, names)
    for names in [*((name,) for name in COMMANDS), ("examples", "copy")]
    for example in subcommand(*names).examples
]


def shown_help(capsys, *words):
    assert main([*words, "--help"]) == 0
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with the files that examples name, made by the commands before them."""
    folder = tmp_path_factory.mktemp("examples")
    for name in ("digits", "onnx_to_firmware"):
        shutil.copytree(ROOT / "examples" / name, folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        made = (subcommand("quantize").examples[0], *subcommand("emit").examples)
        for example in (*made, "rlx emit digits.tflite --target cortexm -o out.before"):
            assert main(["-q", *shlex.split(example)[1:]]) == 0
    return folder


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize("example", [e for e, _ in EXAMPLES if not e.startswith(COSTLY)])
def test_examples_run(files, tmp_path, monkeypatch, example):
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    words = shlex.split(example)[1:]
    for option in ("-o", "--out"):
        if words[0] == "emit" and option in words:
            shutil.rmtree(words[words.index(option) + 1])
    if ">" in words:
        words = words[: words.index(">")]
    assert main(words) == 0


@pytest.mark.parametrize(("example", "names"), EXAMPLES)
def test_examples_are_parsed(files, monkeypatch, example, names):
    monkeypatch.chdir(files)
    words = shlex.split(example.partition(" > ")[0])
    assert words[: len(names) + 1] == ["rlx", *names]
    command = subcommand(*names)
    with command.make_context(names[-1], words[len(names) + 1 :]):
        pass


@pytest.mark.parametrize("names", [*((name,) for name in COMMANDS), ("examples", "copy")])
def test_each_help_has_two_examples_that_fit_a_line(capsys, names):
    examples = subcommand(*names).examples
    assert len(examples) >= 2
    block = "".join(f"  {example}\n" for example in examples)
    assert f"\nExamples:\n{block}\n" in shown_help(capsys, *names)
    assert max(map(len, examples)) < 90


@pytest.mark.parametrize("words", PLACES)
def test_defaults_have_one_notation_and_numbers_a_name(capsys, words):
    text = " ".join(shown_help(capsys, *words).split())
    assert "RANGE" not in text
    assert not re.search(r"(?i)(?<!\[)default: |\[default\]", text)
    # Brackets hold a default, a mark of click's, or the choices of a metavar.
    brackets = set(re.findall(r" \[([^\]]+)\]", text))
    usual = re.compile(r"default: .+|required|[\w.+-]+(\|[\w.+-]+)+|(OP|PATTERN)=|[A-Z]+")
    assert [text for text in brackets if not usual.fullmatch(text)] == []


def sections(text):
    """Return the options of each section of a help by its title."""
    found = {}
    for title, lines in re.findall(r"^(\S.*):\n((?:  .*\n|\n(?=  ))+)", text, re.MULTILINE):
        found[title] = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", lines, re.MULTILINE)
    return found


@pytest.mark.parametrize("words", PLACES)
def test_options_stand_in_the_order_of_use(capsys, words):
    text = shown_help(capsys, *words)
    found = sections(text)
    general = found["General options"]
    assert general == [flag for flag in LAST if flag in general]
    assert {"--quiet", "--debug", "--help"} <= set(general)
    own = found.get("Options", [])
    assert not set(own) & set(LAST)
    command = subcommand(*words[: 2 if words[1:] == ("copy",) else 1])
    required = [p.opts[-1] for p in command.params if p.required and p.opts[0].startswith("-")]
    assert own[: len(required)] == required
    if len(words) == 3:
        titles = list(found)
        assert titles.index("Options") < titles.index(f"Options of the target {words[2]}")
        assert titles[-1] in ("General options", "Comparisons, which need no --target")


def test_the_second_target_of_an_option_is_not_listed_with_the_commands_own(capsys):
    own = sections(shown_help(capsys, "emit", "--target", "fpga"))
    assert own["Options"][:2] == ["--target", "--out"]
    assert "--device" in own["Options of the target fpga"]


@pytest.mark.parametrize("where", ["before", "after"])
def test_debug_is_taken_before_and_after_the_command(capsys, where):
    command = ["inspect", "nothing.tflite"]
    words = ["--debug", *command] if where == "before" else [*command, "--debug"]
    assert main(words) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Number(int, 1), "0"),
        (Number(int, 1), "1.5"),
        (Number(int, 0, 100), "101"),
        (Number(float, 2, 8), "nan"),
    ],
)
def test_a_number_outside_its_limits_is_refused(number, text):
    with raises(click.BadParameter):
        number.convert(text, None, None)


def test_a_number_within_its_limits_is_taken():
    assert Number(int, 0, 100).convert("100", None, None) == 100
    assert Number(float, 1).convert("1.5", None, None) == 1.5


@pytest.mark.parametrize("command", ["check", "run", "bench"])
def test_help_lists_the_backends(capsys, command):
    assert main([command, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"Names: {', '.join(plugins.names('rlx.backends'))}." in text
